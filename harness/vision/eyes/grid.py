"""Tables to cells: by rulings and bands where there are some, else by where the text stands.

A cell with ink in which the detector found no text is given to the recogniser on its own: detectors
pass over single characters. So is one whose text was read together with its neighbour's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

from .ocr import Line, Pixels, read_cut, read_lines

# Difference of neighbouring pixels, in grey values of any channel, that makes an edge.
_EDGE = 8
# Difference from the middle colour of a cell that makes ink.
_INK = 50
# Share of a line's height by which its box is wider than its text, at either end.
_LOOSE = 0.2
Mask = NDArray[np.uint8]
Span = tuple[float, float]
"""Begin and end, in pixels."""


def read_grid(pixels: Pixels) -> list[list[Line]]:
    """The rows of a table, each cell as a line; an empty one has the text "".

    A row that is not divided, such as a title, has one cell.
    """
    return grid_of(read_lines(pixels), pixels)


def grid_of(lines: Sequence[Line], pixels: Pixels) -> list[list[Line]]:
    """The rows that lines of text and rulings make."""
    if not lines:
        return []
    tall = median(line.bottom - line.top for line in lines)
    level, upright = _edges(pixels, max(12, round(1.3 * tall)))
    rows = _rows(lines, _runs(level.mean(axis=1) > 0.5))
    first, last = min(line.left for line in lines), max(line.right for line in lines)
    off = _LOOSE * tall
    ruled: list[list[float]] = []
    for (top, bottom), _ in rows:  # upright rulings through each row
        part = upright[round(top) + 2 : max(round(top) + 3, round(bottom) - 1)]
        cuts = _runs(part.mean(axis=0) > 0.7)
        ruled.append([cut for cut in cuts if first + off < cut < last - off])
    shared = _shared(ruled, upright, [span for span, _ in rows])
    gaps = [] if shared else _gaps([members for _, members in rows], pixels.shape[1])
    grid: list[list[Line]] = []
    for (span, members), row_cuts in zip(rows, ruled, strict=True):
        ends = [0.0, *_cuts(members, row_cuts, shared, gaps), float(pixels.shape[1])]
        grid.append([_cell((cell, span), members, pixels) for cell in pairwise(ends)])
    return grid


def _cuts(
    members: Sequence[Line],
    row_cuts: Sequence[float],
    shared: Sequence[float],
    gaps: Sequence[float],
) -> Sequence[float]:
    """Divide one row at its table's rulings, or at gaps without them."""
    crossed = any(line.left + 5 < cut < line.right - 5 for line in members for cut in shared)
    if shared and (len(members) == 1 or crossed):
        return (
            [] if crossed and len(members) == 1 else [cut for cut in shared if _near(cut, row_cuts)]
        )
    if shared or len(members) == 1:
        return shared
    if len(members) == len(gaps) + 1:  # a wide header may reach over a gap
        return [(line.right + following.left) / 2 for line, following in pairwise(members)]
    return gaps


def _edges(pixels: Pixels, least: int) -> tuple[Mask, Mask]:
    """Level and upright edges as masks; upright ones are longer than `least` pixels."""
    values = pixels.astype(np.int16)
    down, side = np.zeros(pixels.shape[:2], np.uint8), np.zeros(pixels.shape[:2], np.uint8)
    down[1:] = np.abs(np.diff(values, axis=0)).max(axis=2) > _EDGE
    side[:, 1:] = np.abs(np.diff(values, axis=1)).max(axis=2) > _EDGE
    level = cv2.morphologyEx(down, cv2.MORPH_OPEN, np.ones((1, 4 * least), np.uint8))
    upright = cv2.morphologyEx(side, cv2.MORPH_OPEN, np.ones((least, 1), np.uint8))
    # Where a level ruling crosses an upright one there is no edge.
    upright = cv2.dilate(upright, np.ones((7, 1), np.uint8))
    return np.asarray(level, np.uint8), np.asarray(upright, np.uint8)


def _runs(marked: Iterable[np.bool_]) -> list[float]:
    """Middles of runs of marked places; a ruling has two edges, so near runs are one."""
    runs: list[list[int]] = []
    for position in np.flatnonzero(np.asarray(marked)):
        if runs and position - runs[-1][-1] <= 5:
            runs[-1].append(int(position))
        else:
            runs.append([int(position)])
    return [(run[0] + run[-1]) / 2 for run in runs]


