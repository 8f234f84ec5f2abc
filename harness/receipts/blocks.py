"""Markdown cut into blocks: headings, list items, code, tables, paragraphs.

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
        text: its lines.
        heading: the innermost heading it is under, "" for none.
    """

    kind: BlockKind
    start: int
    end: int
    text: str
    heading: str = ""


def blocks(lines: Sequence[str]) -> list[Block]:
    """The blocks of a Markdown text without frontmatter, in order; blank lines are in none."""
    kinds = scan(lines).kinds
    titles = sections(lines)
    heads = {title.start: title for title in titles}
    parsed: list[Block] = []
    index = 0
    while index < len(lines):
        if not lines[index].strip() and kinds[index] != "code":
            index += 1
            continue
        kind, end = _block_at(lines, kinds, heads, index)
        heading = next((title.title for title in reversed(titles) if title.start <= index), "")
        parsed.append(Block(kind, index, end, "\n".join(lines[index:end]), heading))
        index = end
    return parsed


def sentences(text: str) -> list[str]:
    """Pieces of a paragraph or item whose concatenation is the text."""
    cuts = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if b > a]


def _block_at(
    lines: Sequence[str], kinds: Sequence[str], heads: dict[int, Section], index: int
) -> tuple[BlockKind, int]:
    """Kind of the block that begins at a line, and the index behind it."""
    line, kind = lines[index], kinds[index]

    def end_of(continues: Callable[[int], object]) -> int:
        end = index + 1
        while end < len(lines) and continues(end):
            end += 1
        return end

    if index in heads:
        return "heading", heads[index].content
    if kind in ("comment", "code"):
        return kind, end_of(lambda number: kinds[number] == kind)
    if match := _ITEM.match(line):
        return "item", _item_end(lines, kinds, heads, index, len(match.group(1)))
    if _RULER.match(line):
        return "ruler", index + 1
    if line.lstrip().startswith("|"):
        head = index + 1 < len(lines) and _UNDER_HEAD.match(lines[index + 1])
        return ("head", index + 2) if head else ("row", index + 1)
    return "paragraph", end_of(
        lambda number: (
            lines[number].strip()
            and kinds[number] == "text"
            and number not in heads
            and not re.match(r" *\||" + _ITEM.pattern, lines[number])
        )
    )


def _item_end(
    lines: Sequence[str], kinds: Sequence[str], heads: dict[int, Section], start: int, indent: int
) -> int:
    """Index behind the last line of a list item with everything that is nested in it."""
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
            # A line right behind the item continues its last paragraph, indented or not.
            lazy = index == end and not _ITEM.match(line) and kinds[index] == "text"
            inner = index not in heads and kinds[index] != "comment" and (deep or lazy)
        if not inner:
            break
        end = index + 1
    return end
