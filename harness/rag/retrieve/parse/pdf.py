"""PDF: paragraphs and tables in reading order (liteparse), checked against the text layer that
Chrome's engine reads (pypdfium2); optical recognition where there is none."""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document, Heading, TextBuilder
from harness.rag.retrieve.parse.html import superscript

_HYPHEN = re.compile("[\u0002\ufffe](?:\r?\n)?")  # how pdfium marks a word broken at a line end
_BLANK = re.compile(r"[ \t]+(?=\n|$)")
_MARKED = re.compile(r"\S*?(?P<mark>\d{1,2})(?=[\s.,;:)]|$)")  # may end with a footnote's mark
_LEAST = 0.995  # share of a page's letters and digits that its blocks must hold
_DPI = 200
MAX_PAGES = 5_000


def parse_pdf(source: str, data: bytes, *, ocr: bool) -> Document:
    """The text of a PDF with the pages that it stands on and the outline's headings.

    Args:
        source: path or URL, for messages and citations.
        data: the file.
        ocr: recognise pages without a text layer (rapidocr, with the models that it carries).

    Raises:
        BadInput: if it is encrypted, or has no text layer and `ocr` is off.
        Exception: of many kinds, if it is damaged.
    """
    pdfium = require("pypdfium2", "reading PDF needs pypdfium2")
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if "assword" in str(error):
            raise BadInput(
                f"{source!r} is encrypted: save it without a password first, for example with "
                "`qpdf --decrypt --password=... in.pdf out.pdf`"
            ) from error
        raise
    try:
        if not len(pdf):
            raise BadInput(f"{source!r} is a PDF without pages")
        out, blank = TextBuilder(), list[int]()
        laid_out = _reader().parse(data).pages
        for number, layout in enumerate(laid_out, start=1):
            page = pdf[number - 1]
            out.page(number)
            text = _text_layer(page)
            if not text.strip():
                blank.append(number)
                if ocr:  # text lines of an image of the page, top to bottom
                    recognised = _ocr_engine()(page.render(scale=_DPI / 72).to_numpy())
                    out.block("\n".join(recognised.txts or ()))
            _put_page(out, layout.blocks or (), text, _raised(page))
        if len(pdf) > len(laid_out):
            out.warnings.append(f"left out from page {len(laid_out) + 1} on, of {len(pdf):,}")
        facts = pdf.get_metadata_dict(skip_empty=True)
        titles = {"title": facts.get("Title"), "author": facts.get("Author")}
        metadata: dict[str, JsonValue] = {key: value for key, value in titles.items() if value}
        document = out.document(source, {**metadata, "pages": len(pdf)})
        if not document.text.strip():
            if ocr:
                fault = f"({len(pdf)} pages): optical recognition found no text either"
            else:
                fault = (
                    f"has no text layer ({len(pdf)} pages of images, probably a scan): "
                    "--ocr recognises the text (pip install 'agent-skill-harness[vqa]')"
                )
            raise BadInput(f"{source!r} {fault}")
        headings = _outline(pdf, document)
    finally:
        pdf.close()
    headings = tuple(sorted((*document.headings, *headings), key=lambda each: each[:2]))
    if not blank:
        return replace(document, headings=headings)
    pages = ", ".join(map(str, blank[:10]))
    if len(blank) > 10:
        pages += f" and {len(blank) - 10} more"
    warning = (
        f"recognised optically: pages {pages}"
        if ocr
        else f"no text layer on pages {pages}: --ocr reads them"
    )
    return replace(document, headings=headings, warnings=(*document.warnings, warning))


@cache
def _reader() -> Any:
    package = require("liteparse", "reading PDF needs liteparse")
    return package.LiteParse(
        ocr_enabled=False,
        quiet=True,
        extract_blocks=True,
        extract_links=False,
        keep_headers_footers=True,
        max_pages=MAX_PAGES,
        preserve_very_small_text=True,
    )


def _put_page(out: TextBuilder, blocks: Sequence[Any], text: str, raised: dict[str, str]) -> None:
    """Put the blocks of a page; the text layer as it is, where a block lost some of it."""
    laid_out: list[str | list[list[str]]] = []
    for block in blocks:
        rows: list[list[Any]] = [block.header or [], *(block.rows or [])]
        lines = block.text or "\n".join(block.lines or ())
        cells = [[_marked(cell.text, raised) for cell in row] for row in rows]
        laid_out.append(cells if block.rows else _marked(lines, raised))
    joined = "".join("".join(map("".join, block)) for block in laid_out)
    if sum(map(str.isalnum, joined)) < _LEAST * sum(map(str.isalnum, text)):
        laid_out = [_marked(text, raised)]
    for block in laid_out:
        if isinstance(block, str):
            out.block(block)
        else:
            out.table(block)


def _marked(text: str, raised: dict[str, str]) -> str:
    return " ".join(raised.get(word, word) for word in text.split(" ")) if raised else text


def _raised(page: Any) -> dict[str, str]:
    """Words that end with a raised mark, and how they are to be read: `1,240[3]`."""
    raw: Any = import_module("pypdfium2.raw")
    layer, box, marked = page.get_textpage(), raw.FS_RECTF(), dict[str, str]()
    text = layer.get_text_range()

    def height_at(place: int) -> tuple[float, float]:
        raw.FPDFText_GetLooseCharBox(layer, place, ctypes.byref(box))
        return box.top - box.bottom, box.bottom

    for match in _MARKED.finditer(text) if len(text) == layer.count_chars() else ():
        for cut in range(match.start("mark"), match.end()):
            (size, base), (small, low) = height_at(match.start()), height_at(cut)
            if match.start() < cut and small < 0.8 * size and low > base + size / 10:
                before, mark = text[match.start() : cut], text[cut : match.end()]
                marked[match[0]] = before + superscript(before, mark)
                break
    layer.close()
    return marked


def _text_layer(page: Any) -> str:
    layer = page.get_textpage()
    try:
        text = layer.get_text_range()
    finally:
        layer.close()
    return _BLANK.sub("", _HYPHEN.sub("", text).replace("\r\n", "\n").replace("\0", ""))


@cache
def _ocr_engine() -> Any:
    package = require(
        "rapidocr", "optical recognition needs rapidocr", "'agent-skill-harness[vqa]'"
    )
    engine = package.RapidOCR()
    logging.getLogger("RapidOCR").setLevel(logging.WARNING)
    return engine


def _outline(pdf: Any, document: Document) -> tuple[Heading, ...]:
    """Bookmarks as headings, at their words where the page has them, else where it begins."""
    starts = {page.number: page.start for page in document.pages}
    headings: list[Heading] = []
    for mark in pdf.get_toc():
        target = mark.get_dest()
        index = target.get_index() if target is not None else None
        title = " ".join((mark.get_title() or "").split())
        if index is None or not title or index + 1 not in starts:
            continue
        start = starts[index + 1]
        end = starts.get(index + 2, len(document.text))
        words = r"\s+".join(map(re.escape, title.split()))
        match = re.search(words, document.text[start:end], re.IGNORECASE)
        headings.append(Heading(start + (match.start() if match else 0), mark.level + 1, title))
    return tuple(sorted(headings, key=lambda heading: (heading.start, heading.level)))
