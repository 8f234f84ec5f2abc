"""Charts to numbers: scale, columns, rows or points, categories, legend and value labels.

Values come from geometry and the scale; where a number is printed in a bar, at its end or above a
point and agrees with the geometry, the printed one is taken. Bars without a scale are measured by
the numbers that are printed on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .axis import Axis, find_axis, number_of
from .marks import SAME_COLOUR, Mark, axis_of_labels, bars, base_of, discs, labels, points
from .names import beside, categories, legend, lettering, rows_of_names, shares, split
from .ocr import Line, Pixels, read_lines
from .skew import upright
from .solid import Colour, Solid, colour_distance, solids

AGREES = 0.08
"""A printed number counts if geometry is within this share of the scale of it."""


class Reading(NamedTuple):
    """One value: series (None if there is but one), category, value, pixel box, how found."""

    series: str | None
    category: str
    value: float
    box: tuple[int, int, int, int]
    how: Literal["printed", "measured"]


class Chart(NamedTuple):
    """What was read off a chart; `tilt` is the angle in degrees by which it was turned."""

    shape: Literal["columns", "rows", "points", "shares"]
    title: str
    readings: tuple[Reading, ...]
    tilt: float


def read_chart(pixels: Pixels) -> Chart | None:
    """The values of a chart of columns, rows or points, or the labels of a pie; else None.

    Boxes are pixels of the picture turned by `tilt`.
    """
    level, tilt = upright(pixels)
    return chart_of(read_lines(level), solids(level), tilt)


def chart_of(lines: Sequence[Line], things: Sequence[Solid], tilt: float = 0.0) -> Chart | None:
    """The chart that lines of text and solid things make."""
    axis = find_axis(lines) or axis_of_labels(lines, things)
    if axis is None:
        return _shares(lines, tilt)
    zero = base_of(things, axis)
    marks = bars(things, axis, zero)
    shape: Literal["columns", "rows", "points"] = "columns" if axis.along == "up" else "rows"
    if len(marks) < 2 and axis.along == "up" and axis.lines:
        shape = "points"
    names = categories(lines, axis, shape, zero)
    if shape == "columns":
        names = split(names, [mark.thing for mark in marks])
    elif shape == "rows":
        names = rows_of_names(names, [mark.thing for mark in marks if mark.begin is None])
    else:
        bare = [one for one in things if not beside(one, lines) and not lettering(one, lines)]
        marks = points(discs(bare, axis, zero), names)
    plot = _Plot(axis, shape, names, legend(lines, things, [one.thing for one in marks], names))
    reach = _reach(plot, marks)
    readings = [one for mark in marks if (one := _reading(mark, plot, reach, lines)) is not None]
    title = min(lines, key=lambda line: line.y).text
    first = 1 if shape == "rows" else 0
    readings.sort(key=lambda one: (one.series or "", one.box[first]))
    return Chart(shape, title, tuple(readings), tilt)


def _shares(lines: Sequence[Line], tilt: float) -> Chart | None:
    """The labels of a pie; at least two, or it is none."""
    found = shares(lines)
    if len(found) < 2:
        return None
    readings = [
        Reading(None, name, value, (round(at.left), round(at.top), round(at.right),
                                    round(at.bottom)), "printed")
        for name, value, at in found
    ]  # fmt: skip
    return Chart("shares", min(lines, key=lambda line: line.y).text, tuple(readings), tilt)


class _Plot(NamedTuple):
    """What a mark is read against."""

    axis: Axis
    shape: str
    names: Sequence[Line]
    legend: Sequence[tuple[Colour, str]]

    @property
    def up(self) -> bool:
        return self.shape != "rows"


def _reading(mark: Mark, plot: _Plot, reach: float, lines: Sequence[Line]) -> Reading | None:
    if not plot.names:
        return None
    thing = mark.thing
    if plot.up:
        name = min(plot.names, key=lambda line: abs(line.x - thing.x))
        pixel = thing.y if plot.shape == "points" else float(thing.top)
    else:
        name, pixel = min(plot.names, key=lambda line: abs(line.y - thing.y)), float(thing.right)
    measured = plot.axis.value(pixel)
    if mark.begin is not None:
        measured -= plot.axis.value(mark.begin)
    printed = _printed(thing, measured, plot, reach, lines)
    box = (thing.left, thing.top, thing.right, thing.bottom)
    value = round(measured, 2) if printed is None else printed
    how: Literal["printed", "measured"] = "measured" if printed is None else "printed"
    return Reading(_series(thing.colour, plot.legend), name.text, value, box, how)


def _reach(plot: _Plot, marks: Sequence[Mark]) -> float:
    """How far the scale reaches: from tick to tick, or to the end of the longest bar."""
    ticks = [number_of(line.text) or 0.0 for line in plot.axis.lines]
    if ticks:
        return max(ticks) - min(ticks)
    ends = (mark.thing.top if plot.up else mark.thing.right for mark in marks)
    return max(map(plot.axis.value, ends), default=0.0)


def _series(colour: Colour, known: Sequence[tuple[Colour, str]]) -> str | None:
    near = [(colour_distance(colour, one), name) for one, name in known]
    distance, name = min(near, default=(SAME_COLOUR, None))
    return name if distance < SAME_COLOUR else None


def _printed(
    thing: Solid, measured: float, plot: _Plot, reach: float, lines: Sequence[Line]
) -> float | None:
    """The number in a mark or at its end, if it agrees with what is measured."""
    found: list[tuple[float, float]] = []
    for line in lines:
        value = number_of(line.text)
        if value is None or line in plot.axis.lines or abs(value - measured) > AGREES * reach:
            continue
        if labels(line, thing, plot.up):
            found.append((abs(value - measured), value))
    return min(found)[1] if found else None
