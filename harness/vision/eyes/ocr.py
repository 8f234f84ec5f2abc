"""Text in a picture with the box of every line (rapidocr, whose models come in its package)."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""An image of shape (height, width, 3), RGB."""
SMALL = 1200
"""Pictures whose longer side is shorter are enlarged to it: small print is read better."""
MOST_SCALE = 2.5


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
    scale = min(MOST_SCALE, max(1.0, SMALL / max(pixels.shape[:2])))
    if scale > 1:
        pixels = np.asarray(
            cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC),
            dtype=np.uint8,
        )
    found = _engine()(np.ascontiguousarray(pixels[:, :, ::-1]))
    if found.boxes is None or found.txts is None:
        return []
    lines: list[Line] = []
    for box, text, sure in zip(found.boxes, found.txts, found.scores, strict=True):
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
    enlarged = cv2.resize(cut, None, fx=MOST_SCALE, fy=MOST_SCALE, interpolation=cv2.INTER_CUBIC)
    found = _engine()(np.ascontiguousarray(enlarged[:, :, ::-1]), use_det=False)
    if not found.txts:
        return "", 0.0
    return str(found.txts[0]).strip(), round(float(found.scores[0]), 3)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    threads = "EngineConfig.onnxruntime."
    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,
            f"{threads}intra_op_num_threads": 1,
            f"{threads}inter_op_num_threads": 1,
        }
    )
