"""HTML pages as a reader sees them (selectolax)."""

from __future__ import annotations

import re
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document, TextBuilder

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
