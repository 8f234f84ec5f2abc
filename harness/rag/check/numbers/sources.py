"""Documents as the numeric engine reads them: cells of tables, and sentences with their values.

Rows of a table are lines of cells divided by `|` or a tab, as Markdown, our own parsers and most
exports write them. The scale that a corner or heading states ("$ in millions") belongs to every
cell.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from harness.rag.check.numbers.digits import DecimalMark, decimal_mark, words
from harness.rag.check.numbers.periods import Agreement, Period
from harness.rag.check.numbers.qualifiers import scaled
from harness.rag.check.numbers.quantities import (
    Mention,
    Quantity,
    agreement,
    currency_in,
    scale_of,
)
from harness.rag.check.numbers.reading import read, sentences
from harness.rag.check.types import Evidence, Finding, Verdict
from harness.rag.retrieve import Document

_RULER = re.compile(r"[\s|:+=-]*")
_ANNOUNCED = re.compile(
    r"(?i)\bin (?:[a-z$.]+ )?(?:thousand|million|billion)s\b(?! of (?!dollars|euros|pounds|u\.?s))"
)
_EXCEPT = re.compile(r"(?i)\b(?:except|other than|unless)\b[^|)]*")
_PERCENT = re.compile(rf"{_EXCEPT.pattern}|%|percent")
_BRACKETS = re.compile(r"\([^()]*\)")
_EMPTY = frozenset(("", "n/a", "nm", "n.m.", "na", "*"))
_DASH = re.compile(r"[$\u20ac\u00a3]?\s?[-\u2013\u2014]\s?%?")
_TOTAL = frozenset(("total",))
_CODE = re.compile(r"[A-Za-z]{0,4}[-_./]?\d[\w./-]*")


@dataclass(frozen=True)
class Cell:
    """One value of a table.

    Attributes:
        value: with the table's scale and currency where the cell has none of its own.
        plain: as it stands in the cell.
        start: first character in the document.
        end: character behind the last one.
        row: label of its row.
        column: labels above it, from the top, joined by a space.
        section: label of the rows it belongs to, or "".
        table: number of its table in the document.
        place: (row, column) in the table.
    """

    value: Quantity
    plain: Quantity
    start: int
    end: int
    row: str
    column: str
    section: str
    table: int
    place: tuple[int, int]

    @property
    def label(self) -> str:
        """Row and column, as a reader finds them."""
        return f"{self.row!r}, column {self.column!r}" if self.column else repr(self.row)

    @cached_property
    def row_words(self) -> frozenset[str]:
        """Content words of its row's label without brackets; of its column's where the row is a
        period; of the section's, if it has none, or "total" of a row without any label."""
        label = _BRACKETS.sub("", _BRACKETS.sub("", self.row))
        of_row = words(label) or words(self.row)
        if not of_row and _periods(read(self.row)):
            of_row = words(self.column)
        return of_row or words(self.section) or (frozenset() if self.row else _TOTAL)

    @property
    def is_total(self) -> bool:
        """Return whether its row sums up others: by its label, or for want of any."""
        return not self.row or "total" in words(self.row)

    @cached_property
    def label_words(self) -> frozenset[str]:
        """Return the words of its labels, those of section and column included."""
        return words(f"{self.row} {self.section} {self.column}")

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """Periods that its labels name."""
        return _periods(read(f"{self.column} ; {self.section} ; {self.row}"))


@dataclass(frozen=True)
class Sentence:
    """A sentence of prose.

    Attributes:
        start: first character in the document.
        end: character behind the last one.
        text: verbatim.
        words: its content words.
        mentions: its values, with offsets of the sentence.
        context: content words of the sentence before it and of the first one, which it may leave
            out.
        topic: those of the first one.
    """

    start: int
    end: int
    text: str
    words: frozenset[str]
    mentions: tuple[Mention, ...]
    context: frozenset[str]
    topic: frozenset[str]

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """Its dates and times."""
        return _periods(self.mentions)


