"""The scale of a chart: numbers in a column or a row whose values grow evenly with their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from .ocr import Line

_NUMBER = re.compile(r"[-\u2212]?\d[\d,. ]*%?")
_GROUPED = re.compile(r"[-\u2212]?\d{1,3}(?:[,. ]\d{3})+")


class Axis(NamedTuple):
    """value = slope * pixel + start along x (`across`) or y (`up`); the lines that gave it."""

    along: Literal["across", "up"]
    slope: float
    start: float
    lines: tuple[Line, ...]

    def value(self, pixel: float) -> float:
        """The value at a pixel."""
        return self.slope * pixel + self.start

    def pixel(self, value: float) -> float:
        """Where a value lies."""
        return (value - self.start) / self.slope


def number_of(text: str) -> float | None:
    """The number that a text is, with thousands separators; None for another text."""
    bare = text.strip().replace("O", "0").replace("o", "0") if _digits(text) else text.strip()
    if not _NUMBER.fullmatch(bare):
        return None
    plain = bare.rstrip("% ").replace("\u2212", "-").replace(" ", "")
    if _GROUPED.fullmatch(bare.rstrip("% ")):
        return float(re.sub(r"[,. ]", "", plain))
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


def find_axis(lines: Sequence[Line]) -> Axis | None:
    """The scale that most numbers agree on; at least three must."""
    numbers = [(line, value) for line in lines if (value := number_of(line.text)) is not None]
    found = [_fit(numbers, "up"), _fit(numbers, "across")]
    known = [axis for axis in found if axis is not None]
    return max(known, key=lambda axis: len(axis.lines), default=None)


def _digits(text: str) -> bool:
    """Whether a text is all digits but for letters that look like them."""
    return bool(re.fullmatch(r"[\dOo,. ]+", text.strip()))


def _fit(numbers: Sequence[tuple[Line, float]], along: Literal["across", "up"]) -> Axis | None:
    best: Axis | None = None
    for (one, low), (two, high) in combinations(numbers, 2):
        if low == high or not _aligned(one, two, along):
            continue
        start, end = (_place(line, along) for line in (one, two))
        if abs(end - start) < 15:
            continue
        slope = (high - low) / (end - start)
        if (slope > 0) == (along == "up"):
            continue  # values grow upwards and to the right
        axis = Axis(along, slope, low - slope * start, ())
        if _far_from_zero(axis.pixel(0.0), start, end):
            continue  # years under a chart are evenly spaced too, but no scale
        agreeing = [
            (line, value)
            for line, value in numbers
            if _aligned(one, line, along) and abs(_place(line, along) - axis.pixel(value)) < 5
        ]
        if len(agreeing) >= max(3, len(best.lines) + 1 if best else 3):
            best = _refined(agreeing, along)
    return best


def _far_from_zero(zero: float, start: float, end: float) -> bool:
    """Whether zero lies much farther from two ticks than these from one another."""
    return min(abs(zero - start), abs(zero - end)) > 12 * abs(end - start)


def _refined(agreeing: Sequence[tuple[Line, float]], along: Literal["across", "up"]) -> Axis:
    """Least squares through all numbers that agree."""
    places = [_place(line, along) for line, _ in agreeing]
    values = [value for _, value in agreeing]
    mean_place, mean_value = sum(places) / len(places), sum(values) / len(values)
    spread = sum((place - mean_place) ** 2 for place in places)
    slope = sum(
        (place - mean_place) * (value - mean_value)
        for place, value in zip(places, values, strict=True)
    ) / spread  # fmt: skip
    lines = tuple(line for line, _ in agreeing)
    return Axis(along, slope, mean_value - slope * mean_place, lines)


def _place(line: Line, along: Literal["across", "up"]) -> float:
    return line.x if along == "across" else line.y


def _aligned(one: Line, two: Line, along: Literal["across", "up"]) -> bool:
    """On one row, or with one right edge (or one middle) in one column."""
    if along == "across":
        return abs(one.y - two.y) < 7
    return abs(one.right - two.right) < 9 or abs(one.x - two.x) < 5
