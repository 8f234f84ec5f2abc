"""Solid things in a picture (columns, discs, shapes), without text, axes and grid lines.

Of shapes: what kind, which colour, where, how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .ocr import Pixels

Mask = NDArray[np.uint8]
Colour = tuple[int, int, int]
# Distance in CIELAB above which a pixel is not paper.
_DIFFERENT = 38.0
# Strokes thinner than this, in pixels, are text or lines.
_STROKE = 5


class Solid(NamedTuple):
    """A connected solid thing: pixel box, area in pixels, mean colour."""

    left: int
    top: int
    right: int
    bottom: int
    area: int
    colour: Colour

    @property
    def width(self) -> int:
        """In pixels."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """In pixels."""
        return self.bottom - self.top

    @property
    def x(self) -> float:
        """Middle, from the left."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """Middle, from the top."""
        return (self.top + self.bottom) / 2

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom."""
        return self.left, self.top, self.right, self.bottom

    @property
    def filled(self) -> float:
        """Share of its box that it covers."""
        return self.area / max(1, self.width * self.height)


def find_solids(pixels: Pixels, stroke: int = _STROKE) -> list[Solid]:
    """All solid things, those of different colour apart even where they touch.

    Args:
        pixels: the picture.
        stroke: what is thinner is no solid thing.
    """
    smooth = np.asarray(cv2.medianBlur(pixels, 3), dtype=np.uint8)
    lab = _lab(smooth)
    away = np.linalg.norm(lab - paper_colour(lab), axis=2)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (stroke, stroke))
    mask = np.asarray(
        cv2.morphologyEx((away > _DIFFERENT / 2).astype(np.uint8), cv2.MORPH_OPEN, kernel),
        dtype=np.uint8,
    )
    solids: list[Solid] = []
    for centre in _colours(lab, mask, away):
        near = np.linalg.norm(lab - centre, axis=2) < _DIFFERENT / 2
        region = (near & (mask > 0)).astype(np.uint8)
        region = np.asarray(cv2.morphologyEx(region, cv2.MORPH_OPEN, kernel), dtype=np.uint8)
        solids += _components(region, smooth)
    return sorted(solids, key=lambda solid: (solid.left, solid.top))


def paper_colour(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most frequent colour, in CIELAB."""
    coarse = np.round(lab / 4).astype(np.int64).reshape(-1, 3)
    values, counts = np.unique(coarse, axis=0, return_counts=True)
    return values[counts.argmax()] * 4.0


def colour_distance(first: Colour, second: Colour) -> float:
    """Distance of two RGB colours in CIELAB."""
    pair = _lab(np.array([[first, second]], dtype=np.uint8))
    return float(np.linalg.norm(pair[0, 0] - pair[0, 1]))


def _lab(pixels: Pixels) -> NDArray[np.float64]:
    scaled = pixels.astype(np.float32) / 255
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_RGB2LAB), dtype=np.float64)


def _colours(
    lab: NDArray[np.float64], mask: Mask, away: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Frequent colours of what is solid, none near another or the paper."""
    inside = lab[(mask > 0) & (away > _DIFFERENT / 2)]
    if not len(inside):
        return []
    coarse = np.round(inside / 6).astype(np.int64)
    values, counts = np.unique(coarse, axis=0, return_counts=True)
    centres: list[NDArray[np.float64]] = []
    for index in counts.argsort()[::-1]:
        if counts[index] < 12 or len(centres) == 12:
            break
        centre = values[index].astype(np.float64) * 6.0
        if all(np.linalg.norm(centre - colour) > _DIFFERENT / 2 for colour in centres):
            centres.append(centre)
    return centres


def _components(mask: Mask, pixels: Pixels) -> list[Solid]:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    solids: list[Solid] = []
    for number in range(1, count):
        left, top, width, height, area = (int(value) for value in stats[number])
        if min(width, height) < 4 or area < 16:
            continue
        window = labels[top : top + height, left : left + width] == number
        mean = pixels[top : top + height, left : left + width][window].mean(axis=0)
        colour = (int(mean[0]), int(mean[1]), int(mean[2]))
        solids.append(Solid(left, top, left + width, top + height, area, colour))
    return solids


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
    waiting = [solid for solid in find_solids(pixels) if solid.area >= least_area]
    waiting.sort(key=lambda solid: solid.y)
    shapes: list[Shape] = []
    while waiting:
        reach = waiting[0].bottom
        row = [solid for solid in waiting if solid.y < reach]
        waiting = [solid for solid in waiting if solid not in row]
        for solid in sorted(row, key=lambda solid: solid.x):
            name = min(COLOURS, key=lambda name: colour_distance(solid.colour, COLOURS[name]))
            shapes.append(Shape(kind_of(solid), name, solid.colour, solid.box))
    return shapes


def count_shapes(shapes: Sequence[Shape]) -> dict[str, int]:
    """Count the shapes of each colour and kind."""
    return dict(Counter(f"{shape.colour} {shape.kind}" for shape in shapes))


def kind_of(solid: Solid) -> Literal["circle", "rectangle", "square", "triangle", "other"]:
    """By how much of its box a shape covers: circle 0.79, triangle 0.5, rectangle all."""
    longer = max(solid.width, solid.height) / max(1, min(solid.width, solid.height))
    if solid.filled > 0.92:
        return "square" if longer < 1.15 else "rectangle"
    if 0.7 < solid.filled < 0.86 and longer < 1.2:
        return "circle"
    return "triangle" if 0.42 < solid.filled < 0.62 else "other"
