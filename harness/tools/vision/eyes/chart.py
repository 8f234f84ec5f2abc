"""Charts to numbers: scale, columns, rows or points, categories, legend and value labels.

Values come from geometry and the scale; where a number is printed at the end of a bar or above a
point and agrees with the geometry, the printed one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .axis import Axis, find_axis, number_of
from .ocr import Line, Pixels, read_lines
from .skew import upright
from .solid import Colour, Solid, colour_distance, solids

SAME_COLOUR = 24.0
"""Distance in CIELAB within which two things belong to one series."""
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

    shape: Literal["columns", "rows", "points"]
    title: str
    readings: tuple[Reading, ...]
    tilt: float


def read_chart(pixels: Pixels) -> Chart | None:
    """The values of a chart of columns, rows or points; None without a scale.

    Boxes are pixels of the picture turned by `tilt`.
    """
    level, tilt = upright(pixels)
    return chart_of(read_lines(level), solids(level), tilt)


def chart_of(lines: Sequence[Line], things: Sequence[Solid], tilt: float = 0.0) -> Chart | None:
    """The chart that lines of text and solid things make."""
    axis = find_axis(lines)
    if axis is None:
        return None
    marks = _bars(things, axis)
    shape: Literal["columns", "rows", "points"] = "columns" if axis.along == "up" else "rows"
    if len(marks) < 2 and axis.along == "up":
        shape = "points"
    names = _categories(lines, axis, shape)
    if shape == "columns":
        names = _split(names, marks)
    if shape == "points":
        bare = [one for one in things if not _beside(one, lines) and not _lettering(one, lines)]
        marks = _points(_discs(bare, axis), names)
    legend = _legend(lines, things, marks)
    readings = [
        reading
        for mark in marks
        if (reading := _reading(mark, axis, shape, names, legend, lines)) is not None
    ]
    title = min(lines, key=lambda line: line.y).text
    first = 1 if shape == "rows" else 0
    readings.sort(key=lambda one: (one.series or "", one.box[first]))
    return Chart(shape, title, tuple(readings), tilt)


def _bars(things: Sequence[Solid], axis: Axis) -> list[Solid]:
    """Rectangles that stand on the line of zero."""
    zero, up = axis.pixel(0.0), axis.along == "up"
    standing = [one for one in things if abs((one.bottom if up else one.left) - zero) < 8]
    bars: list[Solid] = []
    # Grain and compression give one bar a second colour: of things in one place the largest counts.
    for one in sorted(filter(_is_bar, standing), key=lambda one: -one.area):
        if not any(_one_place(one, bar, up) for bar in bars):
            bars.append(one)
    return bars


def _one_place(one: Solid, other: Solid, up: bool) -> bool:
    """Whether two bars share more than half of the narrower one's width."""
    if up:
        shared = min(one.right, other.right) - max(one.left, other.left)
        return shared > 0.5 * min(one.width, other.width)
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared > 0.5 * min(one.height, other.height)


def _is_bar(one: Solid) -> bool:
    return one.filled > 0.85 and one.area > 60


def _discs(things: Sequence[Solid], axis: Axis) -> list[Solid]:
    """Small round things right of the scale and above the line of zero."""
    edge, zero = max(line.right for line in axis.lines), axis.pixel(0.0)
    ticks = sorted(line.y for line in axis.lines)
    # The number of the highest tick may have been misread: one step above is still the plot.
    top = ticks[0] - (ticks[-1] - ticks[0]) / (len(ticks) - 1) - 6
    return [
        one
        for one in things
        if one.left > edge
        and top < one.y < zero + 4
        and 4 <= one.width <= 18
        and 4 <= one.height <= 18
        and one.filled > 0.5
    ]


def _points(discs: Sequence[Solid], names: Sequence[Line]) -> list[Solid]:
    """Discs over the names; pieces of one disc are put together, strays between names left out."""
    points: list[Solid] = []
    for disc in sorted(discs, key=lambda one: -one.area):
        if min((abs(name.x - disc.x) for name in names), default=99.0) > 10:
            continue
        at = next((at for at, one in enumerate(points) if _one_point(one, disc)), None)
        if at is None:
            points.append(disc)
        else:
            points[at] = _joined(points[at], disc)
    return points


def _one_point(one: Solid, other: Solid) -> bool:
    near = abs(one.x - other.x) < 10 and abs(one.y - other.y) < 10
    return near and colour_distance(one.colour, other.colour) < SAME_COLOUR


def _joined(one: Solid, other: Solid) -> Solid:
    return Solid(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
        one.area + other.area,
        one.colour,
    )


