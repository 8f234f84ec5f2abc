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
        next_start, room = end, overlap
        while next_start - 1 > start and tokens[next_start - 1] <= room:
            next_start -= 1
            room -= tokens[next_start]
        start = next_start
    return windows


def merged(windows: Sequence[range], scores: Sequence[Sequence[float]], units: int) -> list[float]:
    """The best score of each unit over the windows that hold it."""
    best = [float("-inf")] * units
    for window, values in zip(windows, scores, strict=True):
        for index, value in zip(window, values, strict=True):
            best[index] = max(best[index], value)
    return best
