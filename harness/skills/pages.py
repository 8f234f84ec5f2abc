"""A skill as pages show it: its Markdown as HTML, block by block, with the edit that wrote each.

Skills come from elsewhere, too: what is HTML in them stays text, and no picture is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from harness.core import Edit
from harness.skills.provenance import Explanation, Provenance, explain_file
from harness.skills.skill import Skill

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LISTS = ("bullet_list_open", "ordered_list_open")
TOP_HEADING = 4
"""A page's own headings are h1 to h3."""


class Block(NamedTuple):
    """One block of Markdown: a heading, a paragraph, an item of a list, a fence, a table.

    Attributes:
        first: its first line, from 1.
        last: its last line.
        html: safe to be put into a page as it is.
    """

    first: int
    last: int
    html: str


class ShownBlock(NamedTuple):
    """Lines of a skill that are shown together.

    Attributes:
        file: of the skill.
        first: the first line, from 1.
        last: the last line.
        text: as it stands.
        html: the same as HTML; "" where it is shown as it stands.
        edit: that wrote it; None for text before any patch.
    """

    file: str
    first: int
    last: int
    text: str
    html: str
    edit: Edit | None


def shown_blocks(provenance: Provenance, skill: Skill) -> list[ShownBlock]:
    """The text files of a skill as blocks, none of them written by more than one edit.

    Markdown is cut into its blocks. The frontmatter, other files, and what several edits wrote in
    one block are shown as they stand: lines of one edit together. A heading names no edit: it
    stands over those of others, too.
    """
    blocks: list[ShownBlock] = []
    for file in skill.all_files:
        text = skill.file_text(file)
        if text is None:
            continue
        lines = explain_file(provenance, skill, file)
        start = _frontmatter(lines) if file.endswith(".md") else len(lines)
        blocks += _plain(lines[:start])
        body = "\n".join(line.text for line in lines[start:])
        for first, last, html in markdown_blocks(body) if start < len(lines) else ():
            rows = lines[start + first - 1 : start + last]
            edits = [line.edit for line in rows if line.edit is not None]
            if any(edit != edits[0] for edit in edits):
                blocks += _plain(rows)
            else:
                heading = html.startswith("<h")
                blocks += [_block(rows, html, edits[0] if edits and not heading else None)]
    return blocks


def _frontmatter(lines: Sequence[Explanation]) -> int:
    """Count the lines of the frontmatter with both fences; 0 without one."""
    if lines[0].text.rstrip() != "---":
        return 0
    return next((row.line for row in lines[1:] if row.text.rstrip() == "---"), 0)


def _plain(lines: Sequence[Explanation]) -> list[ShownBlock]:
    groups = [list(rows) for _, rows in groupby(lines, key=lambda line: line.edit)]
    return [_block(rows, "", rows[0].edit) for rows in groups]


def _block(rows: Sequence[Explanation], html: str, edit: Edit | None) -> ShownBlock:
    text = "\n".join(row.text for row in rows)
    return ShownBlock(rows[0].file, rows[0].line, rows[-1].line, text, html, edit)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def markdown_blocks(text: str) -> list[Block]:
    """The blocks of a Markdown text in order; blank lines belong to none.

    Headings are `h4` to `h6`, and go down by one level at a time. Links to scripts stay text.
    """
    parser, lines = _parser(), text.split("\n")
    blocks: list[Block] = []
    level = TOP_HEADING - 1
    for tokens in _top(parser.parse(text)):
        for token in tokens:
            if token.type == "heading_open":
                heading_level = min(6, TOP_HEADING - 1 + int(token.tag[1]))
                level = min(heading_level, level + 1)
            if token.type in ("heading_open", "heading_close"):
                token.tag = f"h{level}"
        span = next((token.map for token in tokens if token.map), None)
        if span is None:
            continue
        first, end = span
        while end > first + 1 and not lines[end - 1].strip():
            end -= 1
        html = parser.renderer.render(tokens, parser.options, {})
        blocks.append(Block(first + 1, end, html.strip()))
    return blocks


def _top(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Tokens of each block; every item of a list is a list of its own."""
    block: list[Token] = []
    around: Token | None = None
    for token in tokens:
        if token.level == 0 and token.type in LISTS:
            around = token
        elif around is not None and token.level == 0 and token.nesting == -1:
            around = None
        else:
            block.append(token)
            depth = 0 if around is None else 1
            if token.level == depth and token.nesting <= 0:
                yield block if around is None else _item(around, block)
                block = []


def _item(around: Token, item: list[Token]) -> list[Token]:
    attrs = dict(around.attrs)
    if around.tag == "ol":
        attrs["start"] = item[0].info or 1
    close = item[-1].copy(type=around.type.replace("open", "close"), tag=around.tag)
    return [around.copy(attrs=attrs, map=None), *item, close]
