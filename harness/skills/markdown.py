"""Markdown: its structure, the frontmatter of SKILL.md, and tokens.

The frontmatter is read leniently and written in the form that every client reads. The structure
knows what is not text: code fences, comments, frontmatter. A `# comment` inside a fence is no
heading: the official implementation took it for one and put rules into code blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from harness.core import BadInput

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
Frontmatter = Mapping[str, str | Mapping[str, str]]

TOKENIZER = "harness-upper-estimate-1"
"""An estimate from above that needs no tokenizer file; named in every figure."""
PLACEHOLDER = "new section"
"""A heading that the official implementation left in skills, in lower case."""
LineKind = Literal["text", "code", "comment", "frontmatter"]
_FENCE = re.compile(r"^([ ]*)(?:(?:[-*+]|\d+[.)])[ ]+)?(`{3,}|~{3,})(.*)$")
_ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)])(?: |$)")
_NO_PARAGRAPH = re.compile(r"^(?: {4}|\t| {0,3}(?:>|\||<|#{1,6}(?: |$)|(?:[-*_][ ]*){3,}$))")

_PIECES = re.compile(r"[A-Za-z]+|[0-9]|[ \t]{2,}|[^\sA-Za-z0-9]")
_LINE = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*)$")


@dataclass(frozen=True)
class Section:
    """A heading and what is under it.

    Attributes:
        title: the heading's text without marks.
        level: 1 to 6.
        start: index (from 0) of the heading's first line.
        content: index of the first line under the heading.
        end: index behind the last line, where the next heading of the same or a higher level
            starts (or the text ends).
        path: titles from the outermost heading down to this one.
    """

    title: str
    level: int
    start: int
    content: int
    end: int
    path: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """Kind of every line; `open_fence` is the index of a fence that is never closed."""

    kinds: tuple[LineKind, ...]
    open_fence: int | None


def scan(lines: Sequence[str]) -> Scan:
    """Tell text from code, comments and frontmatter; fence lines themselves count as code."""
    return _scan(tuple(lines))


@lru_cache(maxsize=256)
def _scan(lines: tuple[str, ...]) -> Scan:
    front = 0
    if lines and lines[0].rstrip() == "---":
        marks = (index for index, line in enumerate(lines) if index and line.rstrip() == "---")
        front = next(marks, -1) + 1
    kinds: list[LineKind] = ["frontmatter"] * front
    fence = ""
    opened: int | None = None
    comment = in_list = False
    for index, line in enumerate(lines[front:], front):
        if fence:
            kinds.append("code")
            if re.fullmatch(rf" *{re.escape(fence[0])}{{{len(fence)},}}[ \t]*", line):
                fence, opened = "", None
        elif comment or line.lstrip().startswith("<!--"):
            kinds.append("comment")
            comment = "-->" not in line
        else:
            fence = _opening_fence(line, in_list)
            opened = index if fence else None
            kinds.append("code" if fence else "text")
            if _ITEM.match(line):
                in_list = True
            elif line.strip() and line[0] not in " \t":
                in_list = False
    return Scan(tuple(kinds), opened)


def _opening_fence(line: str, in_list: bool) -> str:
    match = _FENCE.match(line)
    if not match or (match.group(2)[0] == "`" and "`" in match.group(3)):
        return ""
    deep = len(match.group(1)) > 3  # four spaces are an indented code block, unless in a list
    return "" if deep and not in_list else match.group(2)


def headings(lines: Sequence[str]) -> tuple[tuple[int, int, int, str], ...]:
    """(first line, first line under it, level, title) of every ATX and setext heading."""
    return _headings(tuple(lines))


@lru_cache(maxsize=256)  # the same document is looked at several times per edit
def _headings(lines: tuple[str, ...]) -> tuple[tuple[int, int, int, str], ...]:
    kinds = scan(lines).kinds
    rows: list[tuple[int, int, int, str]] = []
    paragraph: int | None = None
    for index, line in enumerate(lines):
        if kinds[index] != "text" or not line.strip():
            paragraph = None
        elif match := _ATX.match(line):
            rows.append((index, index + 1, len(match.group(1)), (match.group(2) or "").strip()))
            paragraph = None
        elif paragraph is not None and (match := _SETEXT.match(line)):
            title = " ".join(part.strip() for part in lines[paragraph:index])
            rows.append((paragraph, index + 1, 1 if match.group(1)[0] == "=" else 2, title))
            paragraph = None
        elif paragraph is None and not (_ITEM.match(line) or _NO_PARAGRAPH.match(line)):
            # A line that continues a list item or a quotation starts no paragraph of its own.
            before = lines[index - 1] if index else ""
            lazy = bool(before.strip()) and kinds[index - 1] == "text"
            if not (lazy and (_ITEM.match(before) or before.lstrip().startswith(">"))):
                paragraph = index
    return tuple(rows)


def sections(text: str | Sequence[str]) -> tuple[Section, ...]:
    """The sections of a Markdown text in order; text before the first heading is in none."""
    lines = text.split("\n") if isinstance(text, str) else text
    marks = headings(lines)
    rows: list[Section] = []
    stack: list[tuple[int, str]] = []
    for position, (start, content, level, title) in enumerate(marks):
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, title))
        later = (mark[0] for mark in marks[position + 1 :] if mark[2] <= level)
        path = tuple(title for _, title in stack)
        rows.append(Section(title, level, start, content, next(later, len(lines)), path))
    return tuple(rows)


def find_sections(text: str | Sequence[str], name: str) -> list[Section]:
    """Sections called `name`: `Title`, `## Title` or a path `Outer > Inner`.

    Marks in front restrict the level; case, emphasis and spaces do not count. A title that
    itself holds ` > ` is found as a whole first.
    """
    match = re.match(r"^\s*(#{1,6})\s+(.*)$", name.strip())
    level, title = (len(match.group(1)), match.group(2)) if match else (None, name)
    parts = [_plain(part.lstrip("# ")) for part in title.split(" > ")]
    rows = sections(text)
    matching = [row for row in rows if _plain(row.title) == _plain(title)]
    if not matching and len(parts) > 1:
        matching = [
            row for row in rows if [_plain(part) for part in row.path][-len(parts) :] == parts
        ]
    return [row for row in matching if row.level == level] or matching


def _plain(title: str) -> str:
    return " ".join(re.sub(r"[*_`]", "", title).rstrip(":").split()).casefold()


def count_tokens(text: str) -> int:
    """A conservative count: at least what common BPE tokenizers give on English Markdown.

    A run of letters counts one token per started five letters, every digit and every other
    visible character one (characters beyond ASCII two), every line end and every run of spaces
    one. Single spaces merge into the word behind them. Against SmolLM2's tokenizer it gave 1.09
    to 1.63 times as many on Markdown, code and 223 recorded skill edits, never fewer.
    """
    lines = text.split("\n")
    return sum(map(_line_cost, lines)) + len(lines) - 1


@lru_cache(maxsize=65536)  # a patch is tried edit by edit: most lines come back every time
def _line_cost(line: str) -> int:
    cost = 0
    for piece in _PIECES.findall(line):
        if not piece[0].isascii():
            cost += 2
        else:
            cost += -(-len(piece) // 5) if piece[0].isalpha() else 1
    return cost


def parse_header(header: str) -> tuple[dict[str, str | dict[str, str]], str, bool]:
    """Return values, a complaint ("" for none), and whether it is YAML that clients read.

    Text that is no YAML (such as an unquoted colon in the description) is read line by line as
    Gemini CLI does; other clients drop the skill.
    """
    from harness.core import parse_yaml  # `compress` counts tokens here and reads no YAML

    inner = header.partition("\n")[2].removesuffix("\n").rpartition("\n")[0]
    try:
        loaded: Any = parse_yaml(inner, as_text=True)
    except ValueError as error:
        why = f"no valid YAML ({error}), so that clients drop the skill: quote values that hold"
        return _by_line(inner), f"{why} ': ' or begin with a sign; read line by line here", False
    if loaded is None or loaded == "":
        return {}, "the frontmatter is empty", False
    if not isinstance(loaded, dict):
        return _by_line(inner), "expected a YAML mapping; read line by line here", False
    values: dict[str, str | dict[str, str]] = {}
    complaint = ""
    for key, value in cast(dict[Any, Any], loaded).items():
        if isinstance(value, dict):
            pairs = cast(dict[Any, Any], value)
            values[str(key)] = {str(name): _scalar(item) for name, item in pairs.items()}
            if any(isinstance(item, dict | list) for item in pairs.values()):
                complaint = f"{key!r} is nested: clients expect a map of text"
        elif isinstance(value, list):
            values[str(key)] = " ".join(map(_scalar, cast(list[Any], value)))
            complaint = f"{key!r} is a list: clients expect one space-separated string"
        else:
            values[str(key)] = str(value)
    return values, complaint, True


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _by_line(inner: str) -> dict[str, str | dict[str, str]]:
    values: dict[str, list[str]] = {}
    last = ""
    for line in inner.split("\n"):
        if match := _LINE.match(line):
            last = match.group(1)
            values[last] = [match.group(2).strip().strip("\"'").lstrip(">|-").strip()]
        elif last and line[:1] in " \t":
            values[last].append(line.strip())
    return {name: " ".join(filter(None, parts)) for name, parts in values.items()}


def render_header(values: Frontmatter) -> str:
    """The strict form of the frontmatter, with both `---` lines.

    Raises:
        BadInput: if a value holds what some client cannot read (`---`, control characters).
    """
    lines = ["---"]
    order = {key: position for position, key in enumerate(KEYS)}
    for key in sorted(values, key=lambda key: (order.get(key, 99), key)):
        value = values[key]
        if not isinstance(value, Mapping):
            lines.append(_entry(key, value))
        elif value:
            lines.append(f"{_checked_key(key)}:")
            lines += [f"  {_entry(name, text)}" for name, text in sorted(value.items())]
    return "\n".join([*lines, "---", ""])


def header_text(text: str) -> str:
    """A generated text in one line that a value of the frontmatter may hold.

    Control characters, `<`, `>` and the delimiter rows of tables, which :func:`render_header` or a
    client refuses, are left out.
    """
    cleaned = "".join(char if char.isprintable() and char not in "<>" else " " for char in text)
    return " ".join(re.sub(r"[|:\s-]*---[|:\s-]*", " ", cleaned).split())


def _checked_key(key: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w./-]*", key) or "---" in key:
        raise BadInput(f"expected a plain key in the frontmatter, got {key!r}")
    return key


def _entry(key: str, value: str) -> str:
    flat = re.sub(r"\s*\n\s*", " ", value).strip()
    if "---" in flat:
        raise BadInput(f"{key!r} holds '---', which some clients take for the end: reword it")
    if any(not char.isprintable() for char in flat):
        raise BadInput(f"{key!r} holds control characters: remove them")
    return f"{_checked_key(key)}: {json.dumps(flat, ensure_ascii=False)}"
