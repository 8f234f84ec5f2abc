"""Windows over units: whole units, overlapping, so that nothing is lost at an edge."""

from __future__ import annotations

from collections.abc import Sequence


def unit_windows(tokens: Sequence[int], size: int, overlap: int) -> list[range]:
    """Places of the units of each window.

    A window holds whole units only, of one token more than fits if a single unit is longer. It
    starts with the last units of the one before it, of at most `overlap` tokens, so that every
    unit but the first and the last has context on both sides in some window.

    Args:
        tokens: of each unit.
        size: tokens of a window, 1 or more.
        overlap: tokens that two windows share, below `size`.
    """
    windows: list[range] = []
    start = 0
    while start < len(tokens):
        end, room = start, size
        while end < len(tokens) and (end == start or tokens[end] <= room):
            room -= tokens[end]
            end += 1
        windows.append(range(start, end))
        if end == len(tokens):
            break
        start = _overlapped(tokens, start, end, overlap)
    return windows


def _overlapped(tokens: Sequence[int], start: int, end: int, overlap: int) -> int:
    begin = end
    while begin - 1 > start and tokens[begin - 1] <= overlap:
        overlap -= tokens[begin - 1]
        begin -= 1
    return begin


def merged(windows: Sequence[range], scores: Sequence[Sequence[float]], units: int) -> list[float]:
    """The best score of each unit over the windows that hold it."""
    found = [float("-inf")] * units
    for window, values in zip(windows, scores, strict=True):
        for at, value in zip(window, values, strict=True):
            found[at] = max(found[at], value)
    return found
