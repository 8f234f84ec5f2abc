"""Text, Markdown and comma-separated files: their own characters are the parsed text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, cast

from harness.core import BadInput
from harness.rag.retrieve.document import Document, Heading

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_NO_SETEXT = re.compile(r"^\s*(?:[-*+>#|]|\d+[.)]\s|$)")


def parse_text(source: str, text: str) -> Document:
    """A text without structure."""
    return Document(source, text, source)


def parse_markdown(source: str, text: str) -> Document:
    """Markdown as it stands, with its headings (ATX and underlined, outside of code)."""
    headings = tuple(_headings(text))
    title = next((one.title for one in headings if one.level == 1), None)
    return Document(
        source, text, source, headings=headings, metadata={"title": title} if title else {}
    )


def _headings(text: str) -> Iterator[Heading]:
    fence, start, before = "", 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        opened = _FENCE.match(bare)
        if opened and (not fence or opened[1].startswith(fence)):
            fence = "" if fence else opened[1]
        elif not fence:
            if found := _ATX.match(bare):
                yield Heading(start, len(found[1]), found[2].strip())
            elif (under := _UNDERLINE.match(bare)) and not _NO_SETEXT.match(before):
                level = 1 if under[1][0] == "=" else 2
                yield Heading(start - len(before), level, before.strip())
        start += len(line)
        before = line if not fence else ""


def parse_csv(source: str, text: str) -> Document:
    """A table as it stands; its column names are the heading of every row."""
    try:
        dialect = csv.Sniffer().sniff(text[:4096], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if source.lower().endswith(".tsv") else csv.excel
    columns = next(csv.reader(io.StringIO(text), dialect), list[str]())
    title = ", ".join(name.strip() for name in columns if name.strip())
    return Document(
        source,
        text,
        source,
        headings=(Heading(0, 1, title),) if title else (),
        metadata={"columns": [name.strip() for name in columns]},
    )


def parse_jsonl(source: str, text: str) -> list[Document]:
    """One document a row `{text, id?, title?, ...}`; other fields become metadata.

    Rows without a `text` make the file a plain text.

    Raises:
        BadInput: if a line is no JSON, or an id occurs twice.
    """
    found: dict[str, Document] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        row = _row(line, f"{source}:{number}")
        if not isinstance(row.get("text"), str):
            return [parse_text(source, text)]
        name = f"{source}#{row.get('id', row.get('_id', number))}"
        if name in found:
            raise BadInput(f"{source}:{number}: a second row named {name!r}")
        found[name] = _of_row(name, row)
    return list(found.values())


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: expected a JSON object a line ({error.msg})") from error
    return cast("dict[str, Any]", row) if isinstance(row, dict) else {}


def _of_row(name: str, row: dict[str, Any]) -> Document:
    metadata = {key: value for key, value in row.items() if key not in ("text", "id", "_id")}
    return Document(name, row["text"], name, metadata=metadata)
