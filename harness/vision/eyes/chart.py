"""Charts to numbers: scale, columns, rows or points, categories, legend and value labels.

Values come from geometry and the scale; where a number is printed in a bar, at its end or above a
point and agrees with the geometry, the printed one is taken. Bars without a scale are measured by
the numbers that are printed on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import cv2
import numpy as np

from .axis import Axis, find_axis, number_of, ticks_apart
from .marks import (
    SAME_COLOUR,
    axis_of_labels,
    bars,
    base_of,
    categories,
    labels,
    legend,
    points,
    rows_of_names,
    shares,
    split,
)
from .ocr import Line, Pixels, read_lines, upright
from .shapes import Solid, colour_distance, find_solids

# A printed number counts if geometry is within this share of the scale of it.
_AGREES = 0.08
# Pixels of the longer side: larger pictures are made smaller, for the rules count in pixels.
_LONGEST = 1300
Shape = Literal["columns", "rows", "points", "shares"]


class Reading(NamedTuple):
    """One value: series (None if there is but one), category, value, pixel box, how it was read."""

    series: str | None
    category: str
    value: float
    box: tuple[int, int, int, int]
    how: Literal["printed", "measured"]


class Chart(NamedTuple):
    """Chart as it was read; `tilt` is the angle in degrees by which it was turned."""

    shape: Shape
    title: str
    readings: tuple[Reading, ...]
    tilt: float


def read_chart(pixels: Pixels) -> Chart | None:
    """The values of a chart of columns, rows or points, or the labels of a pie; else None.

    Boxes are pixels of the picture turned by `tilt`.
    """
    level, tilt, scale = levelled(pixels)
    chart = chart_of(read_lines(level), find_solids(level), tilt, level)
    if chart is None or scale == 1:
        return chart
    readings: list[Reading] = []
    for reading in chart.readings:
        left, top, right, bottom = (round(end / scale) for end in reading.box)
        readings.append(reading._replace(box=(left, top, right, bottom)))
    return chart._replace(readings=tuple(readings))


def levelled(pixels: Pixels) -> tuple[Pixels, float, float]:
    """A picture of the size that the rules are made for, upright; its tilt, and its scale."""
    scale = min(1.0, _LONGEST / max(pixels.shape[:2]))
    if scale < 1:
        smaller = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        pixels = np.asarray(smaller, dtype=np.uint8)
    return *upright(pixels), scale


def chart_of(
    lines: Sequence[Line],
    solids: Sequence[Solid],
    tilt: float = 0.0,
    pixels: Pixels | None = None,
) -> Chart | None:
    """The chart that lines of text and solid things make.

    Args:
        lines: of text.
        solids: things.
        tilt: by which the picture was turned.
        pixels: the turned picture: entries of a legend that were read as one line are read again.
    """
    lines = ticks_apart(lines)
    axis = find_axis(lines) or axis_of_labels(lines, solids)
    shape: Shape = "shares"
    if axis is None:
        readings = [
            Reading(None, name, value, (round(line.left), round(line.top), round(line.right),
                                        round(line.bottom)), "printed")
            for name, value, line in shares(lines)
        ]  # fmt: skip
        if len(readings) < 2:
            return None
    else:
        shape, readings = _read_marks(axis, lines, solids, pixels)
    return Chart(shape, min(lines, key=lambda line: line.y).text, tuple(readings), tilt)


def _read_marks(
    axis: Axis, lines: Sequence[Line], solids: Sequence[Solid], pixels: Pixels | None
) -> tuple[Shape, list[Reading]]:
    zero, up = base_of(solids, axis), axis.along == "up"
    marks = bars(solids, axis, zero)
    shape: Shape = "columns" if up else "rows"
    if len(marks) < 2 and up and axis.lines:
        shape = "points"
    if shape == "points":  # names stand under the scale, wherever it begins
        zero = min(zero, max(line.y for line in axis.lines) + 6)
    names = categories(lines, axis, shape, zero)
    if shape == "columns":
        names = split(names, [mark.solid for mark in marks])
    elif shape == "rows":
        names = rows_of_names(names, [mark.solid for mark in marks if mark.begin is None])
    else:
        marks = points(solids, lines, axis, zero, names)
    if not names:
        return shape, []
    series = legend(lines, solids, [mark.solid for mark in marks], names, pixels)
    # The scale reaches from tick to tick, or to the end of the longest bar.
    ticks = [number_of(line.text) or 0.0 for line in axis.lines]
    ends = [axis.value(mark.solid.top if up else mark.solid.right) for mark in marks]
    reach = max(ticks) - min(ticks) if ticks else max(ends, default=0.0)
    readings: list[Reading] = []
    for mark in marks:
        solid = mark.solid
        name = min(names, key=lambda line: abs(line.x - solid.x) if up else abs(line.y - solid.y))
        end = solid.y if shape == "points" else solid.top if up else solid.right
        measured = axis.value(end) - (axis.value(mark.begin) if mark.begin is not None else 0.0)
        printed = [  # numbers in a mark or at its end that agree with what is measured
            (abs(value - measured), value)
            for line in lines
            if (value := number_of(line.text)) is not None
            and line not in axis.lines
            and abs(value - measured) <= _AGREES * reach
            and labels(line, solid, up)
        ]
        near = [(colour_distance(solid.colour, colour), label) for colour, label in series]
        distance, label = min(near, default=(SAME_COLOUR, None))
        readings.append(
            Reading(
                label if distance < SAME_COLOUR else None,
                name.text,
                min(printed)[1] if printed else round(measured, 2),
                solid.box,
                "printed" if printed else "measured",
            )
        )
    edge = 1 if shape == "rows" else 0
    readings.sort(key=lambda reading: (reading.series or "", reading.box[edge]))
    return shape, readings
