"""The scale of a chart: numbers in a column or a row whose values grow evenly with their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np

from .ocr import Line

_NUMBER = re.compile(r"[-\u2212]?\d[\d,. ]*%?")
_GROUPED = re.compile(r"[-\u2212]?\d{1,3}(?:[,. ]\d{3})+")


Along = Literal["across", "up"]


class Axis(NamedTuple):
    """value = slope * pixel + start along x (`across`) or y (`up`); the lines that gave it."""

    along: Along
    slope: float
    start: float
    lines: tuple[Line, ...]

    def value(self, pixel: float) -> float:
        """The value at a pixel."""
        return self.slope * pixel + self.start

    def pixel(self, value: float) -> float:
        """Return the position of a value."""
        return (value - self.start) / self.slope


def number_of(text: str) -> float | None:
    """The number that a text is, with thousands separators; None for another text."""
    bare = text.strip()
    if re.fullmatch(r"[\dOo,. ]+", bare):  # letters that look like digits among them
        bare = bare.replace("O", "0").replace("o", "0")
    if not _NUMBER.fullmatch(bare):
        return None
    plain = bare.rstrip("% ").replace("\u2212", "-").replace(" ", "")
    if _GROUPED.fullmatch(bare.rstrip("% ")):
        return float(re.sub(r"[,. ]", "", plain))
    try:
        return float(plain.replace(",", "."))
    except ValueError:
        return None


def ticks_apart(lines: Sequence[Line]) -> list[Line]:
    """Lines of text, those that hold the numbers of several ticks taken apart at even distances."""
    apart: list[Line] = []
    for line in lines:
        values = [number_of(word) for word in line.text.split()]
        steps = {
            round(high - low, 6)
            for low, high in pairwise(values)
            if low is not None and high is not None
        }
        if len(values) < 3 or len(steps) != 1 or None in values or _GROUPED.fullmatch(line.text):
            apart.append(line)
            continue
        words = line.text.split()
        letter = (line.bottom - line.top) / 2
        first = line.left + letter * len(words[0]) / 2
        last = line.right - letter * len(words[-1]) / 2
        for index, word in enumerate(words):
            x = first + (last - first) * index / (len(words) - 1)
            half = letter * len(word) / 2
            apart.append(line._replace(text=word, left=x - half, right=x + half))
    return apart


def find_axis(lines: Sequence[Line]) -> Axis | None:
    """The scale that most numbers agree on; at least three must."""
    numbers = [(line, value) for line in lines if (value := number_of(line.text)) is not None]
    axes = filter(None, (_fit(numbers, "up"), _fit(numbers, "across")))
    return max(axes, key=lambda axis: len(axis.lines), default=None)


def _fit(numbers: Sequence[tuple[Line, float]], along: Along) -> Axis | None:
    best: Axis | None = None
    for (line, low), (other_line, high) in combinations(numbers, 2):
        if low == high or not _aligned(line, other_line, along):
            continue
        start, end = _place(line, along), _place(other_line, along)
        if abs(end - start) < 15:
            continue
        slope = (high - low) / (end - start)
        if (slope > 0) == (along == "up"):
            continue  # values grow upwards and to the right
        axis = Axis(along, slope, low - slope * start, ())
        zero = axis.pixel(0.0)
        if min(abs(zero - start), abs(zero - end)) > 12 * abs(end - start):
            continue  # years under a chart are evenly spaced too, but no scale: zero is far away
        agreeing = [
            (tick, value)
            for tick, value in numbers
            if _aligned(line, tick, along) and abs(_place(tick, along) - axis.pixel(value)) < 5
        ]
        if len(agreeing) >= max(3, len(best.lines) + 1 if best else 3):
            ticks = tuple(tick for tick, _ in agreeing)
            pixels = [_place(tick, along) for tick in ticks]
            slope, zero_value = np.polyfit(pixels, [value for _, value in agreeing], 1)
            best = Axis(along, float(slope), float(zero_value), ticks)
    return best


def _place(line: Line, along: Along) -> float:
    return line.x if along == "across" else line.y


def _aligned(first: Line, second: Line, along: Along) -> bool:
    """On one row, or with one right edge (or one middle) in one column."""
    if along == "across":
        return abs(first.y - second.y) < 7
    return abs(first.right - second.right) < 9 or abs(first.x - second.x) < 5
