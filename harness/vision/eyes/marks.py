"""Marks that stand for values in a chart, and the words that name them.

Bars from the line of zero, their stacked parts, points; names of categories, legend, shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from .axis import Along, Axis, number_of
from .ocr import Line, Pixels, read_cut
from .shapes import Colour, Solid, colour_distance

SAME_COLOUR = 24.0
"""Distance in CIELAB within which two things belong to one series."""
_SHARE = re.compile(r"(.*?)\s*(\d{1,3}(?:[.,]\d+)?)\s*%")


class Mark(NamedTuple):
    """A solid whose end shows a value; `begin` is the pixel where it starts, None at zero."""

    solid: Solid
    begin: float | None = None


def bars(solids: Sequence[Solid], axis: Axis, zero: float) -> list[Mark]:
    """Rectangles that stand on the line of zero, and those that stand on another one's end."""
    up = axis.along == "up"
    rectangles = [solid for solid in solids if is_bar(solid) and abs(_foot(solid, up) - zero) < 8]
    standing: list[Solid] = []
    # Grain and compression give one bar a second colour: of those in one place the largest counts.
    for solid in sorted(rectangles, key=lambda solid: -solid.area):
        if not any(
            _shared(solid, bar, up) > 0.5 * min(_breadth(solid, up), _breadth(bar, up))
            for bar in standing
        ):
            standing.append(solid)
    return [mark for bar in standing for mark in _stack(bar, solids, up)]


def is_bar(solid: Solid) -> bool:
    """Return True if a solid is a rectangle; numbers that are printed in it leave holes."""
    return solid.filled > (0.85 if solid.area < 1500 else 0.7) and solid.area > 60


def _foot(solid: Solid, up: bool) -> int:
    return solid.bottom if up else solid.left


def _breadth(solid: Solid, up: bool) -> int:
    return solid.width if up else solid.height


def _shared(first: Solid, second: Solid, up: bool) -> int:
    """Pixels of their breadth that two bars share."""
    if up:
        return min(first.right, second.right) - max(first.left, second.left)
    return min(first.bottom, second.bottom) - max(first.top, second.top)


def _stack(bar: Solid, solids: Sequence[Solid], up: bool) -> Iterator[Mark]:
    """A bar and the parts that lie on its end, one after the other."""
    yield Mark(bar)
    loose = [
        solid for solid in solids if solid.area > 60 and solid.filled > 0.6 and solid is not bar
    ]
    while True:
        end = bar.top if up else bar.right
        near = [
            solid
            for solid in loose
            if abs(_foot(solid, up) - end) < 5
            and _shared(solid, bar, up) > 0.8 * max(_breadth(solid, up), _breadth(bar, up))
        ]
        if not near:
            return
        bar = max(near, key=lambda solid: solid.area)
        loose.remove(bar)
        yield Mark(bar, float(end))


def axis_of_labels(lines: Sequence[Line], solids: Sequence[Solid]) -> Axis | None:
    """The scale of bars without one, from the numbers printed in them or at their ends.

    Bars must have a common edge, and the numbers of at least two must agree on the scale.
    """
    ways: tuple[Along, ...] = ("across", "up")
    axes = filter(None, (_axis_of_labels(lines, solids, along) for along in ways))
    return max(axes, key=lambda axis: len(axis.lines), default=None)


def _axis_of_labels(lines: Sequence[Line], solids: Sequence[Solid], along: Along) -> Axis | None:
    up = along == "up"
    numbers = [(line, value) for line in lines if (value := number_of(line.text)) and value > 0]
    rectangles = [solid for solid in solids if is_bar(solid)]
    best: list[float] = []
    zero = 0.0
    for edge in {_foot(bar, up) for bar in rectangles}:
        ratios = [
            value / (bar.height if up else bar.width)
            for bar in rectangles
            if abs(_foot(bar, up) - edge) < 4
            for line, value in numbers
            if labels(line, bar, up)
        ]
        middle = median(ratios) if ratios else 1.0
        agreeing = [ratio for ratio in ratios if abs(ratio / middle - 1) < 0.15]
        if len(agreeing) > len(best):
            best, zero = agreeing, float(edge)
    if len(best) < 2:
        return None
    slope = median(best) * (-1 if up else 1)
    return Axis(along, slope, -slope * zero, ())


def labels(line: Line, bar: Solid, up: bool) -> bool:
    """Return True if a text stands in a bar, or directly at its end."""
    if bar.left - 2 < line.x < bar.right + 2 and bar.top - 2 < line.y < bar.bottom + 2:
        return True
    if up:
        return abs(line.x - bar.x) < 16 and -6 < bar.top - line.y < 28
    return abs(line.y - bar.y) < 9 and abs(line.x - bar.right) < 60


