"""Docling in place of our own parsers, where it is installed: slower, better tables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from harness.core import BadInput
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.parse.plain import parse_markdown


def parse_docling(source: str, path: Path) -> Document:
    """The Markdown that docling makes of a file; it has no page offsets.

    Raises:
        BadInput: if docling is not installed or cannot read the file.
    """
    try:
        converter = import_module("docling.document_converter").DocumentConverter()
    except ImportError as error:
        raise BadInput(f"--parser docling needs docling ({error}): pip install docling") from error
    try:
        markdown: str = converter.convert(path).document.export_to_markdown()
    except Exception as error:  # whatever its pipelines raise
        raise BadInput(f"docling cannot read {source!r}: {error}") from error
    return parse_markdown(source, markdown)