class _Field(NamedTuple):
    """The text of a cell, stripped, and where it begins in the document."""

    text: str
    start: int

    @property
    def filled(self) -> bool:
        """Return whether there is more than a sign of currency."""
        return self.text not in ("", "$", "\u20ac", "\u00a3")


class TableRow(NamedTuple):
    """A row of a table: the text of its fields, and the values of those that have one."""

    fields: Sequence[_Field]
    cells: Mapping[int, Cell]

    @property
    def span(self) -> tuple[int, int]:
        """First character in the document, and the one behind the last."""
        return self.fields[0].start, max(field.start + len(field.text) for field in self.fields)

    def value(self, column: int) -> Mention | None:
        """The value that stands in a column; None where there is text."""
        if column in self.cells:
            return self.cells[column].value
        text = self.fields[column].text
        mentions = read(text)
        return mentions[0] if len(mentions) == 1 and len(mentions[0].text) == len(text) else None

    def states(self, value: Mention, column: int) -> bool:
        """Return True if a column states a value; of a bare one, as it is printed."""
        stated = [self.value(column)]
        if column in self.cells and isinstance(value, Quantity) and value.unit == "":
            stated.append(self.cells[column].plain)
        return any(reading and agreement(value, reading) is Agreement.SAME for reading in stated)


class Table(NamedTuple):
    """A table: headings of its columns, rows, the column whose texts name the rows, and the first
    and last character of the headings in the document."""

    heads: Sequence[str]
    rows: Sequence[TableRow]
    key: int
    top: tuple[int, int]


class Source(NamedTuple):
    """A document with its tables and their cells, and the sentences outside of them."""

    document: Document
    cells: Sequence[Cell]
    sentences: Sequence[Sentence]
    tables: Sequence[Table]

    def line(self, cell: Cell) -> tuple[int, int]:
        """The line of a table up to a cell, labels included."""
        return self.document.text.rfind("\n", 0, cell.start) + 1, cell.end

    def finding(
        self, verdict: Verdict, spans: Iterable[tuple[int, int]], reason: str, confidence: float
    ) -> Finding:
        """A verdict that rests on stretches of the document, quoted verbatim."""
        text, doc = self.document.text, self.document.id
        evidence = tuple(
            Evidence(doc=doc, start=start, end=end, quote=text[start:end])
            for start, end in dict.fromkeys(spans)
        )
        return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=confidence)


def open_sources(documents: Sequence[Document]) -> list[Source]:
    """Read documents; what was read of one is kept for the next check of the same text."""
    return [Source(document, *_read_document(document.text)) for document in documents]


@lru_cache(maxsize=256)
def _read_document(text: str) -> tuple[list[Cell], list[Sentence], list[Table]]:
    tables = list(_tables(text))
    announced = sorted({match[0] for match in _ANNOUNCED.finditer(text)})
    single = len({scale_of(phrase) for phrase in announced}) == 1  # else it is of other tables
    cells = [
        cell
        for number, (rows, lead) in enumerate(tables)
        for cell in _cells(rows, announced[0] if single and not scale_of(lead) else lead, number)
    ]
    prose: list[Sentence] = []
    for start, end in sentences(text):
        if not any(
            rows[0][0].start < end and start < rows[-1][-1].start + len(rows[-1][-1].text)
            for rows, _ in tables
        ):
            sentence = text[start:end]
            topic = prose[0].words if prose else frozenset[str]()
            context = topic | (prose[-1].words if prose else topic)
            prose.append(
                Sentence(
                    start, end, sentence, words(sentence), tuple(read(sentence)), context, topic
                )
            )
    parted = (_by_heads(rows, cells, number) for number, (rows, _) in enumerate(tables))
    return cells, prose, [table for part in parted for table in part]


