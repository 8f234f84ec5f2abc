"""PDF: the text layer page by page (pypdfium2), or optical recognition where there is none."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput
from harness.rag.retrieve.document import Document, Heading
from harness.rag.retrieve.parse.builder import TextBuilder

_HYPHEN = re.compile("[\u0002\ufffe](?:\r?\n)?")  # how pdfium marks a word broken at a line end
_BLANK = re.compile(r"[ \t]+(?=\n|$)")
_DPI = 200


def parse_pdf(source: str, data: bytes, *, ocr: bool) -> Document:
    """The text of a PDF with the pages that it stands on and the outline's headings.

    Args:
        source: path or URL, for messages and citations.
        data: the file.
        ocr: recognise pages without a text layer (rapidocr).

    Raises:
        BadInput: if it is encrypted, damaged, or has no text layer and `ocr` is off.
    """
    pdf = _open(source, data)
    try:
        out, blank = TextBuilder(), list[int]()
        for number in range(1, len(pdf) + 1):
            page = pdf[number - 1]
            text = _text(page)
            if not text.strip():
                text = _recognise(page) if ocr else ""
                blank.append(number)
            out.page(number)
            out.block(text)
        found = out.document(source, _metadata(pdf))
        if not found.text.strip():
            raise BadInput(_no_text(source, len(pdf), ocr))
        headings = _outline(pdf, found)
    finally:
        pdf.close()
    if not blank:
        notes: tuple[str, ...] = ()
    elif ocr:
        notes = (f"recognised optically: pages {_listed(blank)}",)
    else:
        notes = (f"no text layer on pages {_listed(blank)}: --ocr reads them",)
    return Document(
        source, found.text, source, found.pages, headings, found.metadata, notes
    )  # fmt: skip


def _open(source: str, data: bytes) -> Any:
    try:
        pdfium = import_module("pypdfium2")
    except ImportError as error:
        raise BadInput(
            f"reading PDF needs pypdfium2 ({error}): pip install 'agent-skill-harness[rag]'"
        ) from error
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if "assword" in str(error):
            raise BadInput(
                f"{source!r} is encrypted: save it without a password first, for example with "
                "`qpdf --decrypt --password=... in.pdf out.pdf`"
            ) from error
        raise BadInput(f"{source!r} is a damaged PDF: {error}") from error
    if not len(pdf):
        raise BadInput(f"{source!r} is a PDF without pages")
    return pdf


def _text(page: Any) -> str:
    layer = page.get_textpage()
    try:
        text = layer.get_text_range()
    finally:
        layer.close()
    return _BLANK.sub("", _HYPHEN.sub("", text).replace("\r\n", "\n").replace("\0", ""))


def _recognise(page: Any) -> str:
    from harness.rag.retrieve.parse.ocr import recognise

    return recognise(page.render(scale=_DPI / 72).to_numpy())


def _metadata(pdf: Any) -> dict[str, JsonValue]:
    facts = pdf.get_metadata_dict(skip_empty=True)
    known = {"title": facts.get("Title"), "author": facts.get("Author")}
    return {**{key: value for key, value in known.items() if value}, "pages": len(pdf)}


def _outline(pdf: Any, found: Document) -> tuple[Heading, ...]:
    """Bookmarks as headings, at their words where the page has them, else where it begins."""
    starts = {page.number: page.start for page in found.pages}
    headings: list[Heading] = []
    for mark in pdf.get_toc():
        target = mark.get_dest()
        index = target.get_index() if target is not None else None
        title = " ".join((mark.get_title() or "").split())
        if index is None or not title or index + 1 not in starts:
            continue
        start = starts[index + 1]
        end = starts.get(index + 2, len(found.text))
        words = r"\s+".join(map(re.escape, title.split()))
        at = re.search(words, found.text[start:end], re.IGNORECASE)
        headings.append(Heading(start + (at.start() if at else 0), mark.level + 1, title))
    return tuple(sorted(headings, key=lambda heading: (heading.start, heading.level)))


def _no_text(source: str, pages: int, ocr: bool) -> str:
    if ocr:
        return f"{source!r} ({pages} pages): optical recognition found no text either"
    return (
        f"{source!r} has no text layer ({pages} pages of images, probably a scan): "
        "--ocr recognises the text (pip install 'agent-skill-harness[vqa]')"
    )


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:10]))
    return f"{shown} and {len(numbers) - 10} more" if len(numbers) > 10 else shown
