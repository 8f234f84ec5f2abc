"""Text formats: plain text, Markdown, separated values, JSON lines and HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, cast

from pydantic import JsonValue

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document, Heading, TextBuilder

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
    title = next((heading.title for heading in headings if heading.level == 1), None)
    return Document(
        source, text, source, headings=headings, metadata={"title": title} if title else {}
    )


def _headings(text: str) -> Iterator[Heading]:
    fence, start, previous = "", 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        mark = _FENCE.match(bare)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            if title := _ATX.match(bare):
                yield Heading(start, len(title[1]), title[2].strip())
            elif (underline := _UNDERLINE.match(bare)) and not _NO_SETEXT.match(previous):
                level = 1 if underline[1][0] == "=" else 2
                yield Heading(start - len(previous), level, previous.strip())
        start += len(line)
        previous = line if not fence else ""


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
    documents: dict[str, Document] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadInput(
                f"{source}:{number}: expected a JSON object a line ({error.msg})"
            ) from error
        row = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if not isinstance(row.get("text"), str):
            return [parse_text(source, text)]
        name = f"{source}#{row.get('id', row.get('_id', number))}"
        if name in documents:
            raise BadInput(f"{source}:{number}: a second row named {name!r}")
        metadata = {key: value for key, value in row.items() if key not in ("text", "id", "_id")}
        documents[name] = Document(name, row["text"], name, metadata=metadata)
    return list(documents.values())


_UNSEEN_TAGS = "script style template noscript head svg math iframe object select"
_BLOCK_TAGS = (
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption "
    "figure footer form header hr html legend li main nav ol p section summary ul"
)
_UNSEEN, _BLOCKS = frozenset(_UNSEEN_TAGS.split()), frozenset(_BLOCK_TAGS.split())
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")


def parse_html(source: str, text: str) -> Document:
    """What a reader sees of a page.

    Raises:
        BadInput: if selectolax is not installed, or nothing is to be seen.
    """
    tree = require("selectolax.lexbor", "reading HTML needs selectolax").LexborHTMLParser(text)
    walk = _Walk()
    if tree.body is not None:
        walk.children(tree.body)
        walk.flush()
    metadata: dict[str, JsonValue] = {}
    title = tree.css_first("title")
    if title is not None and title.text().strip():
        metadata["title"] = _SPACE.sub(" ", title.text()).strip()
    language = tree.root.attributes.get("lang") if tree.root is not None else None
    if language:
        metadata["language"] = language.split("-")[0].lower()
    document = walk.out.document(source, metadata)
    if not document.text:
        raise BadInput(f"{source!r} shows no text: expected an HTML page with content")
    return document


class _Walk:
    """Collects running text until a block begins or ends."""

    def __init__(self) -> None:
        self.out = TextBuilder()
        self._run: list[str] = []

    def children(self, node: Any) -> None:
        """Walk in document order, without recursion: pages nest thousands deep."""
        stack: list[tuple[Any, bool]] = [(node, False)]
        while stack:
            current, leaving = stack.pop()
            if leaving:
                self.flush()
            elif self._enter(current):
                if current.tag in _BLOCKS:
                    self.flush()
                    stack.append((current, True))
                below = list(current.iter(include_text=True))
                stack.extend((child, False) for child in reversed(below))

    def _enter(self, node: Any) -> bool:
        """Whether the children of this node are to be walked."""
        tag: str = node.tag
        if tag == "-text":
            self._run.append(node.text(deep=False))
        elif tag == "br":
            self._run.append("\0")
        elif tag in _LEVELS:
            self.flush()
            self.out.heading(node.text(separator=" "), _LEVELS[tag])
        elif tag == "pre":
            self.flush()
            self.out.block(node.text())
        elif tag == "table" and node.css_first("table table") is None:
            self.flush()
            self.out.table(
                [cell.text(separator=" ") for cell in row.css("td, th")] for row in node.css("tr")
            )
        elif tag not in _UNSEEN and not tag.startswith("_") and tag != "-comment":
            return True
        return False

    def flush(self) -> None:
        """End the paragraph."""
        text = _SPACE.sub(" ", "".join(self._run))
        self._run.clear()
        self.out.block(re.sub(r" ?\0 ?", "\n", text).strip(" "))