def _by_heads(rows: list[list[_Field]], cells: Sequence[Cell], number: int) -> Iterator[Table]:
    """The rows of a table; those under headings of their own are another one."""
    depth = _header_depth(rows)
    width = max(map(len, rows))
    columns = _column_heads(rows[:depth])
    heads = [" ".join(row[0].text for row in rows[:depth]).strip()]
    heads += [columns.get(column, "") for column in range(1, width)]
    placed = {cell.place: cell for cell in cells if cell.table == number}
    grouped: dict[tuple[str, ...], list[TableRow]] = defaultdict(list)
    for line, row in enumerate(rows[depth:], start=depth):
        inside = {n: placed[line, n] for n in range(width) if (line, n) in placed}
        for column, cell in inside.items():
            heads[column] = cell.column
        if any(field.filled for field in row[1:]):
            fields = row + [_Field("", row[-1].start)] * (width - len(row))
            grouped[tuple(heads)].append(TableRow(fields, inside))
    top = rows[0][0].start, rows[depth - 1][-1].start + len(rows[depth - 1][-1].text)
    for names, group in grouped.items():
        yield Table(names, group, _label_column([row.fields for row in group]), top)


def _label_column(rows: Sequence[Sequence[_Field]]) -> int:
    """The column whose texts name the rows: the first one of texts, or where those are codes or one
    stands twice, the next one in which none does."""
    labels: dict[int, list[str]] = {}
    for column, fields in enumerate(zip(*rows, strict=False)):
        texts = [field.text for field in fields]
        if all(_is_label(text, column) for text in texts):
            labels[column] = texts
    first = next(iter(labels), 0)
    codes = all(_CODE.fullmatch(text) for text in labels.get(first, []))
    unique = (column for column, texts in labels.items() if len({*texts}) == len(texts))
    return next((column for column in unique if column != first or not codes), first)


def _is_label(text: str, column: int) -> bool:
    """Return True for a text that may name a row: in the first column, any that is no value."""
    if column:
        return bool(words(text)) and not _is_datum(text)
    mentions = read(text)
    return bool(text) and not (len(mentions) == 1 and len(mentions[0].text) == len(text))


def _periods(mentions: Iterable[Mention]) -> tuple[Period, ...]:
    return tuple(mention for mention in mentions if isinstance(mention, Period))


def _tables(text: str) -> Iterator[tuple[list[list[_Field]], str]]:
    """(rows, line above) of every table: two or more lines of cells in a row.

    Rulers are left out, and the outer marks of Markdown.
    """
    lines: list[tuple[str, int]] = []
    above, start = "", 0
    for line in [*text.split("\n"), ""]:
        if "|" in line or "\t" in line:
            if not (_RULER.fullmatch(line) and "--" in line):
                lines.append((line, start))
        else:
            rows = [_fields(row, offset) for row, offset in lines]
            if all(row.strip()[:1] == row.strip()[-1:] == "|" for row, _ in lines):
                rows = [row[1:-1] for row in rows if row[1:-1]]
            if len(rows) > 1:
                yield rows, above
            lines, above = [], line if line.strip() else above
        start += len(line) + 1


def _fields(line: str, start: int) -> list[_Field]:
    fields: list[_Field] = []
    for part in line.split("\t" if "\t" in line else "|"):
        inner = part.strip()
        fields.append(_Field(inner, start + (part.index(inner) if inner else 0)))
        start += len(part) + 1
    return fields


