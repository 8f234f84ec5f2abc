"""Words of a chart: names of categories along the line of zero, and the legend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from .axis import Axis
from .ocr import Line
from .solid import Colour, Solid

_SHARE = re.compile(r"(.*?)\s*(\d{1,3}(?:[.,]\d+)?)\s*%")


def categories(lines: Sequence[Line], axis: Axis, shape: str, zero: float) -> list[Line]:
    """Names along the line where bars begin."""
    if shape == "rows":
        bottom = min((line.top for line in axis.lines), default=float("inf"))
        return [line for line in lines if line.right < zero + 3 and line.y < bottom]
    edge = max((line.right for line in axis.lines), default=0.0)
    below = [line for line in lines if line.top > zero - 3 and line.x > edge]
    if not below:
        return []
    first = min(line.y for line in below)
    names = [line for line in below if line.y - first < 14]
    return [_with_second_line(name, below) for name in names]


def rows_of_names(names: Sequence[Line], marks: Sequence[Solid]) -> list[Line]:
    """Names beside rows, those of several lines put together where the rows are."""
    middles = sorted({mark.y for mark in marks})
    gap = min((two - one for one, two in pairwise(middles) if two - one > 6), default=40.0)
    found: list[Line] = []
    for middle in middles:
        own = [name for name in names if abs(name.y - middle) < 0.5 * gap]
        if own:
            text = " ".join(name.text for name in own)
            found.append(own[0]._replace(text=text, top=own[0].top, bottom=own[-1].bottom))
    return found


def _with_second_line(name: Line, below: Sequence[Line]) -> Line:
    """A name with the line under it that is centred on it."""
    tall = name.bottom - name.top
    second = [
        line
        for line in below
        if 0.7 * tall < line.y - name.y < 1.4 * tall
        and abs(line.x - name.x) < 6
        and line.right - line.left < 2 * (name.right - name.left)
    ]
    return name._replace(text=f"{name.text} {second[0].text}") if second else name


def split(names: Sequence[Line], marks: Sequence[Solid]) -> list[Line]:
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


def legend(
    lines: Sequence[Line], things: Sequence[Solid], marks: Sequence[Solid], names: Sequence[Line]
) -> list[tuple[Colour, str]]:
    """Colour and name of every series: a small patch with a text at its right, outside the plot."""
    top = min((mark.top for mark in marks), default=0)
    right = max((mark.right for mark in marks), default=0)
    bottom = max((name.bottom for name in names), default=float("inf"))
    found: list[tuple[Colour, str]] = []
    for patch in things:
        outside = patch.bottom < top + 4 or patch.left > right + 4 or patch.top > bottom - 4
        if patch in marks or not outside or not 5 <= patch.width <= 22 or patch.height > 22:
            continue
        if words := beside(patch, lines):
            found.append((patch.colour, min(words, key=lambda line: line.left).text))
    return found


def shares(lines: Sequence[Line]) -> list[tuple[str, float, Line]]:
    """Names with a percentage behind or below them, as around a pie: name, value, line."""
    found: list[tuple[str, float, Line]] = []
    for line in lines:
        whole = _SHARE.fullmatch(line.text)
        if whole is None:
            continue
        name = whole[1].strip(" :-\u2013") or _above(line, lines)
        if name:
            found.append((name, float(whole[2].replace(",", ".")), line))
    return found


def _above(share: Line, lines: Sequence[Line]) -> str:
    """The words that stand directly over a percentage."""
    tall = share.bottom - share.top
    over = [line for line in lines if 0.5 * tall < share.y - line.y < 1.6 * tall
            and line.left < share.x < line.right and not _SHARE.fullmatch(line.text)]  # fmt: skip
    return max(over, key=lambda line: line.y).text if over else ""


def lettering(one: Solid, lines: Sequence[Line]) -> bool:
    """Whether a thing is a thick part of a letter."""
    return any(line.left < one.x < line.right and line.top < one.y < line.bottom for line in lines)


def beside(patch: Solid, lines: Sequence[Line]) -> list[Line]:
    """Words directly at the right of a thing, on its height."""
    return [
        line for line in lines if abs(line.y - patch.y) < 8 and -6 < line.left - patch.right < 16
    ]
