"""PDF: the text layer page by page (pypdfium2), or optical recognition where there is none."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, require
from harness.core.plugins import install_command
from harness.rag.retrieve.document import Document, Heading, TextBuilder

_HYPHEN = re.compile("[\u0002\ufffe](?:\r?\n)?")  # how pdfium marks a word broken at a line end
_BLANK = re.compile(r"[ \t]+(?=\n|$)")
_DPI = 200


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
        for number in range(1, len(pdf) + 1):
            page = pdf[number - 1]
            text = _text_layer(page)
            if not text.strip():
                blank.append(number)
                if ocr:  # text lines of an image of the page, top to bottom
                    recognised = _ocr_engine()(page.render(scale=_DPI / 72).to_numpy())
                    text = "\n".join(recognised.txts or ())
            out.page(number)
            out.block(text)
        properties = pdf.get_metadata_dict(skip_empty=True)
        titles = {"title": properties.get("Title"), "author": properties.get("Author")}
        metadata: dict[str, JsonValue] = {key: value for key, value in titles.items() if value}
        document = out.document(source, {**metadata, "pages": len(pdf)})
        if not document.text.strip():
            if ocr:
                fault = f"({len(pdf)} pages): optical recognition found no text either"
            else:
                fault = (
                    f"has no text layer ({len(pdf)} pages of images, probably a scan): "
                    f"--ocr recognises the text ({install_command('vqa')})"
                )
            raise BadInput(f"{source!r} {fault}")
        headings = _outline(pdf, document)
    finally:
        pdf.close()
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
    return replace(document, headings=headings, warnings=(warning,))


def _text_layer(page: Any) -> str:
    layer = page.get_textpage()
    try:
        text = layer.get_text_range()
    finally:
        layer.close()
    return _BLANK.sub("", _HYPHEN.sub("", text).replace("\r\n", "\n").replace("\0", ""))


@cache
def _ocr_engine() -> Any:
    package = require("rapidocr", "optical recognition needs rapidocr", extra="vqa")
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