def _cells(rows: list[list[_Field]], lead: str, number: int, top: int = 0) -> Iterator[Cell]:
    depth = _header_depth(rows)
    heads = _column_heads(rows[:depth])
    corner = " ".join(field.text for row in rows[:depth] for field in row)
    general = scale_of(corner) or scale_of(lead)
    if general and not general[1]:
        general = general[0], currency_in(" ".join(field.text for row in rows for field in row[1:]))
    section = ""
    mark = decimal_mark("\n".join(field.text for row in rows for field in row))
    key = _label_column([row for row in rows[depth:] if any(field.filled for field in row[1:])])
    for line, row in enumerate(rows[depth:], start=depth):
        label = row[0].text
        if not any(field.filled for field in row[1:]):
            section = label
            general = scale_of(label) or general
            continue
        if not label and not any(_is_datum(field.text) for field in row[1:] if field.filled):
            above = corner if scale_of(corner) else lead
            yield from _cells(rows[line:], above, number, top + line)  # headings of further rows
            return
        signed = any("%" in field.text and _is_datum(field.text) for field in row[1:])
        label = row[key].text
        left_out = _PERCENT if signed else _EXCEPT  # a row with signs says itself what is percent
        for column, field in enumerate(row):
            head = heads.get(column, "")
            plain = _plain_value(field.text, mark) if column not in (0, key) else None
            if plain is not None:
                hint = scale_of(label) or scale_of(head) or general
                if hint and general and not hint[1]:
                    hint = hint[0], general[1]
                labels = left_out.sub("", f"{label} {head}".lower())
                value = scaled(plain, hint, labels, head, corner)
                end = field.start + len(field.text)
                yield Cell(
                    value,
                    plain,
                    field.start,
                    end,
                    label,
                    head,
                    section,
                    number,
                    (top + line, column),
                )


def _plain_value(text: str, mark: DecimalMark) -> Quantity | None:
    if text.lower() in _EMPTY or ":" in text or text.startswith("="):
        return None  # nothing, or a ratio, clock time or formula
    if _DASH.fullmatch(text):
        return Quantity(Fraction(0), Fraction(0), end=len(text), text=text)
    joined = re.sub(r"([$\u20ac\u00a3\u00a5])(\s+)(?=[\d(])", lambda m: m[2] + m[1], text)
    spaced = re.sub(r"(?<=[\d)])(\s+)%", lambda m: "%" + m[1], joined)
    number = next((value for value in read(spaced, mark) if isinstance(value, Quantity)), None)
    if number is None and re.fullmatch(r"\d{4}", text):  # a number that looks like a year
        number = Quantity(Fraction(int(text)), Fraction(1), end=4)
    return replace(number, text=text) if number else None


def _header_depth(rows: list[list[_Field]]) -> int:
    """Rows at the top whose cells name columns: years, periods, words, currencies."""
    has_names = False
    for depth, row in enumerate(rows[:7]):
        texts = [field.text for field in row[1:] if field.filled]
        years = depth == 0 and all(re.fullmatch(r"\d{4}", text) for text in texts)
        data = [_is_datum(text) for text in texts]
        # "Total | Less than 1 year | 1-3 years"; a letter alone names a row
        titled = not all(data) and len(row[0].text) != 1 and not words(row[0].text)
        if any(data) and not years and not titled:
            return max(depth, 1)
        if has_names and not texts and not scale_of(row[0].text):
            return max(depth, 1)
        has_names = has_names or bool(texts)
    return 1


def _is_datum(text: str) -> bool:
    if text.lower() in _EMPTY or _DASH.fullmatch(text):
        return True
    mentions = () if scale_of(text) else read(text)
    if not mentions or any(isinstance(mention, Period) for mention in mentions):
        return False
    return 2 * sum(mention.end - mention.start for mention in mentions) >= len(text.strip())


def _column_heads(rows: list[list[_Field]]) -> dict[int, str]:
    """Labels of each column; a label above empty cells spans them."""
    width = max((len(row) for row in rows), default=0)
    labels: dict[int, list[str]] = {column: [] for column in range(1, width)}
    for level, row in enumerate(rows):
        filled = [field.text for field in row[1:] if field.filled]
        spans = len(filled) == 1 and level < len(rows) - 1 and _periods(read(filled[0]))
        label = filled[0] if spans else ""
        for column in range(1, width):
            text = row[column].text if column < len(row) else ""
            label = text or (label if level < len(rows) - 1 else "")
            if label:
                labels[column].append(label)
    return {column: " ".join(texts) for column, texts in labels.items()}