def base_of(solids: Sequence[Solid], axis: Axis) -> float:
    """The pixel where bars begin: at zero, or at the end of a scale that does not begin there."""
    zero, up = axis.pixel(0.0), axis.along == "up"
    if not axis.lines or any(number_of(line.text) == 0 for line in axis.lines):
        return zero
    ticks = sorted(line.y if up else line.x for line in axis.lines)
    lowest, step = ticks[-1 if up else 0], (ticks[-1] - ticks[0]) / max(1, len(ticks) - 1)
    feet = sorted(_foot(solid, up) for solid in solids if is_bar(solid))
    if sum(abs(foot - zero) < 8 for foot in feet) > 1:
        return zero  # its number was not read
    together = {foot: sum(abs(foot - other_foot) < 4 for other_foot in feet) for foot in feet}
    common = max(together, key=lambda foot: together[foot], default=None)
    if common is not None and together[common] > 1 and abs(common - lowest) < step + 8:
        return float(common)
    return zero if abs(zero - lowest) < 1.2 * step else lowest


def points(
    solids: Sequence[Solid], lines: Sequence[Line], axis: Axis, zero: float, names: Sequence[Line]
) -> list[Mark]:
    """Small round things right of the scale and above the line where it begins, over the names.

    Pieces of one disc are put together; letters, keys of the legend and strays between names are
    left out.
    """
    edge = max(line.right for line in axis.lines)
    ticks = sorted(line.y for line in axis.lines)
    # The number of the highest tick may have been misread: one step above is still the plot.
    top = ticks[0] - (ticks[-1] - ticks[0]) / (len(ticks) - 1) - 6
    discs: list[Solid] = []
    for solid in sorted(solids, key=lambda solid: -solid.area):
        # A line through it widens a point.
        small = 4 <= solid.width <= 26 and 4 <= solid.height <= 18 and solid.filled > 0.5
        if not small or solid.left <= edge or not top < solid.y < zero + 4:
            continue
        lettering = any(
            line.left < solid.x < line.right and line.top < solid.y < line.bottom for line in lines
        )
        if lettering or beside(solid, lines):
            continue
        if min((abs(name.x - solid.x) for name in names), default=99.0) > 10:
            continue
        index = next(
            (
                index
                for index, disc in enumerate(discs)
                if abs(disc.x - solid.x) < 10
                and abs(disc.y - solid.y) < 10
                and colour_distance(disc.colour, solid.colour) < SAME_COLOUR
            ),
            None,
        )
        if index is None:
            discs.append(solid)
        else:
            disc = discs[index]
            discs[index] = Solid(
                min(disc.left, solid.left),
                min(disc.top, solid.top),
                max(disc.right, solid.right),
                max(disc.bottom, solid.bottom),
                disc.area + solid.area,
                disc.colour,
            )
    return [Mark(disc) for disc in discs]


def categories(lines: Sequence[Line], axis: Axis, shape: str, zero: float) -> list[Line]:
    """Names along the line where bars begin."""
    if shape == "rows":
        bottom = min((line.top for line in axis.lines), default=float("inf"))
        candidates = [line for line in lines if line.right < zero + 3 and line.y < bottom]
        # The title of the axis stands beside the names, and over or under one of them at most.
        return [
            line
            for line in candidates
            if 2 * sum(near.left < line.right and line.left < near.right for near in candidates)
            >= len(candidates)
        ]
    edge = max((line.right for line in axis.lines), default=0.0)
    below = [line for line in lines if line.top > zero - 3 and line.x > edge]
    first = min((line.y for line in below), default=0.0)
    names = [line for line in below if line.y - first < 14]
    seconds: list[list[str]] = []
    for name in names:
        height, width = name.bottom - name.top, name.right - name.left
        seconds.append([  # a line under it that is centred on it
            line.text
            for line in below
            if 0.7 * height < line.y - name.y < 1.4 * height
            and abs(line.x - name.x) < 6
            and line.right - line.left < 2 * width
        ])  # fmt: skip
    if sum(map(bool, seconds)) < 2 < len(names):
        return names  # the title of the axis, under the name in the middle
    return [
        name._replace(text=" ".join([name.text, *second[:1]]))
        for name, second in zip(names, seconds, strict=True)
    ]


