"""HTML pages, and what is converted to HTML, as a reader sees them (selectolax)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document, TextBuilder

_UNSEEN_TAGS = "script style template noscript head svg iframe object select ix:header"
_BLOCK_TAGS = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset "
    "figcaption figure footer form header hr html legend li main nav ol p section summary td th "
    "tr ul"
)
_UNSEEN, _BLOCKS = frozenset(_UNSEEN_TAGS.split()), frozenset(_BLOCK_TAGS.split())
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_HIDING = r"(?:display\s*:\s*none|visibility\s*:\s*hidden)"
_HIDDEN_CLASS = re.compile(rf"(?:^|[}},/])\s*\.([\w-]+)\s*\{{[^{{}}]*{_HIDING}", re.IGNORECASE)
_MENU_ROLES = ("navigation", "menu", "menubar")
_RAISED = str.maketrans("0123456789+-\u2212n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
_POWER = re.compile(r"(?:(?<![\d.,])10|(?<![^\W\d_])[^\W\d_]{1,2}|\))$")
_LONGEST_CELL = 400  # characters; a table with longer cells that hold tables is a page's layout
_DEEPEST = 12
_MOST_NESTED = 512
"""Elements within each other, as in browsers; the parser's time grows with the square of them."""
_FLAT_TAGS = (
    "!doctype a area base body br caption col dd dt embed head hr html img input li link meta "
    "optgroup option p param rp rt source tbody td tfoot th thead tr track wbr"
)
_FLAT = frozenset(_FLAT_TAGS.split())  # never within their like: void, or ended by the next
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)(?=([^<>]*/>)?)")
_WIDEST_SPAN = 200


def superscript(before: str, raised: str) -> str:
    """Raised text in a line: an exponent of ten or of a unit (10⁶, m²), else a mark, `[3]`.

    Args:
        before: the line up to it; a mark never becomes a digit of the number before it.
        raised: the text that is raised.
    """
    mark = raised.strip().strip("[]()")
    if re.fullmatch("[-+\u2212]?[0-9n]+", mark) and _POWER.search(before) and "[" not in raised:
        return mark.translate(_RAISED)
    is_note = re.fullmatch(r"[\d\s,;*†‡§¶#\u2013-]+|[a-z]", mark)
    return f"[{mark}]" if is_note else raised  # the end of an ordinal or an abbreviation


def parse_html(source: str, text: str) -> Document:
    """Return what a reader sees of a page; what is hidden and menus are left out, and counted.

    Raises:
        BadInput: if selectolax is not installed, or nothing is to be seen.
    """
    parser = require("selectolax.lexbor", "reading HTML needs selectolax").LexborHTMLParser
    tree = parser(_flattened(text) if text.count("<") > _MOST_NESTED else text)
    styles = " ".join(style.text() for style in tree.css("style"))
    hidden_classes = frozenset(_HIDDEN_CLASS.findall(styles))
    for menus in (False, True):  # a page of links alone is read with them
        walk = _Walk(hidden_classes, menus=menus)
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
        walk.out.warnings += [
            f"left out {kind} of {count:,} words" for kind, count in walk.left_out.items()
        ]
        document = walk.out.document(source, metadata)
        if document.text:
            return document
    raise BadInput(f"{source!r} shows no text: expected an HTML page with content")


def _flattened(text: str) -> str:
    """A page whose elements below the deepest level are line breaks."""
    depth = 0

    def levelled(tag: re.Match[str]) -> str:
        nonlocal depth
        name = tag[2].lower()
        if name in _FLAT or (tag[3] and name not in _BLOCKS):  # "/>" ends elements of SVG alone
            return tag[0]
        depth = max(depth + (-1 if tag[1] else 1), 0)
        return tag[0] if depth + len(tag[1]) <= _MOST_NESTED else "<br"

    return _TAG.sub(levelled, text)


