"""Tables that were drawn here, to cells."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from harness.vision.eyes.grid import grid_of, read_grid
from harness.vision.eyes.ocr import Line, Pixels
from tests.vision.eyes.drawn_tables import drawn


def _line(text: str, left: float, right: float, y: float) -> Line:
    return Line(text, left, y - 8, right, y + 8, 1.0)


def _paper(width: int = 300, height: int = 160) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (width, height), "white")
    return image, ImageDraw.Draw(image)


def _pixels(image: Image.Image) -> Pixels:
    return np.asarray(image, dtype=np.uint8)


def test_drawn_tables_are_read() -> None:
    """Seeds that the reader was not written on, one of every kind."""
    right = total = 0
    for seed in (103, 104, 109, 117):
        pixels, wanted, title = drawn(seed)
        found = [[cell.text.replace(" ", "") for cell in row] for row in read_grid(pixels)]
        cells = found[1:] if title and len(found[0]) == 1 else found
        rows = [[text.replace(" ", "") for text in row] for row in wanted]
        total += sum(len(row) for row in rows)
        right += sum(
            one == two
            for row, read in zip(rows, cells, strict=False)
            for one, two in zip(row, read, strict=False)
        )
    assert right / total > 0.95


def test_empty_cells_keep_their_column() -> None:
    image, pen = _paper()
    pen.line((100, 0, 100, 159), fill="black", width=2)
    texts = [
        ("A", 20, 20),
        ("B", 120, 20),
        ("1", 20, 60),
        ("2", 120, 100),
        ("3", 20, 140),
        ("4", 120, 140),
    ]
    lines = [_line(text, left, left + 20, y) for text, left, y in texts]
    rows = [[cell.text for cell in row] for row in grid_of(lines, _pixels(image))]
    assert rows == [["A", "B"], ["1", ""], ["", "2"], ["3", "4"]]


def test_two_lines_of_one_ruled_cell_are_one_cell() -> None:
    image, pen = _paper()
    for y in (0, 50, 100, 150):
        pen.line((0, y, 299, y), fill="black")
    pen.line((150, 0, 150, 150), fill="black")
    texts = [
        ("Number of", 20, 90, 14), ("shelves", 20, 70, 36), ("Price", 170, 220, 25),
        ("1", 20, 30, 75), ("$2", 170, 190, 75), ("3", 20, 30, 125), ("$4", 170, 190, 125),
    ]  # fmt: skip
    lines = [_line(*one) for one in texts]
    rows = grid_of(lines, _pixels(image))
    texts = [[cell.text for cell in row] for row in rows]
    assert texts == [["Number of shelves", "Price"], ["1", "$2"], ["3", "$4"]]
    assert rows[0][0][1:5] == (20, 6, 90, 44)


def test_a_wide_header_does_not_join_columns() -> None:
    image, _ = _paper()
    lines = [_line("Day", 10, 40, 20), _line("Number of calls made", 50, 280, 20)]
    for y, name in ((60, "Wednesday"), (100, "Friday"), (140, "Sunday")):
        lines += [_line(name, 10, 90, y), _line("7", 160, 175, y)]
    rows = [[cell.text for cell in row] for row in grid_of(lines, _pixels(image))]
    assert rows[0] == ["Day", "Number of calls made"]
    assert rows[1:] == [["Wednesday", "7"], ["Friday", "7"], ["Sunday", "7"]]


def test_nothing_is_no_table() -> None:
    assert grid_of([], _pixels(_paper()[0])) == []