def rows_of_names(names: Sequence[Line], marks: Sequence[Solid]) -> list[Line]:
    """Names beside rows, those of several lines put together where the rows are."""
    middles = sorted({mark.y for mark in marks})
    gap = min((b - a for a, b in pairwise(middles) if b - a > 6), default=40.0)
    rows = ([name for name in names if abs(name.y - y) < 0.5 * gap] for y in middles)
    return [
        row[0]._replace(text=" ".join(name.text for name in row), bottom=row[-1].bottom)
        for row in rows
        if row
    ]


def split(names: Sequence[Line], marks: Sequence[Solid]) -> list[Line]:
    """Names, those that stretch over several groups of columns taken apart between words."""
    groups: list[list[Solid]] = []
    for mark in sorted(marks, key=lambda mark: mark.left):
        if groups and mark.left - groups[-1][-1].right < 0.25 * mark.width:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    centres = [(group[0].left + group[-1].right) / 2 for group in groups]
    parts: list[Line] = []
    for name in names:
        # Each word is where its share of the letters puts it.
        step = (name.right - name.left) / max(1, len(name.text))
        phrases: dict[int, Line] = {}
        for match in re.finditer(r"\S+", name.text):
            start, end = (name.left + step * offset for offset in match.span())
            nearest = min(
                range(len(centres)), key=lambda group: abs(centres[group] - (start + end) / 2)
            )
            phrase = phrases.get(nearest)
            phrases[nearest] = (
                phrase._replace(text=f"{phrase.text} {match[0]}", right=end)
                if phrase
                else name._replace(text=match[0], left=start, right=end)
            )
        parts += phrases.values() if len(phrases) > 1 else [name]
    return parts


def legend(
    lines: Sequence[Line],
    solids: Sequence[Solid],
    marks: Sequence[Solid],
    names: Sequence[Line],
    pixels: Pixels | None = None,
) -> list[tuple[Colour, str]]:
    """Colour and name of every series: a small patch with a text at its right, outside the plot.

    Recognition often gives all names of a legend as one line: then the pixels between a patch and
    the next are read once more.
    """
    top = min((mark.top for mark in marks), default=0)
    right = max((mark.right for mark in marks), default=0)
    bottom = max((name.bottom for name in names), default=float("inf"))
    patches = [
        solid
        for solid in solids
        if (solid.bottom < top + 4 or solid.left > right + 4 or solid.top > bottom - 4)
        and solid not in marks
        and 5 <= solid.width <= 22
        and solid.height <= 22
        and not (  # a part of a bold letter: tiny, and in a text
            solid.area < 40
            and any(
                line.left < solid.x < line.right and line.top < solid.y < line.bottom
                for line in lines
            )
        )
        and any(colour_distance(solid.colour, mark.colour) < SAME_COLOUR for mark in marks)
    ]
    series: list[tuple[Colour, str]] = []
    for patch in patches:
        end = min(
            (
                near.left
                for near in patches
                if near.left > patch.right and abs(near.y - patch.y) < 8
            ),
            default=float("inf"),
        )
        # Where the key is a point on a line, that ends between the point and the name.
        words = [line for line in beside(patch, lines, reach=30) if line.right < end + 6]
        joined = [
            line
            for line in lines
            if abs(line.y - patch.y) < 8 and line.left < patch.right + 16 < line.right
        ]
        if words:
            series.append((patch.colour, min(words, key=lambda line: line.left).text))
        elif joined and pixels is not None:
            line, last = joined[0], round(min(end - 2, joined[0].right + 2))
            cut = pixels[max(0, round(line.top)) : round(line.bottom), patch.right + 1 : last]
            text, sure = read_cut(cut)
            if text and sure > 0.5:
                series.append((patch.colour, text))
    return series


def beside(patch: Solid, lines: Sequence[Line], reach: int = 16) -> list[Line]:
    """Words at the right of a solid within `reach` pixels, on its height."""
    return [
        line for line in lines if abs(line.y - patch.y) < 8 and -6 < line.left - patch.right < reach
    ]


def shares(lines: Sequence[Line]) -> list[tuple[str, float, Line]]:
    """Names with a percentage behind or below them, as around a pie: name, value, line."""
    labelled: list[tuple[str, float, Line]] = []
    for line in lines:
        match = _SHARE.fullmatch(line.text)
        if match is None:
            continue
        height = line.bottom - line.top
        above = [
            words
            for words in lines
            if 0.5 * height < line.y - words.y < 1.6 * height
            and words.left < line.x < words.right
            and not _SHARE.fullmatch(words.text)
        ]
        nearest = max(above, key=lambda words: words.y).text if above else ""
        if name := match[1].strip(" :-\u2013") or nearest:
            labelled.append((name, float(match[2].replace(",", ".")), line))
    return labelled
