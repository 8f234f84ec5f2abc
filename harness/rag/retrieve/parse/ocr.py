"""Optical character recognition of a page image (rapidocr, with the models that it carries)."""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.core import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def recognise(image: NDArray[np.uint8]) -> str:
    """Text lines of an image of shape (height, width, channels), top to bottom.

    Raises:
        BadInput: if rapidocr is not installed.
    """
    found = _engine()(image)
    return "\n".join(found.txts or ())


@cache
def _engine() -> Any:
    try:
        engine = import_module("rapidocr").RapidOCR()
    except ImportError as error:
        raise BadInput(
            f"optical recognition needs rapidocr ({error}): pip install 'agent-skill-harness[vqa]'"
        ) from error
    logging.getLogger("RapidOCR").setLevel(logging.WARNING)
    return engine
