"""Shapes and their colours: what kind, which colour, where, how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from .ocr import Pixels
from .solid import Colour, Solid, colour_distance, solids

COLOURS: dict[str, Colour] = {
    "black": (0, 0, 0), "white": (255, 255, 255), "grey": (128, 128, 128), "red": (220, 30, 30),
    "orange": (255, 140, 0), "yellow": (245, 215, 40), "green": (30, 150, 50),
    "blue": (30, 80, 220), "purple": (130, 50, 160), "pink": (255, 130, 190),
    "brown": (130, 80, 40), "teal": (0, 150, 150),
}  # fmt: skip
"""Colours that have a name, in the middle of what people call so."""


class Shape(NamedTuple):
    """A shape: its kind, colour name, mean RGB colour and pixel box."""

    kind: Literal["circle", "rectangle", "square", "triangle", "other"]
    colour: str
    rgb: Colour
    box: tuple[int, int, int, int]


def find_shapes(pixels: Pixels, least_area: int = 120) -> list[Shape]:
    """Shapes row by row, from the top left.

    Args:
        pixels: the picture.
        least_area: smaller things are no shapes, in pixels.
    """
    found = [one for one in solids(pixels) if one.area >= least_area]
    return [
        Shape(_kind(one), colour_name(one.colour), one.colour,
              (one.left, one.top, one.right, one.bottom))
        for one in _in_rows(found)
    ]  # fmt: skip


def colour_name(colour: Colour) -> str:
    """The nearest colour that has a name, in CIELAB."""
    return min(COLOURS, key=lambda name: colour_distance(colour, COLOURS[name]))


def count_shapes(shapes: Sequence[Shape]) -> dict[str, int]:
    """How many there are of each colour and kind."""
    return dict(Counter(f"{one.colour} {one.kind}" for one in shapes))


def _kind(one: Solid) -> Literal["circle", "rectangle", "square", "triangle", "other"]:
    """By how much of its box a shape covers: circle 0.79, triangle 0.5, rectangle all."""
    longer = max(one.width, one.height) / max(1, min(one.width, one.height))
    if one.filled > 0.92:
        return "square" if longer < 1.15 else "rectangle"
    if 0.7 < one.filled < 0.86 and longer < 1.2:
        return "circle"
    return "triangle" if 0.42 < one.filled < 0.62 else "other"


def _in_rows(things: Sequence[Solid]) -> list[Solid]:
    ordered: list[Solid] = []
    rest = sorted(things, key=lambda one: one.y)
    while rest:
        reach = rest[0].bottom
        row = [one for one in rest if one.y < reach]
        ordered += sorted(row, key=lambda one: one.x)
        rest = [one for one in rest if one not in row]
    return ordered
