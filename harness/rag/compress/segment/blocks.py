"""Blocks of a text by what they look like: fenced code, tables, separated values, prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["prose", "code", "table"]
_LANGUAGES = (
    "py js ts tsx jsx java c h cc cpp hpp rs go rb php sh sql swift kt scala cs r lua toml yaml "
    "yml ini css"
)
CODE_SUFFIXES = frozenset(f".{suffix}" for suffix in _LANGUAGES.split())
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_PIPES = re.compile(r"(?:^[ \t]*\|[^\n]*\|[ \t]*(?:\n|\Z)){2,}", re.M)
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_DELIMITERS = ",\t;|"
_FEWEST_LINES = 4
_TOP_LEVEL = re.compile(r"\n[ \t]*\n+(?=\S)(?![)\]}]|else\b|except\b|finally\b|elif\b)")
_RULE = re.compile(r"^[\s|:+=-]+$")


class Block(NamedTuple):
    """A stretch of one kind.

    Attributes:
        start: first character.
        end: character behind the last one.
        kind: what it is.
    """

    start: int
    end: int
    kind: Kind


def split_blocks(text: str) -> list[Block]:
    """Blocks that cover `text` without overlap."""
    if _is_separated(text):
        return [Block(0, len(text), "table")]
    marked = [Block(*match.span(), "code") for match in _FENCE.finditer(text)]
    for match in _PIPES.finditer(text):
        if not any(one.start < match.end() and match.start() < one.end for one in marked):
            marked.append(Block(*match.span(), "table"))
    blocks: list[Block] = []
    place = 0
    for block in sorted(marked):
        if block.start > place:
            blocks.append(Block(place, block.start, "prose"))
        blocks.append(block)
        place = block.end
    if place < len(text):
        blocks.append(Block(place, len(text), "prose"))
    return blocks


def _is_separated(text: str) -> bool:
    """Whether every line has the same number of the same delimiter, outside double quotes."""
    lines = [line for line in text[:20_000].split("\n") if line.strip()]
    lines = lines[:-1] if len(text) > 20_000 else lines
    if len(lines) < _FEWEST_LINES:
        return False
    for delimiter in _DELIMITERS:
        counts = {re.sub(r'"[^"]*"', "", line).count(delimiter) for line in lines}
        if len(counts) == 1 and counts != {0} and _looks_like_cells(lines, delimiter):
            return True
    return False


def _looks_like_cells(lines: list[str], delimiter: str) -> bool:
    """Prose has commas too: cells of a comma-separated table are short and unlike sentences."""
    if delimiter != ",":
        return True
    spaced = sum(", " in line for line in lines)
    return spaced < len(lines) / 2


def table_rows(text: str) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
    """Spans of the rows, and of the header (with the rule under it) where there is one."""
    lines = [match.span() for match in _LINE.finditer(text) if match[0].strip()]
    rows = [(start, start + len(text[start:end].rstrip())) for start, end in lines]
    if len(rows) < 2:
        return rows, None
    if _RULE.match(text[slice(*rows[1])]):
        header = (rows[0][0], rows[1][1])
        return [header, *rows[2:]], header
    first = text[slice(*rows[0])]
    return rows, rows[0] if not re.search(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?!\w)", first) else None


def code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches between lines at the left margin that follow a blank line: top-level statements."""
    starts = [0, *(match.end() for match in _TOP_LEVEL.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end].rstrip()
        begin = len(part) - len(part.lstrip("\r\n"))  # blank lines; an indent is part of the code
        if part.strip():
            yield start + begin, start + len(part)
