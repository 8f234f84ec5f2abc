"""Documents to units: JSON records, table rows, blocks of code, and parts of prose.

A sentence is never cut inside an atom: a number with its unit, an identifier, or a negation with
the words that it negates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import Literal, NamedTuple, cast

from harness.rag.compress.markers import marker_spans
from harness.rag.compress.types import Choice, Granularity, Unit
from harness.rag.retrieve import Document, identify_language, sentence_spans, stripped

_WITHIN = r"(?:[ \t\u00a0\u202f]{1,2})"
_GAP = r"(?:[ \t\u00a0\u202f]{1,2}|[ \t]?\n[ \t]*(?=\S))"  # a word may follow on the next line
_UNITS = (
    "[ap]\\.m\\.?|%|‰|°[CF]?|percent|per cent|pp|bps|bn|billions?|millions?|thousands?|"
    "trillions?|dozen|[kMGTP]i?B|bytes?|bits?|[kMG]?bit/s|[kMG]?Hz|[kMGm]?W|[kMG]?Wh|[km]?V|m?A|[mkMG]?Pa|[kM]?J|"
    "kcal|cal|mol|[mµμun]?mol(?:/L)?|[kmµμun]?g(?:/(?:dL|mL|L|kg))?|[kcmµμun]?m(?:/s|[²³23])?|"
    "[mµμcdh]?[lL]|km/h|mph|ha|ft|in|inch(?:es)?|miles?|feet|lbs?|oz|tons?|tonnes?|"
    "[mµμun]?s|sec(?:onds?)?|min(?:utes?)?|h|hours?|hrs?|days?|weeks?|months?|years?|yrs?|"
    "tokens?|times|fold|USD|EUR|GBP|CNY|JPY|dollars?|euros?|[x×]|[ap]m"  # noqa: RUF001
)
_NUMBER = r"[-+±~≈<>≤≥]?[$€£¥#]?\d[\d\u00a0\u202f]*(?:[.,:/'’]\d+)*(?:[eE][-+]?\d+)?"  # noqa: RUF001
_IDENTIFIER = r"[\w$@#]+(?:(?:[-./:\\+&=~@?%]|::|->)[\w$@#]+)+|\w+\(\)"
_NEGATION = (
    r"(?:not|no|never|none|nor|neither|without|cannot|can't|won't|\w+n['’]t|hardly|scarcely|"  # noqa: RUF001
    r"barely|kein\w*|nicht|ohne|nie|pas|sans|jamais|sin|nunca|non|senza|não|sem)"
)
_FILLER = r"(?:the|a|an|any|all|at|so|very|yet|been|be|to|have|of|in|as|much|more|longer)"


def _patterns(gap: str) -> re.Pattern[str]:
    number = rf"{_NUMBER}(?:{gap}?(?:-|–|to|and|±|of|x|×){gap}?{_NUMBER}){{0,3}}"  # noqa: RUF001
    quantity = rf"(?:[A-Z]{{2,3}}{gap})?{number}(?:(?:{gap}|-)?(?:{_UNITS})(?!\w))*"
    negated = rf"{_NEGATION}(?:{gap}{_FILLER}){{0,4}}{gap}(?:{_IDENTIFIER}|{quantity}|[\w'’-]+)"  # noqa: RUF001
    cjk = r"[不没未非无沒無][\u4e00-\u9fff]{1,2}"
    url = r"[a-z]+://[^\s<>\"]+"
    return re.compile(
        rf"{url}|(?<!\w){negated}|(?<![\w]){_IDENTIFIER}(?!\w)|(?<![\w.]){quantity}|{cjk}|\w+",
        re.IGNORECASE,
    )


_WITHIN_LINES = _patterns(_WITHIN)
_ACROSS_LINES = _patterns(_GAP)


def atoms(text: str, *, across_lines: bool = False) -> Iterator[tuple[int, int]]:
    """Spans that are kept or left out whole, in order, disjoint; plain words among them.

    Args:
        text: any text.
        across_lines: whether a unit of measure or a negated word may stand on the next line (in
            wrapped prose; never in tables, where lines are records).
    """
    pattern = _ACROSS_LINES if across_lines else _WITHIN_LINES
    return (match.span() for match in pattern.finditer(text))


def closed_over_atoms(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans`, joined wherever a boundary between two of them would split an atom.

    Only the text around each boundary is read, so that the cost is that of the boundaries.
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and _splits_atom(text, joined[-1][1], start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


_NEAR = 80
_MAY_GO_ON = re.compile(r"[\w%°$€£¥#'’]")  # noqa: RUF001  # an atom's parts before a space


def _splits_atom(text: str, end: int, start: int) -> bool:
    between = text[end:start]
    if "\n" in between or len(between) > 2 or (between and not _MAY_GO_ON.match(text[end - 1])):
        return False
    begin = max(0, end - _NEAR)
    if begin:  # begin at a word, or half a word would be read as one
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        space = text.find(" ", begin, end)
        begin = space + 1 if space >= 0 else begin
    near = text[begin : start + _NEAR]
    return any(a + begin < end and b + begin > start for a, b in atoms(near))


LONGEST = 1500
"""Characters from which what looks like a sentence is taken line by line."""
_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+")


def prose_spans(text: str, granularity: Granularity, language: str | None) -> list[tuple[int, int]]:
    """Spans of `text` at word, sentence or paragraph granularity."""
    if granularity == "word":
        pairs = list(_words(text))
    elif granularity == "paragraph":
        breaks = [offset for match in _BREAK.finditer(text) for offset in match.span()]
        bounds = [0, *breaks, len(text)]
        pairs = list(zip(bounds[::2], bounds[1::2], strict=True))
    else:
        spans = closed_over_atoms(text, sentence_spans(text, language))
        return [part for span in spans for part in _lines_of_long(text, *span)]
    return [span for pair in pairs if (span := stripped(text, *pair))]


def _lines_of_long(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The lines of what is too long for a sentence, as those of a log without full stops."""
    if end - start <= LONGEST:
        return [(start, end)]
    lines = (match.span() for match in _LINE.finditer(text, start, end))
    return [span for line in lines if (span := stripped(text, *line))]


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Atoms; the text between two goes to the first up to the last space, then to the second."""
    begin = 0
    for (_, end), (following, _) in pairwise(atoms(text, across_lines=True)):
        between = text[end:following]
        space = max(between.rfind(mark) for mark in " \t\n\r\u00a0\u3000") + 1
        middle = end + space if space else following
        yield begin, middle
        begin = middle
    yield begin, len(text)


# Characters up to which a JSON value stays one record; a larger array or object is entered.
LARGEST = 1500
_LANGUAGES = (
    "py js ts tsx jsx java c h cc cpp hpp rs go rb php sh sql swift kt scala cs r lua toml yaml "
    "yml ini css"
)
CODE_SUFFIXES = frozenset(f".{suffix}" for suffix in _LANGUAGES.split())
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_PIPES = re.compile(r"(?:^[ \t]*\|[^\n]*\|[ \t]*(?:\n|\Z)){2,}", re.M)
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_DELIMITERS = ",\t;|"
_TIME = re.compile(
    r"[\[(<]?(?:\w{3},? )?(?:\d{2,4}[-/.]\d\d[-/.]\d{2,4}|\w{3} [ \d]\d|\d\d)[T ,:]+\d\d:\d\d|"
    r"[\[(<]?[ ]*\d+\.\d{3,}[\])>: ]"
)
_FEWEST_LINES = 4
_TOP_LEVEL = re.compile(r"\n[ \t]*\n+(?=\S)(?![)\]}]|else\b|except\b|finally\b|elif\b)")
_RULE = re.compile(r"^[\s|:+=-]+$")
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def segment(
    document: Document, granularity: Choice = "auto", language: str | None = None
) -> list[Unit]:
    """Units of a document in order, disjoint; they cover its visible text but for old markers.

    Args:
        document: parsed; headings become the `heading` of units.
        granularity: `auto` gives JSON records, table rows, blocks of code, and sentences
            elsewhere; `row`, `record` and `code` ask for that structure where it is there.
        language: ISO 639-1 code; default: identified once for the document.
    """
    language = language or identify_language(document.text) or "en"
    units: list[Unit] = []
    offset = 0
    for start, end in [*marker_spans(document.text), (len(document.text),) * 2]:
        part = Document(document.id, document.text[offset:start])
        for unit in _units(part, granularity, language):
            moved = moved_by(unit, offset)
            heading = unit.heading or " > ".join(document.headings_at(moved.start))
            units.append(replace(moved, heading=heading) if heading else moved)
        offset = end
    return units


def moved_by(unit: Unit, offset: int) -> Unit:
    """The unit of a stretch of a document, its offsets moved by the start of the stretch."""
    if not offset:
        return unit
    header = (unit.header[0] + offset, unit.header[1] + offset) if unit.header else None
    return replace(unit, start=unit.start + offset, end=unit.end + offset, header=header)


def _units(document: Document, granularity: Choice, language: str) -> Iterator[Unit]:
    doc, text = document.id, document.text
    if granularity in ("auto", "record"):
        records = _json_records(text)
        if records:
            for start, end, path in records:
                yield Unit(doc, start, end, text[start:end], "record", path)
            return
    prose: Granularity = "sentence"
    if granularity in ("word", "sentence", "paragraph"):
        prose, blocks = granularity, [Block(0, len(text), "prose")]
    elif PurePath(doc).suffix.lower() in CODE_SUFFIXES or granularity == "code":
        blocks = [Block(0, len(text), "code")]
    elif granularity == "row" and "```" not in text and "|" not in text:
        blocks = [Block(0, len(text), "row")]
    else:
        blocks = _blocks(text)
    for block in blocks:
        part = text[block.start : block.end]
        kind: Granularity = prose if block.kind == "prose" else block.kind
        header: tuple[int, int] | None = None
        if block.kind == "row":
            spans, header = _table_rows(part)
        elif block.kind == "code":
            spans = _code_blocks(part)
        else:
            spans = prose_spans(part, prose, language)
        heading = part[slice(*header)] if header else ""
        for span in spans:
            needed = None if span == header else header
            unit = Unit(doc, *span, part[slice(*span)], kind, heading, needed)
            yield moved_by(unit, block.start)


class Block(NamedTuple):
    """A stretch `text[start:end]` of one kind: rows of a table, code, or prose."""

    start: int
    end: int
    kind: Literal["row", "code", "prose"]


def _blocks(text: str) -> list[Block]:
    """Blocks of fenced code, tables and prose that cover `text` without overlap."""
    if _is_separated(text):
        return [Block(0, len(text), "row")]
    marked = [Block(*match.span(), "code") for match in _FENCE.finditer(text)]
    for match in _PIPES.finditer(text):
        if not any(block.start < match.end() and match.start() < block.end for block in marked):
            marked.append(Block(*match.span(), "row"))
    blocks: list[Block] = []
    offset = 0
    for block in [*sorted(marked), Block(len(text), len(text), "prose")]:
        if block.start > offset:
            blocks.append(Block(offset, block.start, "prose"))
        blocks.append(block)
        offset = block.end
    return blocks[:-1]


def _is_separated(text: str) -> bool:
    """Return True if most lines begin with a time, as those of a log do, or every line has equally
    many of one delimiter, outside double quotes."""
    lines = [line for line in text[:20_000].split("\n") if line.strip()]
    lines = lines[:-1] if len(text) > 20_000 else lines
    if len(lines) < _FEWEST_LINES:
        return False
    if 2 * sum(_TIME.match(line) is not None for line in lines) > len(lines):
        return True
    for delimiter in _DELIMITERS:
        counts = {re.sub(r'"[^"]*"', "", line).count(delimiter) for line in lines}
        # Prose has commas too: cells of a comma-separated table are short and unlike sentences.
        spaced = sum(", " in line for line in lines) if delimiter == "," else 0
        if len(counts) == 1 and counts != {0} and spaced < len(lines) / 2:
            return True
    return False


def _table_rows(text: str) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
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


def _code_blocks(text: str) -> list[tuple[int, int]]:
    """Stretches between lines at the left margin that follow a blank line: top-level statements."""
    starts = [0, *(match.end() for match in _TOP_LEVEL.finditer(text))]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end].rstrip()
        begin = len(part) - len(part.lstrip("\r\n"))  # blank lines; an indent is part of the code
        if part.strip():
            spans.append((start + begin, start + len(part)))
    return spans


class Record(NamedTuple):
    """One array item, object member or JSON line.

    Attributes:
        start: first character.
        end: character behind the last one, a comma behind it included.
        path: of the array or object that holds it (`$.items`).
    """

    start: int
    end: int
    path: str


def _json_records(text: str) -> list[Record]:
    """Records of a JSON document or of JSON lines; none where `text` is neither."""
    start = _skip(text, 0)
    if text[start : start + 1] not in ("{", "["):
        return []
    try:
        _, end = _DECODER.raw_decode(text, start)
        if _skip(text, end) == len(text):
            return _descend(text, start, end, "$") if end - start > 2 else []
        lines = [match for match in re.finditer(r"[^\r\n]+", text) if match[0].strip()]
        for line in lines:
            json.loads(line[0].strip())
    except (ValueError, RecursionError):
        return []
    return [Record(*line.span(), "$lines") for line in lines] if len(lines) > 1 else []


def _descend(text: str, start: int, end: int, path: str) -> list[Record]:
    """Records of the array or object in `text[start:end]`, brackets of it included.

    Each member is one record, or, where it is large or an array of objects, its own records.
    Brackets, and names of members that were entered, belong to the first record inside or, closing
    ones, to the last.
    """
    records: list[Record] = []
    offset, number = _skip(text, start + 1), 0
    while offset < end - 1:
        begin, name = offset, f"[{number}]"
        if text[start] == "{":
            key, offset = _DECODER.raw_decode(text, offset)
            offset = _skip(text, _skip(text, offset) + 1)
            name = f".{key}"
        _, value_end = _DECODER.raw_decode(text, offset)
        value = text[offset:value_end]
        comma = _skip(text, value_end)
        member_end = comma + 1 if text[comma : comma + 1] == "," else value_end
        is_list = re.match(r"\[\s*[\[{]", value) is not None
        inner = [Record(begin, member_end, path)]
        if value[0] in "{[" and len(value) > 2 and (len(value) > LARGEST or is_list):
            inner = _descend(text, offset, value_end, path + name)
        records += _widened(inner, begin, member_end)
        offset, number = _skip(text, member_end), number + 1
    return _widened(records or [Record(start, end, path)], start, end)


def _widened(records: list[Record], start: int, end: int) -> list[Record]:
    """The records with the text before the first and behind the last one, up to these places."""
    records[0] = records[0]._replace(start=start)
    records[-1] = records[-1]._replace(end=max(end, records[-1].end))
    return records


def _skip(text: str, offset: int) -> int:
    """The first place from here on that is no JSON white space."""
    return cast("re.Match[str]", _BLANKS.match(text, offset)).end()
