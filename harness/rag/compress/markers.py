"""Markers of what was left out: visible in the text, counted in the budget, never content."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Style = Literal["auto", "full", "short", "none"]
ID_LENGTH = 10
LEFT_OUT = re.compile(
    rf"\[… (?:\d+ of \d+ (?:records|rows), )?(\d+) tokens left out"
    rf"(?:: expand [0-9a-f]{{{ID_LENGTH}}})?\]|\[…(\d+)\]"
)
EXPANDABLE = re.compile(rf"\[… [^\[\]…\n]{{1,80}}: expand ([0-9a-f]{{{ID_LENGTH}}})\]")
_TITLE = re.compile(r"^\[document: [^\n]{1,300}\]$", re.MULTILINE)


class Counted(NamedTuple):
    """Units of one array or table in a part left out: `left_out` of the `of` that it had."""

    noun: str
    left_out: int
    of: int


def marker(style: Style, tokens: int, id_: str | None, counted: Counted | None = None) -> str:
    """The text that stands for a part of `tokens` tokens; `short` gives the number alone."""
    if style == "none":
        return ""
    if style == "short":
        return f"[…{tokens}]"
    records = f"{counted.left_out} of {counted.of} {counted.noun}, " if counted else ""
    expand = f": expand {id_}" if id_ else ""
    return f"[… {records}{tokens} tokens left out{expand}]"


def title(doc: str) -> str:
    """The line above a document's spans where there are several documents."""
    return f"[document: {doc.replace(chr(10), ' ')[:300]}]"


def marker_spans(text: str) -> list[tuple[int, int]]:
    """Where markers and titles stand in a text that was compressed before, in order."""
    if "[" not in text:
        return []
    found = [match.span() for match in LEFT_OUT.finditer(text)]
    found += [match.span() for match in _TITLE.finditer(text)]
    return sorted(found)


def tokens_left_out(text: str) -> int:
    """What the markers in `text` say that they stand for."""
    return sum(int(match[1] or match[2]) for match in LEFT_OUT.finditer(text))


def visible(text: str) -> str:
    """The text without its markers and titles."""
    place, parts = 0, list[str]()
    for start, end in marker_spans(text):
        parts.append(text[place:start])
        place = end
    return "".join([*parts, text[place:]])
