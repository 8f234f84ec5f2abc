"""Pages of a PDF as images (pypdfium2), never larger than the pixel budget."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from harness.core import BadInput
from harness.vision.images.opening import Opened, library
from harness.vision.images.sizing import fit
from harness.vision.profiles import ImageLimits

MOST_DPI = 200
"""Finer rendering of a page shows no more text."""
_POINTS_PER_INCH = 72


def is_pdf(data: bytes) -> bool:
    """Whether a file says that it is a PDF; the mark may stand behind some junk."""
    return b"%PDF-" in data[:1024]


def render_pages(data: bytes, name: str, limits: ImageLimits) -> Iterator[Opened]:
    """Render page after page, each within the limits.

    Args:
        data: the PDF.
        name: for messages.
        limits: what the model takes.

    Raises:
        BadInput: if it is encrypted, damaged or has no page.
    """
    pdfium = _pdfium()
    try:
        document = pdfium.PdfDocument(data)
    except Exception as error:  # pdfium's own errors, and those of its binding
        hint = "remove its password" if "assword" in str(error) else "save it again"
        raise BadInput(f"{name!r}: a PDF that cannot be opened ({error}); {hint}") from error
    try:
        if not len(document):
            raise BadInput(f"{name!r}: a PDF without pages")
        for number in range(len(document)):
            yield _rendered(document, number, name, limits)
    finally:
        document.close()


def _pdfium() -> Any:
    try:
        return import_module("pypdfium2")
    except ImportError as error:
        raise BadInput(
            f"rendering PDF needs pypdfium2 ({error}): pip install 'agent-skill-harness[vqa]'"
        ) from error


def _rendered(document: Any, number: int, name: str, limits: ImageLimits) -> Opened:
    try:
        page = document[number]
        try:
            return _drawn(page, limits)
        finally:
            page.close()
    except Exception as error:  # pdfium's own errors, and those of its binding
        raise BadInput(f"{name!r}: page {number + 1} cannot be rendered ({error})") from error


def _drawn(page: Any, limits: ImageLimits) -> Opened:
    across, down = (max(1.0, float(length)) for length in page.get_size())
    finest = MOST_DPI / _POINTS_PER_INCH
    size = fit(max(1, round(across * finest)), max(1, round(down * finest)), limits)
    # The larger of the two scales, so that resizing only ever reduces; a page of extreme shape is
    # compressed along its longer side, so the smaller one bounds what is drawn.
    scale = max(size[0] / across, size[1] / down)
    if across * down * scale * scale > 4 * limits.most_pixels:
        scale = min(size[0] / across, size[1] / down)
    image = page.render(scale=scale).to_pil().convert("RGB")
    if image.size != size:
        image = image.resize(size, library("Image").Resampling.LANCZOS)
    return Opened(image, (round(across), round(down)), False, ())
