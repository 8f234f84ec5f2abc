"""How Markdown is cut into blocks: headings, list items, code, tables, paragraphs.

Which of them are units of a skill is decided in `units`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from harness.skills import Section, scan, sections

BlockKind = Literal["heading", "comment", "item", "code", "head", "row", "paragraph", "ruler"]
_ITEM = re.compile(r"^( *)(?:[-*+]|\d+[.)])(?: |$)")
_SENTENCE = re.compile(r"(?<=[.!?])(?:[\"')\]]*)(?: +|\n)")
_UNDER_HEAD = re.compile(r"^ *\|? *:?-+:? *(?:\| *:?-*:? *)*$")
_RULER = re.compile(r"^ {0,3}(?:[-*_] *){3,}$")


@dataclass(frozen=True)
class Block:
    """Neighbouring lines that belong together.

    Attributes:
        start: index of the first line in its text.
        end: index behind the last one; blank lines behind a block belong to none.
        heading: the innermost heading it is under, "" for none.
    """

    kind: BlockKind
    start: int
    end: int
    heading: str = ""

    def text(self, lines: Sequence[str]) -> str:
        """Its lines."""
        return "\n".join(lines[self.start : self.end])


def blocks(lines: Sequence[str]) -> list[Block]:
    """The blocks of a Markdown text without frontmatter, in order; blank lines are in none."""
    kinds = scan(lines).kinds
    titles = sections(lines)
    at = {one.start: one for one in titles}
    found: list[Block] = []
    index = 0
    while index < len(lines):
        if not lines[index].strip() and kinds[index] != "code":
            index += 1
            continue
        kind, end = _block_at(lines, kinds, at, index)
        found.append(Block(kind, index, end, _heading_over(titles, index)))
        index = end
    return found


def sentences(text: str) -> list[str]:
    """Pieces of a paragraph or item whose concatenation is the text."""
    cuts = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if b > a]


def is_introduction(text: str) -> bool:
    """Whether a paragraph only leads to what follows it."""
    return text.rstrip().rstrip("*_").endswith(":")


def _heading_over(titles: Sequence[Section], index: int) -> str:
    return next((one.title for one in reversed(titles) if one.start <= index), "")


def _block_at(
    lines: Sequence[str], kinds: Sequence[str], at: dict[int, Section], index: int
) -> tuple[BlockKind, int]:
    line = lines[index]
    if index in at:
        return "heading", at[index].content
    if kinds[index] == "comment":
        return "comment", _while(lines, index, lambda i: kinds[i] == "comment")
    if kinds[index] == "code":
        return "code", _while(lines, index, lambda i: kinds[i] == "code")
    if match := _ITEM.match(line):
        return "item", _item_end(lines, kinds, at, index, len(match.group(1)))
    if _RULER.match(line):
        return "ruler", index + 1
    if line.lstrip().startswith("|"):
        head = index + 1 < len(lines) and _UNDER_HEAD.match(lines[index + 1])
        return ("head", index + 2) if head else ("row", index + 1)

    def goes_on(other: int) -> bool:
        own = lines[other].strip() and kinds[other] == "text" and other not in at
        return bool(own) and not re.match(r" *\||" + _ITEM.pattern, lines[other])

    return "paragraph", _while(lines, index, goes_on)


def _while(lines: Sequence[str], index: int, goes_on: Callable[[int], object]) -> int:
    end = index + 1
    while end < len(lines) and goes_on(end):
        end += 1
    return end


def _item_end(
    lines: Sequence[str], kinds: Sequence[str], at: dict[int, Section], start: int, indent: int
) -> int:
    """Behind the last line of a list item with everything that is nested in it."""
    end, fenced = start + 1, False
    for index in range(start + 1, len(lines)):
        line = lines[index]
        deep = len(line) - len(line.lstrip(" ")) > indent
        if kinds[index] == "code":
            fenced = fenced if kinds[index - 1] == "code" else deep
            inner = fenced
        elif not line.strip():
            continue
        else:
            # A line right behind the item goes on with its last paragraph, indented or not.
            lazy = index == end and not _ITEM.match(line) and kinds[index] == "text"
            inner = index not in at and kinds[index] != "comment" and (deep or lazy)
        if not inner:
            break
        end = index + 1
    return end
