"""A text file while edits are applied to it: lines that remember which edit they come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.skills.markdown import Section, find_sections, headings, scan


class Withhold(Exception):
    """An edit cannot be applied; the message says why."""


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        owner: index of the edit that wrote it, None for the skill's own text.
        claims: edits that rely on it (their text or their anchor); others may not remove it.
    """

    text: str
    owner: int | None = None
    claims: frozenset[int] = frozenset()


Document = list[Line]


def document(text: str) -> Document:
    """The lines of a text, without its last line end."""
    return [Line(one) for one in text.removesuffix("\n").split("\n")]


def render(lines: Document) -> str:
    """The text of a document, ending in one line end."""
    return "\n".join(texts(lines)).rstrip("\n") + "\n"


def texts(lines: Document) -> list[str]:
    """The plain lines."""
    return [line.text for line in lines]


def front_length(lines: Document) -> int:
    """How many lines the frontmatter takes."""
    kinds = scan(texts(lines)).kinds
    return sum(kind == "frontmatter" for kind in kinds)


def the_section(lines: Document, wanted: str) -> Section:
    """The one section called `wanted`."""
    found = find_sections(texts(lines), wanted)
    if not found:
        raise Withhold(f"no section {wanted!r}")
    if len(found) > 1:
        paths = "; ".join(" > ".join(one.path) for one in found)
        raise Withhold(f"{len(found)} sections are called {wanted!r}: name the path ({paths})")
    return found[0]


def scope(lines: Document, section: str) -> tuple[int, int]:
    """Range of lines an edit may look at: its section, else everything behind the frontmatter."""
    if section.strip():
        found = the_section(lines, section)
        return found.start, found.end
    return front_length(lines), len(lines)


def find_unique(
    lines: Document, wanted: str, start: int, end: int, name: str
) -> tuple[int, int, int]:
    """(first line, last line, offset in the range's text) of the only occurrence of `wanted`."""
    text = "\n".join(texts(lines[start:end]))
    count = text.count(wanted)
    if count != 1:
        raise Withhold(
            f"{name} {'is not in the file' if not count else f'occurs {count} times'}: {wanted!r}"
        )
    offset = text.index(wanted)
    first = start + text.count("\n", 0, offset)
    return first, first + wanted.count("\n"), offset


def find_block(lines: Document, block: Sequence[str], start: int, end: int) -> int | None:
    """Index where `block` already stands as whole lines in the range."""
    plain = texts(lines)
    for index in range(start, end - len(block) + 1):
        if plain[index : index + len(block)] == list(block):
            return index
    return None


def claim(lines: Document, start: int, end: int, edit: int) -> None:
    """Mark lines that `edit` relies on."""
    for index in range(start, end):
        lines[index] = replace(lines[index], claims=lines[index].claims | {edit})


def refuse_claimed(lines: Document, start: int, end: int, edit: int) -> None:
    """Withhold an edit that would remove lines which another edit wrote or relies on."""
    others = sorted({one for line in lines[start:end] for one in line.claims} - {edit})
    if others:
        raise Withhold(f"touches the same lines as edit {', '.join(map(str, others))}, kept")


def insert_block(lines: Document, at: int, block: Sequence[str], edit: int) -> None:
    """Insert lines at `at`, with a blank line around them unless a list or table goes on."""
    new = [Line(text, edit, frozenset({edit})) for text in block]
    before = lines[at - 1].text if at else ""
    after = lines[at].text if at < len(lines) else ""
    if before.strip() and not _goes_on(before, block[0]):
        new.insert(0, Line("", edit))
    if after.strip() and not _goes_on(block[-1], after):
        new.append(Line("", edit))
    lines[at:at] = new


_LISTISH = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s|^\s+\S")


def _goes_on(upper: str, lower: str) -> bool:
    if upper.lstrip().startswith("|") and lower.lstrip().startswith("|"):
        return True
    return bool(_LISTISH.match(upper) and re.match(r"^\s*(?:[-*+]|\d+[.)])\s", lower))


def adapt_headings(block: list[str], above: int) -> tuple[list[str], str]:
    """(block with every heading below level `above`, note): the outline stays as it was."""
    marks = headings(block)
    if not marks:
        return block, ""
    shift = max(0, above + 1 - min(mark[2] for mark in marks))
    if not shift:
        return block, ""
    adapted = list(block)
    for start, content, level, title in reversed(marks):
        adapted[start:content] = [f"{'#' * min(6, level + shift)} {title}"]
    return adapted, f"headings demoted by {shift}"
