"""How far a picture lies askew, and the picture upright."""

from __future__ import annotations

import cv2
import numpy as np

from .ocr import Pixels

_STEPS = tuple(step / 5 for step in range(-15, 16))
"""Degrees that are tried."""


def upright(pixels: Pixels) -> tuple[Pixels, float]:
    """The picture turned so that its lines lie level, and by how many degrees it was turned.

    The angle is the one at which dark rows and columns stand out most; up to 3 degrees.
    """
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
    edges = np.abs(cv2.Laplacian(cv2.GaussianBlur(grey, (3, 3), 0), cv2.CV_32F))
    sharpness = {angle: _sharpness(_turned(edges, angle)) for angle in _STEPS}
    best = max(sharpness, key=lambda angle: (sharpness[angle], -abs(angle)))
    if abs(best) < 0.15 or sharpness[best] < 1.02 * sharpness[0.0]:
        return pixels, 0.0
    paper = tuple(int(value) for value in np.median(pixels.reshape(-1, 3), axis=0))
    return np.asarray(_turned(pixels, best, paper), dtype=np.uint8), best


def _sharpness(edges: np.ndarray) -> float:
    inner = edges[20:-20, 20:-20]
    return float((inner.sum(axis=0) ** 2).mean() + (inner.sum(axis=1) ** 2).mean())


def _turned(image: np.ndarray, angle: float, fill: tuple[int, ...] = (0, 0, 0)) -> np.ndarray:
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    return np.asarray(
        cv2.warpAffine(image, turn, (width, height), flags=cv2.INTER_LINEAR, borderValue=fill)
    )
