"""A PDF as an environment: find, page, zoom; each screen as text, and as a rendered picture.

A page that is long is shown in part, so that a model has to find, turn pages and zoom. A scan has
no text: it needs a model that sees.
"""

from __future__ import annotations

import io
import re
from functools import cache
from math import sqrt
from pathlib import Path

from examples.screens.environments import BACK, STOP, Action, Step, Trail
from harness.core import BadInput, require

SHOWN, ZOOMED, LEAD = 1200, 4000, 200
"""Characters of a page, of a part, and of them before the words that were looked for."""
PIXELS, DPI = 1_000_000, 200
"""Of a picture, at most."""
SHARE = 0.55
"""Of a side that a zoomed part takes: parts overlap, so that no line is cut in all of them."""
_PARTS = re.compile(r"(top|bottom)?\s*(left|right)?")
_HYPHEN = re.compile("[\u0002\ufffe](?:\r?\n)?")  # how pdfium marks a word broken at a line end


class Viewer(Trail):
    """Implements :class:`examples.screens.environments.Environment`; steps are (page, part, words).

    Args:
        path: of a PDF.

    Raises:
        BadInput: if it cannot be opened, or pypdfium2 is missing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__((1, "", ""))
        pdfium = require("pypdfium2", "the document viewer needs pypdfium2")
        try:
            self._pdf = pdfium.PdfDocument(path.read_bytes())
        except (OSError, pdfium.PdfiumError) as error:
            raise BadInput(f"cannot open the document {str(path)!r}: {error}") from error
        self._name, self._text = path.name, cache(self._read)

    @property
    def actions(self) -> dict[str, str]:
        """See :class:`examples.screens.environments.Environment`."""
        return {
            "Find": "words; opens the next page that holds them",
            "Page": f"a number from 1 to {len(self._pdf)}",
            "Zoom": "top, bottom, left, right or a corner such as top left, to read it in full; "
            "page for the whole page",
            BACK: "to the screen before",
            STOP: "when all is done",
        }

    def step(self, action: Action) -> Step | None:
        """See :class:`examples.screens.environments.Trail`."""
        number, _, words = self.steps[-1]
        wanted = " ".join(action.argument.casefold().split())
        if action.name == "Page" and wanted.isdecimal() and 0 < int(wanted) <= len(self._pdf):
            return int(wanted), "", words
        if action.name == "Zoom" and (wanted == "page" or _PARTS.fullmatch(wanted)):
            return number, wanted.removeprefix("page"), words
        if action.name == "Find" and (pages := self._pages(wanted)):
            return next((page for page in pages if page > number), pages[0]), "", wanted
        return None

    def show(self, steps: list[Step]) -> str:
        """See :class:`examples.screens.environments.Trail`."""
        number, part, words = steps[-1]
        text = self._text(number, part)
        match = _pattern(words).search(text) if words else None
        start = max(0, match.start() - LEAD) if match else 0
        end = start + (ZOOMED if part else SHOWN)
        lines = [f"{self._name}, page {number} of {len(self._pdf)}{f', {part}' if part else ''}"]
        if words:
            lines.append(f"{words!r} is on the pages {', '.join(map(str, self._pages(words)))}")
        lines.append(("… " if start else "") + (text[start:end] or "(no text: it is a picture)"))
        lines += ["… (there is more: zoom)"] if end < len(text) else []
        return "\n".join(lines)

    def picture(self) -> bytes:
        """See :class:`examples.screens.environments.Environment`."""
        require("PIL.Image", "pictures of pages need pillow", "'agent-skill-harness[vqa]'")
        number, part, _ = self.steps[-1]
        page = self._pdf[number - 1]
        width, height = page.get_size()
        left, bottom, right, top = _box(part, width, height)
        scale = min(DPI / 72, sqrt(PIXELS / ((right - left) * (top - bottom))))
        cut = left, bottom, width - right, height - top
        page.render(scale=scale, crop=cut).to_pil().save(buffer := io.BytesIO(), format="PNG")
        return buffer.getvalue()

    def _read(self, number: int, part: str) -> str:
        """The text of a page, or of a part of it; a page that is turned is not divided."""
        page = self._pdf[number - 1]
        layer = page.get_textpage()
        if part and not page.get_rotation():
            x, y, *_ = page.get_cropbox()
            left, bottom, right, top = _box(part, *page.get_size())
            text = layer.get_text_bounded(x + left, y + bottom, x + right, y + top)
        else:
            text = layer.get_text_range()
        return _HYPHEN.sub("", text).replace("\r\n", "\n").strip()

    def _pages(self, words: str) -> list[int]:
        pattern = _pattern(words)
        numbers = range(1, len(self._pdf) + 1) if words else ()
        return [number for number in numbers if pattern.search(self._text(number, ""))]


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def _box(part: str, width: float, height: float) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of a part of a page, in points from its lower left corner."""
    across, down = SHARE * width, SHARE * height
    return (
        width - across if "right" in part else 0.0,
        height - down if "top" in part else 0.0,
        across if "left" in part else width,
        down if "bottom" in part else height,
    )
