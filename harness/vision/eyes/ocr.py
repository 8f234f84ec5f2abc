"""Text in a picture with the box of every line (rapidocr, whose models come in its package).

A picture that lies askew is turned upright first.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""An image of shape (height, width, 3), RGB."""
# Pictures whose longer side is shorter are enlarged to it: small print is read better.
_SMALL = 1200
_MOST_SCALE = 2.5


# Degrees by which a picture is turned on trial.
_ANGLES = tuple(step / 5 for step in range(-15, 16))


class Line(NamedTuple):
    """A line of text with its pixel box and how sure the reading is (0 to 1)."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    sure: float

    @property
    def x(self) -> float:
        """Middle, from the left."""
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        """Middle, from the top."""
        return (self.top + self.bottom) / 2


def read_lines(pixels: Pixels) -> list[Line]:
    """The lines of text, from top to bottom and from left to right.

    Args:
        pixels: the picture; boxes are in its coordinates.
    """
    scale = min(_MOST_SCALE, max(1.0, _SMALL / max(pixels.shape[:2])))
    if scale > 1:
        pixels = np.asarray(
            cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC),
            dtype=np.uint8,
        )
    # The engine keeps what it was last told: see `read_cut`.
    result = _engine()(np.ascontiguousarray(pixels[:, :, ::-1]), use_det=True)
    if result.boxes is None or result.txts is None:
        return []
    lines: list[Line] = []
    for box, text, sure in zip(result.boxes, result.txts, result.scores, strict=True):
        across, down = box[:, 0] / scale, box[:, 1] / scale
        lines.append(
            Line(str(text).strip(), float(across.min()), float(down.min()), float(across.max()),
                 float(down.max()), round(float(sure), 3))
        )  # fmt: skip
    return sorted((line for line in lines if line.text), key=lambda line: (line.y, line.x))


def read_cut(cut: Pixels | None) -> tuple[str, float]:
    """The text of a cut that holds one line, and how sure it is; ("", 1) without a cut.

    The detector is not asked: it passes over single characters.
    """
    if cut is None:
        return "", 1.0
    enlarged = cv2.resize(cut, None, fx=_MOST_SCALE, fy=_MOST_SCALE, interpolation=cv2.INTER_CUBIC)
    result = _engine()(np.ascontiguousarray(enlarged[:, :, ::-1]), use_det=False)
    if not result.txts:
        return "", 0.0
    return str(result.txts[0]).strip(), round(float(result.scores[0]), 3)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def upright(pixels: Pixels) -> tuple[Pixels, float]:
    """The picture turned so that its lines lie level, and by how many degrees it was turned.

    The angle is the one at which dark rows and columns stand out most; up to 3 degrees.
    """
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
    edges = np.abs(cv2.Laplacian(cv2.GaussianBlur(grey, (3, 3), 0), cv2.CV_32F))
    sharpness: dict[float, float] = {}
    for angle in _ANGLES:
        inner = _turned(edges, angle)[20:-20, 20:-20]
        sums = inner.sum(axis=0), inner.sum(axis=1)
        sharpness[angle] = sum(float((line**2).mean()) for line in sums)
    best = max(sharpness, key=lambda angle: (sharpness[angle], -abs(angle)))
    if abs(best) < 0.15 or sharpness[best] < 1.02 * sharpness[0.0]:
        return pixels, 0.0
    paper = tuple(int(value) for value in np.median(pixels.reshape(-1, 3), axis=0))
    return np.asarray(_turned(pixels, best, paper), dtype=np.uint8), best


def _turned(image: np.ndarray, angle: float, fill: tuple[int, ...] = (0, 0, 0)) -> np.ndarray:
    height, width = image.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    return np.asarray(
        cv2.warpAffine(image, turn, (width, height), flags=cv2.INTER_LINEAR, borderValue=fill)
    )
