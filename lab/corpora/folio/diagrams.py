"""Diagrams: boxes joined by arrows, and coloured shapes in rows."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

from lab.corpora.folio.canvas import Colour, Point
from lab.corpora.folio.scene import Asked, Scene
from lab.corpora.folio.style import Style

_STEPS = ("Receive", "Inspect", "Sort", "Weigh", "Label", "Pack", "Store", "Ship", "Bill", "File")
_COLOURS: dict[str, Colour] = {
    "red": (205, 45, 45), "blue": (50, 90, 215), "green": (40, 150, 70), "yellow": (235, 200, 40),
    "purple": (140, 60, 165),
}  # fmt: skip
_SHAPES = ("circle", "square", "triangle")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def flow(rng: Random, style: Style) -> Scene:
    """Draw boxes that follow one another, row by row, and ask which follows which."""
    names = rng.sample(_STEPS, rng.randint(5, 8))
    across = 3
    width, height = 640, 90 + 120 * -(-len(names) // across)
    canvas = style.canvas(width, height)
    canvas.text(width / 2, 26, "Order of work", style.size + 3, style.ink, "middle", bold=True)
    centres: list[Point] = []
    for position, name in enumerate(names):
        row, column = divmod(position, across)
        # Every other row runs back, so that the order must be followed along the arrows.
        column = column if row % 2 == 0 else across - 1 - column
        x, y = 115 + 205 * column, 105 + 120 * row
        centres.append((x, y))
        red, green, blue = style.colours[position % len(style.colours)]
        pale = (red + 2 * 255) // 3, (green + 2 * 255) // 3, (blue + 2 * 255) // 3
        canvas.box(x - 62, y - 28, x + 62, y + 28, pale, style.ink)
        canvas.text(x, y, name, style.size + 1, (20, 20, 20), "middle")
    for (x, y), (to_x, to_y) in pairwise(centres):
        if y == to_y:  # from the edge of one box to the edge of the next, along a row or down
            way = 1 if to_x > x else -1
            start, end = (x + 62 * way, y), (to_x - 62 * way, y)
            head = [end, (end[0] - 11 * way, y - 6), (end[0] - 11 * way, y + 6)]
        else:
            start, end = (x, y + 28), (to_x, to_y - 28)
            head = [end, (end[0] - 6, end[1] - 11), (end[0] + 6, end[1] - 11)]
        canvas.line([start, end], style.ink, 2)
        canvas.polygon(head, style.ink)
    position = rng.randrange(1, len(names) - 1)
    questions = [
        Asked("place", f"Which step comes directly after {names[position]}?", names[position + 1]),
        Asked("place", f"Which step comes directly before {names[position]}?", names[position - 1]),
        Asked("count", "How many boxes are there?", str(len(names))),
    ]
    facts = tuple(f"{after} comes directly after {before}" for before, after in pairwise(names))
    return Scene(canvas, questions, facts, {"flow": [*names]})


def shapes(rng: Random, style: Style) -> Scene:
    """Draw coloured shapes in rows, and ask how many there are and which lies where."""
    rows, columns = rng.randint(2, 4), rng.randint(3, 6)
    cell = rng.randrange(84, 110)
    canvas = style.canvas(columns * cell + 40, rows * cell + 40)
    cells = [
        [(rng.choice(list(_COLOURS)), rng.choice(_SHAPES)) for _ in range(columns)]
        for _ in range(rows)
    ]
    for row, line in enumerate(cells):
        for column, (colour, shape) in enumerate(line):
            x, y = 20 + (column + 0.5) * cell, 20 + (row + 0.5) * cell
            r, fill = rng.uniform(0.26, 0.38) * cell, _COLOURS[colour]
            if shape == "circle":
                canvas.disc(x, y, r, fill)
            elif shape == "square":
                canvas.box(x - r, y - r, x + r, y + r, fill)
            else:
                canvas.polygon([(x, y - r), (x + r, y + r), (x - r, y + r)], fill)
    counts = Counter(shape for line in cells for shape in line)
    (colour, shape), count = rng.choice(sorted(counts.items()))
    row, column = rng.randrange(rows), rng.randrange(columns)
    where = f"{_ORDINALS[row]} row from the top, {_ORDINALS[column]} from the left"
    kinds = Counter(colour for line in cells for colour, _ in line)
    any_shape_of = rng.choice(sorted(kinds))
    questions = [
        Asked("count", f"How many {colour} {shape}s are there?", str(count)),
        Asked("count", f"How many shapes are {any_shape_of}?", str(kinds[any_shape_of])),
        Asked("place", f"Which shape lies in the {where}: circle, square or triangle?",
              cells[row][column][1]),
    ]  # fmt: skip
    facts = tuple(
        f"There are {number} {colour} {shape}s" for (colour, shape), number in counts.items()
    )
    truth = [[f"{colour} {shape}" for colour, shape in line] for line in cells]
    return Scene(canvas, questions, facts, {"shapes": [[*line] for line in truth]})
