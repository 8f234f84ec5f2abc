"""Solid things in a picture: columns, discs and shapes, without text, axes and grid lines."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from .ocr import Pixels

Mask = NDArray[np.uint8]
Colour = tuple[int, int, int]
DIFFERENT = 38.0
"""Distance in CIELAB above which a pixel is not paper."""
_STROKE = 5
"""Strokes thinner than this, in pixels, are text or lines."""


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
    def filled(self) -> float:
        """Share of its box that it covers."""
        return self.area / max(1, self.width * self.height)


def solids(pixels: Pixels, stroke: int = _STROKE) -> list[Solid]:
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
        cv2.morphologyEx((away > DIFFERENT / 2).astype(np.uint8), cv2.MORPH_OPEN, kernel),
        dtype=np.uint8,
    )
    found: list[Solid] = []
    for centre in _colours(lab, mask, away):
        near = np.linalg.norm(lab - centre, axis=2) < DIFFERENT / 2
        own = (near & (mask > 0)).astype(np.uint8)
        own = np.asarray(cv2.morphologyEx(own, cv2.MORPH_OPEN, kernel), dtype=np.uint8)
        found += _components(own, smooth)
    return sorted(found, key=lambda one: (one.left, one.top))


def paper_colour(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most frequent colour, in CIELAB."""
    coarse = np.round(lab / 4).astype(np.int64).reshape(-1, 3)
    values, counts = np.unique(coarse, axis=0, return_counts=True)
    return values[counts.argmax()] * 4.0


def colour_distance(one: Colour, other: Colour) -> float:
    """Distance of two RGB colours in CIELAB."""
    pair = _lab(np.array([[one, other]], dtype=np.uint8))
    return float(np.linalg.norm(pair[0, 0] - pair[0, 1]))


def _lab(pixels: Pixels) -> NDArray[np.float64]:
    scaled = pixels.astype(np.float32) / 255
    return np.asarray(cv2.cvtColor(scaled, cv2.COLOR_RGB2LAB), dtype=np.float64)


def _colours(
    lab: NDArray[np.float64], mask: Mask, away: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Frequent colours of what is solid, none near another or the paper."""
    inside = lab[(mask > 0) & (away > DIFFERENT / 2)]
    if not len(inside):
        return []
    coarse = np.round(inside / 6).astype(np.int64)
    values, counts = np.unique(coarse, axis=0, return_counts=True)
    chosen: list[NDArray[np.float64]] = []
    for at in counts.argsort()[::-1]:
        if counts[at] < 12 or len(chosen) == 12:
            break
        centre = values[at].astype(np.float64) * 6.0
        if all(np.linalg.norm(centre - one) > DIFFERENT / 2 for one in chosen):
            chosen.append(centre)
    return chosen


def _components(mask: Mask, pixels: Pixels) -> list[Solid]:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    found: list[Solid] = []
    for number in range(1, count):
        left, top, width, height, area = (int(value) for value in stats[number])
        if min(width, height) < 4 or area < 16:
            continue
        window = labels[top : top + height, left : left + width] == number
        mean = pixels[top : top + height, left : left + width][window].mean(axis=0)
        colour = (int(mean[0]), int(mean[1]), int(mean[2]))
        found.append(Solid(left, top, left + width, top + height, area, colour))
    return found