def _categories(lines: Sequence[Line], axis: Axis, shape: str) -> list[Line]:
    """Names along the line of zero."""
    zero = axis.pixel(0.0)
    if shape == "rows":
        top = min(line.top for line in axis.lines)
        return [line for line in lines if line.right < zero and line.y < top]
    edge = max(line.right for line in axis.lines)
    below = [line for line in lines if line.top > zero - 3 and line.x > edge]
    if not below:
        return []
    first = min(line.y for line in below)
    return [line for line in below if line.y - first < 14]


def _split(names: Sequence[Line], marks: Sequence[Solid]) -> list[Line]:
    """Names, those that stretch over several groups of columns taken apart between words."""
    groups: list[list[Solid]] = []
    for mark in sorted(marks, key=lambda one: one.left):
        if groups and mark.left - groups[-1][-1].right < 0.25 * mark.width:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    centres = [(group[0].left + group[-1].right) / 2 for group in groups]
    found: list[Line] = []
    for name in names:
        words: dict[int, list[Line]] = {}
        for word in _words(name):
            nearest = min(range(len(centres)), key=lambda at: abs(centres[at] - word.x))
            words.setdefault(nearest, []).append(word)
        found += [_phrase(parts) for parts in words.values()] if len(words) > 1 else [name]
    return found


def _words(line: Line) -> list[Line]:
    """The words of a line, each where its share of the letters puts it."""
    step, found, at = (line.right - line.left) / max(1, len(line.text)), list[Line](), 0
    for word in line.text.split():
        at = line.text.index(word, at)
        left = line.left + step * at
        at += len(word)
        found.append(line._replace(text=word, left=left, right=left + step * len(word)))
    return found


def _phrase(words: Sequence[Line]) -> Line:
    text = " ".join(word.text for word in words)
    return words[0]._replace(text=text, right=words[-1].right)


def _legend(
    lines: Sequence[Line], things: Sequence[Solid], marks: Sequence[Solid]
) -> list[tuple[Colour, str]]:
    """Colour and name of every series: a small patch with a text at its right, above the plot."""
    top = min(mark.top for mark in marks) if marks else 0
    found: list[tuple[Colour, str]] = []
    for patch in things:
        if patch in marks or patch.bottom > top + 4 or not 5 <= patch.width <= 22:
            continue
        if beside := _beside(patch, lines):
            found.append((patch.colour, min(beside, key=lambda line: line.left).text))
    return found


def _lettering(one: Solid, lines: Sequence[Line]) -> bool:
    """Whether a thing is a thick part of a letter."""
    return any(line.left < one.x < line.right and line.top < one.y < line.bottom for line in lines)


def _beside(patch: Solid, lines: Sequence[Line]) -> list[Line]:
    """Words directly at the right of a thing, on its height."""
    return [
        line for line in lines if abs(line.y - patch.y) < 8 and -6 < line.left - patch.right < 16
    ]


def _reading(
    mark: Solid,
    axis: Axis,
    shape: str,
    names: Sequence[Line],
    legend: Sequence[tuple[Colour, str]],
    lines: Sequence[Line],
) -> Reading | None:
    if not names:
        return None
    if shape == "rows":
        name, pixel = min(names, key=lambda line: abs(line.y - mark.y)), float(mark.right)
    else:
        name = min(names, key=lambda line: abs(line.x - mark.x))
        pixel = float(mark.top) if shape == "columns" else mark.y
    measured = axis.value(pixel)
    printed = _printed(mark, measured, axis, shape, lines)
    box = (mark.left, mark.top, mark.right, mark.bottom)
    value = round(measured, 2) if printed is None else printed
    how: Literal["printed", "measured"] = "measured" if printed is None else "printed"
    return Reading(_series(mark.colour, legend), name.text, value, box, how)


def _series(colour: Colour, legend: Sequence[tuple[Colour, str]]) -> str | None:
    near = [(colour_distance(colour, known), name) for known, name in legend]
    distance, name = min(near, default=(SAME_COLOUR, None))
    return name if distance < SAME_COLOUR else None


def _printed(
    mark: Solid, measured: float, axis: Axis, shape: str, lines: Sequence[Line]
) -> float | None:
    """The number at the end of a mark, if it agrees with where the mark ends."""
    values = [number_of(line.text) or 0.0 for line in axis.lines]
    scale = max(values) - min(values)
    found: list[tuple[float, float]] = []
    for line in lines:
        value = number_of(line.text)
        if value is None or line in axis.lines or abs(value - measured) > AGREES * scale:
            continue
        if shape == "rows":
            near = abs(line.y - mark.y) < 9 and abs(line.x - mark.right) < 60
        else:
            near = abs(line.x - mark.x) < 16 and -6 < mark.top - line.y < 28
        if near:
            found.append((abs(value - measured), value))
    return min(found)[1] if found else None
