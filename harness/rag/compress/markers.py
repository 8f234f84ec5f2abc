"""Markers of the parts left out, and counts that no longer hold without them.

A marker is visible in the text and counted in the budget, but never content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from harness.rag.compress.types import Style, Unit

ID_LENGTH = 10
LEFT_OUT = re.compile(
    rf"\[… (?:\d+ of \d+ (?:records|rows), )?(\d+) tokens left out"
    rf"(?:: expand [0-9a-f]{{{ID_LENGTH}}})?\]|\[…(\d+)\]"
)
EXPANDABLE = re.compile(rf"\[… [^\[\]…\n]{{1,80}}: expand ([0-9a-f]{{{ID_LENGTH}}})\]")
_TITLE = re.compile(r"^\[document: [^\n]{1,300}\]$", re.MULTILINE)
_NOUNS = {"record": "records", "row": "rows"}
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")


def marker(style: Style, tokens: int, id_: str | None, counted: str = "") -> str:
    """The text that stands for a part left out; `short` gives the number alone.

    Args:
        style: not `auto`.
        tokens: of the part.
        id_: what `expand` takes; None where nothing is stored.
        counted: see :func:`counted`.
    """
    if style == "none":
        return ""
    if style == "short":
        return f"[…{tokens}]"
    expand = f": expand {id_}" if id_ else ""
    return f"[… {counted}{tokens} tokens left out{expand}]"


def title(doc: str) -> str:
    """The line above a document's spans where there are several documents."""
    return f"[document: {doc.replace(chr(10), ' ')[:300]}]"


def marker_spans(text: str) -> list[tuple[int, int]]:
    """Locate markers and titles in a text that was compressed before, in order."""
    if "[" not in text:
        return []
    return sorted(
        match.span() for pattern in (LEFT_OUT, _TITLE) for match in pattern.finditer(text)
    )


def tokens_left_out(text: str) -> int:
    """Tokens that the markers in `text` say that they stand for."""
    return sum(int(match[1] or match[2]) for match in LEFT_OUT.finditer(text))


def visible(text: str) -> str:
    """The text without its markers and titles."""
    position, parts = 0, list[str]()
    for start, end in marker_spans(text):
        parts.append(text[position:start])
        position = end
    return "".join([*parts, text[position:]])


class Group(NamedTuple):
    """Units counted together: the records of one array, the rows of one table, list items."""

    doc: str
    place: str
    noun: str


def group_of(unit: Unit) -> Group | None:
    """The array, table or list that a unit belongs to; none for prose, code and header rows."""
    noun = _NOUNS.get(unit.granularity)
    if noun and not (noun == "rows" and unit.header is None and unit.text == unit.heading):
        return Group(unit.doc, unit.heading, noun)
    if unit.granularity == "sentence" and _ITEM.match(unit.text):
        return Group(unit.doc, unit.heading, "items")
    return None


def group_sizes(units: Sequence[Unit]) -> Counter[Group]:
    """Count the units of each group."""
    return Counter(group for unit in units if (group := group_of(unit)))


def counted(left_out: Sequence[Unit], sizes: Counter[Group]) -> str:
    """`3 of 9 rows, ` for a marker that stands for records or rows of one group; else empty."""
    group = group_of(left_out[0]) if left_out else None
    if group is None or group.noun == "items" or any(group_of(unit) != group for unit in left_out):
        return ""
    return f"{len(left_out)} of {sizes[group]} {group.noun}, "


def count_warnings(
    units: Sequence[Unit], indexes: Collection[int], sizes: Counter[Group]
) -> list[str]:
    """One warning for each group with something left out, naming kept text that states its size."""
    remaining = group_sizes([units[index] for index in indexes])
    warnings: list[str] = []
    for group, size in sizes.items():
        if remaining[group] == size or size < 2:
            continue
        stated = re.compile(rf"(?<![\w.]){size}(?![\w.%]|,\d)")
        claims = [
            units[index].text.strip()[:60]
            for index in sorted(indexes)
            if units[index].doc == group.doc and stated.search(units[index].text)
        ]
        # Groups that are gone, and lists, need no mention unless the text still counts them.
        if not claims and (group.noun == "items" or not remaining[group]):
            continue
        under = f" under {group.place[:60]!r}" if group.place else ""
        note = f"{group.doc}: {remaining[group]} of {size} {group.noun}{under} kept"
        warnings.append(note + (f"; {claims[0]!r} counts all {size}" if claims else ""))
    return warnings