def _rows(lines: Sequence[Line], cuts: Sequence[float]) -> list[tuple[Span, list[Line]]]:
    """Vertical span and lines of every row."""
    heights = lines_by_height(lines)
    ends = [min(0.0, lines[0].top), *cuts, max(line.bottom for line in lines) + 1]
    bands = [
        ((top, bottom), members)
        for top, bottom in pairwise(ends)
        if (members := [line for row in heights for line in row if top <= line.y < bottom])
    ]
    # A cell may hold two lines; three above one another are rows that no ruling parts.
    deepest = max(
        (
            sum(line.left < middle.x < line.right for line in members)
            for _, members in bands
            for middle in members
        ),
        default=0,
    )
    if deepest <= 2 and len(heights) > 2:
        return bands
    return [
        ((min(line.top for line in row), max(line.bottom for line in row)), row) for row in heights
    ]


def lines_by_height(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines of text on one height together, from top to bottom and from left to right."""
    heights: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.y):
        if heights and line.y - heights[-1][0].y < 0.6 * (line.bottom - line.top):
            heights[-1].append(line)
        else:
            heights.append([line])
    return [sorted(row, key=lambda line: line.left) for row in heights]


def _shared(ruled: Sequence[Sequence[float]], upright: Mask, spans: Sequence[Span]) -> list[float]:
    """Rulings through half of the rows and through what lies between these rows.

    Strokes of letters are not in one place in half of the rows; icons are, but not between them.
    """
    rulings: list[float] = []
    for cut in sorted(cut for cuts in ruled for cut in cuts):
        rows = [span for cuts, span in zip(ruled, spans, strict=True) if _near(cut, cuts)]
        if _near(cut, rulings) or 2 * len(rows) < len(spans):
            continue
        part = upright[round(rows[0][0]) : round(rows[-1][1]), round(cut) - 3 : round(cut) + 4]
        if part.any(axis=1).mean() > 0.85:
            rulings.append(cut)
    return rulings


def _near(cut: float, cuts: Sequence[float]) -> bool:
    return any(abs(cut - position) < 4 for position in cuts)


def _gaps(rows: Sequence[Sequence[Line]], width: int) -> list[float]:
    """Middles of the gaps between columns that hardly a row with several texts covers."""
    several = [row for row in rows if len(row) > 1]
    covered = np.zeros(width + 2)
    for line in (line for row in several for line in row):
        off = _LOOSE * (line.bottom - line.top)
        covered[max(0, round(line.left + off)) : max(0, round(line.right - off))] += 1
    texts = np.flatnonzero(covered)
    if not len(texts):
        return []
    # Two texts that were read as one cover a gap, so a few may.
    empty = covered <= 0.25 * len(several)
    empty[: texts[0]] = empty[texts[-1] :] = False
    edges = np.flatnonzero(np.diff(np.concatenate(([0], empty.astype(np.int8), [0]))))
    cuts = [float(begin + end) / 2 for begin, end in edges.reshape(-1, 2)]
    sides = [(min(line.x for line in row), max(line.x for line in row)) for row in several]
    return [cut for cut in cuts if 2 * sum(low < cut < high for low, high in sides) >= len(several)]


def _cell(box: tuple[Span, Span], lines: Sequence[Line], pixels: Pixels) -> Line:
    (x0, x1), (top, bottom) = box
    centred = [line for row in lines_by_height(lines) for line in row if x0 <= line.x < x1]
    over = [line for line in lines if min(x1, line.right) - max(x0, line.left) > 8]
    inside = [line for line in centred if line.left > x0 - 8 and line.right < x1 + 8]
    if inside and len(inside) == len(over):
        return Line(
            " ".join(line.text for line in inside),
            min(line.left for line in inside),
            min(line.top for line in inside),
            max(line.right for line in inside),
            max(line.bottom for line in inside),
            min(line.sure for line in inside),
        )
    cut = pixels[max(0, round(top) + 1) : round(bottom), round(x0) + 3 : round(x1) - 2]
    text, sure = read_cut(_trimmed(cut))
    return Line(text, x0, top, x1, bottom, sure)


def _trimmed(cut: Pixels) -> Pixels | None:
    """The part of a cell with ink, and a margin; None for an empty cell."""
    if min(cut.shape[:2]) < 6:
        return None
    paper = np.median(cut.reshape(-1, 3), axis=0)
    ink = (np.abs(cut - paper).max(axis=2) > _INK)[2:-2, 2:-2]
    if ink.sum() < 12:
        return None
    inked = np.argwhere(ink) + 2
    (top, x0), (bottom, x1) = inked.min(axis=0), inked.max(axis=0)
    return cut[max(0, top - 5) : bottom + 6, max(0, x0 - 7) : x1 + 8]
