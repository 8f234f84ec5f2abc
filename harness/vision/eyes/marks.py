"""What stands for values in a chart: bars from the line of zero, their stacked parts, points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal, NamedTuple

from .axis import Axis, number_of
from .ocr import Line
from .solid import Solid, colour_distance

SAME_COLOUR = 24.0
"""Distance in CIELAB within which two things belong to one series."""


class Mark(NamedTuple):
    """A thing whose end shows a value; `begin` is the pixel where it starts, None at zero."""

    thing: Solid
    begin: float | None = None


def bars(things: Sequence[Solid], axis: Axis, zero: float) -> list[Mark]:
    """Rectangles that stand on the line of zero, and those that stand on another one's end."""
    up = axis.along == "up"
    standing = [one for one in things if abs((one.bottom if up else one.left) - zero) < 8]
    found: list[Solid] = []
    # Grain and compression give one bar a second colour: of things in one place the largest counts.
    for one in sorted(filter(is_bar, standing), key=lambda one: -one.area):
        if not any(_one_place(one, bar, up) for bar in found):
            found.append(one)
    return [mark for bar in found for mark in _stack(bar, things, up)]


def axis_of_labels(lines: Sequence[Line], things: Sequence[Solid]) -> Axis | None:
    """The scale of bars without one, from the numbers printed in them or at their ends.

    Bars must have a common edge, and the numbers of at least two must agree on the scale.
    """
    ways: tuple[Literal["across", "up"], ...] = ("across", "up")
    found = [axis for along in ways if (axis := _axis_of_labels(lines, things, along)) is not None]
    return max(found, key=lambda axis: len(axis.lines), default=None)


def _axis_of_labels(
    lines: Sequence[Line], things: Sequence[Solid], along: Literal["across", "up"]
) -> Axis | None:
    up = along == "up"
    numbers = [(line, value) for line in lines if (value := number_of(line.text)) and value > 0]
    edges = [(one.bottom if up else one.left) for one in things if is_bar(one)]
    best: list[tuple[Line, float]] = []
    zero = 0.0
    for edge in set(edges):
        own = [one for one in things if is_bar(one)
               and abs((one.bottom if up else one.left) - edge) < 4]  # fmt: skip
        ratios = [
            (line, value / (one.height if up else one.width))
            for one in own
            for line, value in numbers
            if labels(line, one, up)
        ]
        middle = median(ratio for _, ratio in ratios) if ratios else 1.0
        agreeing = [(line, ratio) for line, ratio in ratios if abs(ratio / middle - 1) < 0.15]
        if len(agreeing) > len(best):
            best, zero = agreeing, float(edge)
    if len(best) < 2:
        return None
    slope = median(ratio for _, ratio in best) * (-1 if up else 1)
    return Axis(along, slope, -slope * zero, ())


def labels(line: Line, bar: Solid, up: bool) -> bool:
    """Whether a text stands in a bar, or directly at its end."""
    inside = bar.left - 2 < line.x < bar.right + 2 and bar.top - 2 < line.y < bar.bottom + 2
    if up:
        return inside or (abs(line.x - bar.x) < 16 and -6 < bar.top - line.y < 28)
    return inside or (abs(line.y - bar.y) < 9 and abs(line.x - bar.right) < 60)


def is_bar(one: Solid) -> bool:
    """Whether a thing is a rectangle; numbers that are printed in it leave holes."""
    return one.filled > (0.85 if one.area < 1500 else 0.7) and one.area > 60


def base_of(things: Sequence[Solid], axis: Axis) -> float:
    """The pixel where bars begin: at zero, or at the end of a scale that does not begin there."""
    zero, up = axis.pixel(0.0), axis.along == "up"
    if not axis.lines or any(number_of(line.text) == 0 for line in axis.lines):
        return zero
    ticks = sorted((line.y for line in axis.lines) if up else (line.x for line in axis.lines))
    lowest, step = ticks[-1 if up else 0], (ticks[-1] - ticks[0]) / max(1, len(ticks) - 1)
    ends = sorted((one.bottom if up else one.left) for one in things if is_bar(one))
    if sum(abs(end - zero) < 8 for end in ends) > 1:
        return zero  # its number was not read
    together = {end: sum(abs(end - one) < 4 for one in ends) for end in ends}
    common = max(together, key=lambda end: together[end], default=None)
    if common is not None and together[common] > 1 and abs(common - lowest) < step + 8:
        return float(common)
    return zero if abs(zero - lowest) < 1.2 * step else lowest


def _stack(bar: Solid, things: Sequence[Solid], up: bool) -> Iterator[Mark]:
    """A bar and the parts that lie on its end, one after the other."""
    yield Mark(bar)
    end, last = bar.top if up else bar.right, bar
    rest = [one for one in things if one.area > 60 and one.filled > 0.6 and one is not bar]
    while True:
        near = [one for one in rest if _continues(one, last, end, up)]
        if not near:
            return
        last = max(near, key=lambda one: one.area)
        rest.remove(last)
        yield Mark(last, float(end))
        end = last.top if up else last.right


def _continues(one: Solid, last: Solid, end: int, up: bool) -> bool:
    if up:
        shared = min(one.right, last.right) - max(one.left, last.left)
        return abs(one.bottom - end) < 5 and shared > 0.8 * max(one.width, last.width)
    shared = min(one.bottom, last.bottom) - max(one.top, last.top)
    return abs(one.left - end) < 5 and shared > 0.8 * max(one.height, last.height)


def _one_place(one: Solid, other: Solid, up: bool) -> bool:
    """Whether two bars share more than half of the narrower one's width."""
    if up:
        shared = min(one.right, other.right) - max(one.left, other.left)
        return shared > 0.5 * min(one.width, other.width)
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared > 0.5 * min(one.height, other.height)


def discs(things: Sequence[Solid], axis: Axis, zero: float) -> list[Solid]:
    """Small round things right of the scale and above the line where it begins."""
    edge = max(line.right for line in axis.lines)
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


def points(found: Sequence[Solid], names: Sequence[Line]) -> list[Mark]:
    """Discs over the names; pieces of one disc are put together, strays between names left out."""
    whole: list[Solid] = []
    for disc in sorted(found, key=lambda one: -one.area):
        if min((abs(name.x - disc.x) for name in names), default=99.0) > 10:
            continue
        at = next((at for at, one in enumerate(whole) if _one_point(one, disc)), None)
        if at is None:
            whole.append(disc)
        else:
            whole[at] = _joined(whole[at], disc)
    return [Mark(one) for one in whole]


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
