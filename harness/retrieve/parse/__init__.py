"""Files to documents: text, Markdown, HTML, PDF, docx, pptx, xlsx, csv and JSON lines."""

from __future__ import annotations

from harness.retrieve.parse.files import (
    MAX_BYTES,
    Parsed,
    ParseOptions,
    PassedOver,
    parse_bytes,
    parse_file,
    parse_paths,
)

__all__ = [
    "MAX_BYTES",
    "ParseOptions",
    "Parsed",
    "PassedOver",
    "parse_bytes",
    "parse_file",
    "parse_paths",
]