class _Walk:
    """Collects running text until a block begins or ends."""

    def __init__(self, hidden: frozenset[str], *, menus: bool = False, depth: int = 0) -> None:
        self.out = TextBuilder()
        self.left_out: Counter[str] = Counter()
        self._run: list[str] = []
        self._hidden, self._menus, self._depth = hidden, menus, depth

    def children(self, node: Any) -> None:
        """Walk in document order, without recursion: pages nest thousands deep."""
        stack: list[tuple[Any, bool]] = [(node, False)]
        while stack:
            current, leaving = stack.pop()
            if leaving:
                self.flush()
            elif current is node or self._enter(current):
                if current.tag in _BLOCKS:
                    self.flush()
                    stack.append((current, True))
                below = list(current.iter(include_text=True))
                stack.extend((child, False) for child in reversed(below))

    def _enter(self, node: Any) -> bool:
        """Return True if the children of this node are to be walked."""
        tag: str = node.tag
        if tag == "-text":
            self._run.append(node.text(deep=False))
        elif tag == "br":
            self._run.append("\0")
        elif tag == "math":
            self._run.append(node.attributes.get("alttext") or node.text(separator=" "))
        elif tag in _UNSEEN or tag.startswith("_") or tag == "-comment":
            pass
        elif kind := self._unseen(node):
            if count := len(node.text(separator=" ").split()):
                self.left_out[kind] += count
        elif tag in ("sup", "sub"):
            before, text = "".join(self._run[-3:]).rstrip("\0"), self._text(node)
            lowered = f"_{text}" if before[-1:].isdigit() and text[:1].isdigit() else text
            self._run.append(superscript(before, text) if tag == "sup" else lowered)
        elif tag in _LEVELS:
            self.flush()
            self.out.heading(self._text(node), _LEVELS[tag])
        elif tag == "pre":
            self.flush()
            self.out.block(node.text())
        elif tag == "table" and not self._depth:  # within a cell, its text in one line
            self.flush()
            return not self._table(node)
        else:
            return True
        return False

    def _unseen(self, node: Any) -> str:
        """Say why a browser does not show a part, or that it is a menu; else ""."""
        attributes = node.attributes
        classes = (attributes.get("class") or "").split()
        styled = re.search(_HIDING, attributes.get("style") or "", re.IGNORECASE)
        if "hidden" in attributes or styled or self._hidden.intersection(classes):
            return "hidden parts"
        menu = node.tag == "nav" or attributes.get("role") in _MENU_ROLES
        return "menus" if menu and not self._menus else ""

    def _text(self, node: Any) -> str:
        """The text of a part in one line."""
        if self._depth >= _DEEPEST:
            return _SPACE.sub(" ", node.text(separator=" ")).strip()
        walk = _Walk(self._hidden, menus=self._menus, depth=self._depth + 1)
        walk.children(node)
        walk.flush()
        self.left_out.update(walk.left_out)
        return " ".join(walk.out.text.replace(" | ", " ").split())

    def _table(self, table: Any) -> bool:
        """Put a table with its merged cells repeated; False for one that lays out a page."""
        nested = table.css_first("table table") is not None
        rows: list[list[str]] = []
        carried: dict[
            int, tuple[int, str]
        ] = {}  # by column: rows that a cell still spans, its text
        for part in _rows_of(table):
            if part.tag == "caption":
                self.out.block(self._text(part))
                continue
            row, below, filled = list[str](), dict[int, tuple[int, str]](), 0
            for cell in part.iter():
                if cell.tag not in ("td", "th") or self._unseen(cell):
                    continue
                _carry(row, carried, below)
                text = self._text(cell)
                filled += bool(text)
                if nested and len(text) > _LONGEST_CELL:
                    return False
                for _ in range(_span(cell, "colspan")):
                    if (down := _span(cell, "rowspan")) > 1:
                        below[len(row)] = down - 1, text
                    row.append(text)
            _carry(row, carried, below)
            carried |= below
            rows.append(row[:1] if row and row[0] and filled == 1 else row)
        self.out.table(rows)
        return True

    def flush(self) -> None:
        """End the paragraph."""
        text = _SPACE.sub(" ", "".join(self._run))
        self._run.clear()
        self.out.block(re.sub(r" ?\0 ?", "\n", text).strip(" "))


def _carry(
    row: list[str], carried: dict[int, tuple[int, str]], below: dict[int, tuple[int, str]]
) -> None:
    """Put the cells that reach down from the rows above at the end of a row."""
    while len(row) in carried:
        remaining, text = carried.pop(len(row))
        if remaining > 1:
            below[len(row)] = remaining - 1, text
        row.append(text)


def _rows_of(table: Any) -> Iterator[Any]:
    for part in table.iter():
        if part.tag in ("tr", "caption"):
            yield part
        elif part.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in part.iter() if row.tag == "tr")


def _span(cell: Any, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return min(int(value), _WIDEST_SPAN) if re.fullmatch(r"[1-9]\d{0,5}", value) else 1
