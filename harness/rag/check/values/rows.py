"""Sentences about the rows of a table: each value against the cell of its row and its column.

"The Lancer deals 84 damage with a headshot multiplier of 1.5": rows and columns are found by their
labels, and a value belongs to the labels that stand next to it, in the order of the sentence. A
column that is not named is known by its unit, or is one that no other value belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.rag.check.numbers import (
    CODES,
    Agreement,
    Mention,
    Period,
    Quantity,
    Source,
    Table,
    TableRow,
    agreement,
    coverage,
    fit,
    read,
    words,
)
from harness.rag.check.types import Finding, Verdict
from harness.rag.check.values.alignment import (
    MOST,
    Mark,
    assign,
    gap,
    label_marks,
)
from harness.rag.check.values.totals import body_of, counts_rows, difference_states, sum_states

_LISTED = re.compile(r"(?:[\s,&]|\b(?:and|or|the|both)\b)*", re.IGNORECASE)
_TOGETHER = re.compile(r"\b(?:both|each|all|same|shared?|equal(?:ly)?)\b", re.IGNORECASE)
_MORE = "high|larg|great|long|old|heavi|big|tall|fast|strong|wid|deep|hot|rich|lat"
_LESS = "low|small|short|young|light|few|cheap|slow|weak|narrow|shallow|cold|poor|earli"
_COMPARED = re.compile(
    r"(?<!\bat )(?:\b(?P<rank>second|third|fourth)[ -])?\b(?:"
    rf"(?P<more>(?:{_MORE})[gt]?(?:er|est)|more|most(?! of\b)|max(?:imum)?)"
    rf"|(?P<less>(?:{_LESS})[gt]?(?:er|est)|less|least|min(?:imum)?))\b"
    r"(?P<dear> expensive| costly)?",
    re.IGNORECASE,
)
_RANKS = {"": 0, "second": 1, "third": 2, "fourth": 3}


class Item(NamedTuple):
    """A place of a sentence that speaks of a table, with the verdict on it."""

    start: int
    end: int
    finding: Finding


def items_of(sentence: str, sources: Sequence[Source]) -> list[Item]:
    """Verdicts on values, names and comparisons of a sentence, by the tables whose rows it names
    best; empty where none has such rows."""
    tables = [(source, table) for source in sources for table in source.tables]
    aligned = [_Aligned(sentence, table, source) for source, table in tables]
    readings = [(beside, items) for beside in aligned if (items := list(beside.items()))]
    best = max((beside.named for beside, _ in readings), default=0)
    return [
        item
        for beside, items in readings
        if beside.named == best and not any(beside.is_part_of(other) for other in aligned)
        for item in items
    ]


class _Aligned:
    """A sentence beside a table."""

    def __init__(self, sentence: str, table: Table, source: Source) -> None:
        self.sentence, self.table, self.source = sentence, table, source
        mentions = read(sentence)
        self.periods = [mention for mention in mentions if isinstance(mention, Period)]
        rows = {n: row.fields[table.key].text for n, row in enumerate(table.rows)}
        sections = [
            frozenset[str]().union(*(words(cell.section) for cell in row.cells.values()))
            for row in table.rows
        ]
        self.rows = label_marks(sentence, rows, (), sections) or self._aliases()
        self.sub_rows = self._sub_rows()
        spoken = words(sentence)
        labels = [words(rows[n]) for mark in self.rows for group in mark.named for n in group]
        self.named = max((coverage(label, spoken) or 1 for label in labels), default=0)
        heads = {n: head for n, head in enumerate(table.heads) if n != table.key}
        self.columns = label_marks(sentence, heads, [*self.rows, *self.sub_rows])
        used = [*self.rows, *self.sub_rows, *self.columns]
        self.values = [
            value
            for value in mentions
            if not any(value.start < mark.end and mark.start < value.end for mark in used)
            and not (isinstance(value, Quantity) and value.unit[:1] == "#")
        ]

    def is_part_of(self, other: _Aligned) -> bool:
        """Return True if another table has this one's rows as columns, and rows that this has not
        at all."""
        rows, columns, other_rows, other_columns = (
            {start for mark in marks for start in range(mark.start, mark.end)}
            for marks in (self.rows, self.columns, other.rows, other.columns)
        )
        return rows <= other_columns and not other_rows <= rows | columns

    def _aliases(self) -> list[Mark]:
        """Rows that a cell names: the region of a manager."""
        rows = self.table.rows
        for column in range(len(self.table.heads)):
            texts = {row.fields[column].text: number for number, row in enumerate(rows)}
            spans = [
                Mark(*match.span(), (frozenset({number}),))
                for text, number in texts.items()
                for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", self.sentence)
            ]
            if spans and len(texts) == len(rows) and not any(row.value(column) for row in rows):
                return sorted(spans)
        return []

    def _sub_rows(self) -> list[Mark]:
        """Cells that tell rows of one label apart: North, 2023."""
        rows = self.table.rows
        for alike in (numbers for mark in self.rows for numbers in mark.named if len(numbers) > 1):
            for column in range(len(self.table.heads)):
                texts = {n: rows[n].fields[column].text for n in alike}
                if column != self.table.key and len(set(texts.values())) == len(alike):
                    all_texts = {n: row.fields[column].text for n, row in enumerate(rows)}
                    return label_marks(self.sentence, all_texts, self.rows)
        return []

    def items(self) -> Iterator[Item]:
        """Verdicts in the order in which they are reached; none where more than half of no row's
        label is named, and no column."""
        heading = words(self.table.heads[self.table.key])
        if self.named <= 0.5 and not self.columns and not heading & words(self.sentence):
            return
        compared, extremes = list(_COMPARED.finditer(self.sentence)), list[Item]()
        for match in compared:
            word = (match["more"] or match["less"]).lower()
            if word.endswith("st") or word.startswith(("max", "min")):
                extremes += self._extreme(match)
            else:
                yield from self._comparison(match)
        stated = list(self._computed())
        if self.rows:
            stated += [*extremes, *self._texts(), *self._cells()]
        yield from stated
        row = self.table.rows[min(self.rows[0].named[0]) if self.rows else 0]
        for mark in (*self.rows, *self.sub_rows, *self.columns) if stated else ():
            text = self.sentence[mark.start : mark.end]
            yield self._item(mark.start, mark.end, True, row, text)

    def _computed(self) -> Iterator[Item]:
        """Sums of rows, and how many rows there are; no cell states those values."""
        named = [group for mark in self.rows for group in mark.named]
        for value in list(self.values):
            heads = sorted({n for mark in self.columns for group in mark.named for n in group})
            columns = heads or set(range(len(self.table.heads))) - {self.table.key}
            columns = [column for column in columns if not self._differs(value, column)]
            right = counts_rows(value, self.sentence, self.table) or sum_states(
                value, self.sentence, self.table, named, columns
            )
            if right is not None:
                self.values.remove(value)
                yield self._item(value.start, value.end, right, self.table.rows[0], value.text)

    def _cells(self) -> Iterator[Item]:
        """Values, each against the cell of the row and the column that it belongs to."""
        values = self.values[:MOST]
        rows = assign(values, self._grouped(values), self.sentence)
        sub_rows = assign(values, self.sub_rows, self.sentence)
        columns = assign(
            values,
            self.columns,
            self.sentence,
            lambda value, mark: all(self._differs(value, column) for column in mark.named[0]),
        )
        owners: dict[tuple[object, ...], int] = {}
        for index, column in enumerate(columns):  # one value for each cell, the closest
            if column is not None:
                cell = (rows[index], sub_rows[index], column.named)
                owner = owners.setdefault(cell, index)
                gaps = [gap(values[n], column, self.sentence) for n in (owner, index)]
                if owner != index:
                    columns[owner if gaps[1] < gaps[0] else index] = None
                    owners[cell] = index if gaps[1] < gaps[0] else owner
        for value, row, sub_row, column in zip(values, rows, sub_rows, columns, strict=True):
            if row is None:
                continue
            within = [
                [self.table.rows[n] for n in numbers if sub_row is None or n in sub_row.named[0]]
                for numbers in row.named
            ]
            candidates = frozenset[int]() if column is None else column.named[0]
            if not candidates:
                used = {n for mark in columns if mark for n in mark.named[0]}
                candidates = frozenset(range(len(self.table.heads))) - used - {self.table.key}
                candidates = frozenset(n for n in candidates if not self._differs(value, n))
            right, quoted = self._stated(value, within, candidates)
            has_unit = len(candidates) == 1 and getattr(value, "unit", "")
            sure = column or has_unit or self._stated(value, [self.table.rows], candidates)[0]
            if right or (sure and all(within)):
                yield self._item(value.start, value.end, right, quoted, value.text)

    def _stated(
        self, value: Mention, rows: Sequence[Sequence[TableRow]], columns: Iterable[int]
    ) -> tuple[bool, TableRow]:
        """Return whether a row of each group states a value in a column, and a row to be quoted."""
        columns = sorted(columns)
        for group in rows:
            if not any(
                row.states(value, column)
                for row in group
                for column in columns
                if column not in row.cells
                or fit(self.periods, row.cells[column].periods) is not Agreement.DIFFERENT
            ):
                return False, group[0] if group else self.table.rows[0]
        return True, rows[0][0]

    def _grouped(self, values: Sequence[object]) -> list[Mark]:
        """Marks of rows; those of a list as one where every value is of all its members."""
        together = _TOGETHER.search(self.sentence) or len(self.columns) == len(values) > 1
        marks: list[Mark] = self.rows[:1]
        for last, mark in pairwise(self.rows):
            listed = _LISTED.fullmatch(self.sentence, last.end, mark.start)
            if listed and (together or len(values) < len(self.rows)):
                marks[-1] = Mark(marks[-1].start, mark.end, (*marks[-1].named, *mark.named))
            else:
                marks.append(mark)
        return marks[:MOST]

    def _kinds(self, column: int) -> list[Mention]:
        """Values of a column, of the rows that are named."""
        numbers = sorted({n for mark in self.rows for group in mark.named for n in group})
        rows = [self.table.rows[n] for n in numbers] or self.table.rows
        return [value for row in rows if (value := row.value(column))]

    def _differs(self, value: Mention, column: int) -> bool:
        """Return True if values of a column are of another kind or unit."""
        kinds = self._kinds(column)
        if isinstance(value, Period) and value.text.isdigit():  # a year that may be no year there
            return not any(isinstance(kind, Period) or not kind.unit for kind in kinds)
        unit = getattr(value, "unit", "")
        money = unit in CODES and any(getattr(kind, "unit", "") in CODES for kind in kinds)
        if not money and all(agreement(value, kind) is Agreement.INCOMPARABLE for kind in kinds):
            return True
        columns = range(len(self.table.heads)) if unit else ()
        same = [n for n in columns if any(getattr(k, "unit", "") == unit for k in self._kinds(n))]
        return bool(same) and column not in same

    def _texts(self) -> Iterator[Item]:
        """Words of cells, each against the row that it is said of."""
        fields = {
            field.text
            for row in self.table.rows
            for column, field in enumerate(row.fields)
            if column != self.table.key and row.value(column) is None and words(field.text)
        }
        used = [*self.rows, *self.sub_rows, *self.columns]
        spans = sorted(
            Mark(match.start(), match.end(), ())
            for text in fields
            for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", self.sentence)
            if not any(mark.start < match.end() and match.start() < mark.end for mark in used)
        )
        rows = assign(spans[:MOST], self._grouped(spans), self.sentence)
        for span, mark in zip(spans, rows, strict=False):
            text = self.sentence[span.start : span.end]
            groups = [[self.table.rows[n] for n in group] for group in mark.named] if mark else []
            lacking = [
                group
                for group in groups
                if not any(text == field.text for row in group for field in row.fields)
            ]
            if groups:
                row = (lacking or groups)[0][0]
                yield self._item(span.start, span.end, not lacking, row, text)

    def _meant(self, match: re.Match[str]) -> list[int]:
        """Columns that a comparison is of, the closest ones that are named first."""
        kinds = {n: self._kinds(n) for n in range(len(self.table.heads))}
        columns = [n for n, values in kinds.items() if any(isinstance(v, Quantity) for v in values)]
        closest = min(self.columns, key=lambda m: gap(match, m, self.sentence), default=None)
        if match["dear"] or "cheap" in match[0].lower():
            prices = [n for n in columns if any(getattr(v, "unit", "") in CODES for v in kinds[n])]
            return prices or columns
        if closest is not None:
            return [n for n in sorted(closest.named[0]) if kinds[n]]
        fitting = (
            [n for n in columns if any(row.states(value, n) for row in self.table.rows)]
            for value in self.values
        )
        return next(filter(None, fitting), columns)

    def _ordered(self, column: int, match: re.Match[str]) -> list[tuple[float, int]]:
        """Rows by a column, with a sign by which the first of them is what the word says."""
        values = ((n, self.table.rows[n].value(column)) for n in body_of(self.table))
        sizes = [
            (float(value.value if isinstance(value, Quantity) else value.year or 0), n)
            for n, value in values
            if value is not None
        ]
        aged = re.match("old|young", match[0], re.IGNORECASE)
        born = aged and all(1000 < size < 2200 for size, _ in sizes)  # or founded
        sign = 1 if bool(match["more"]) is bool(born) else -1
        return sorted((sign * size, n) for size, n in sizes)

    def _extreme(self, match: re.Match[str]) -> list[Item]:
        """A superlative of the row beside it; of a value alone, that row is what is named."""
        best = set[int]()
        for column in self._meant(match):
            ordered = self._ordered(column, match)
            sizes = sorted({size for size, _ in ordered})
            rank = _RANKS[(match["rank"] or "").lower()]
            best |= {n for size, n in ordered if rank < len(sizes) and size == sizes[rank]}
        if not best:
            return []
        if not self.rows:
            self.rows = [Mark(*match.span(), (frozenset(best),))]
            return []
        mark = min(self.rows, key=lambda mark: gap(match, mark, self.sentence))
        right = any(group & best for group in mark.named)
        row = self.table.rows[min(best)]
        return [self._item(*match.span(), right, row, match[0])]

    def _comparison(self, match: re.Match[str]) -> Iterator[Item]:
        """Two rows around "than"; by how much they differ is computed as any other value is."""
        than = self.sentence.find("than", match.end())
        before = [mark for mark in self.rows if mark.end <= max(than, 0)]
        behind = [mark for mark in self.rows if mark.start >= than >= 0]
        if not before or not behind:
            return
        first, second = before[-1].named[0], behind[0].named[0]
        for value in list(self.values):
            pairs = [
                (self.table.rows[a].value(column), self.table.rows[b].value(column))
                for column in self._meant(match)
                for a in first
                for b in second
            ]
            if (differs := difference_states(value, match, pairs)) is not None:
                self.values.remove(value)
                row = self.table.rows[min(first)]
                yield self._item(value.start, value.end, differs, row, value.text)
        right = any(
            a < b
            for column in self._meant(match)
            for a, n in self._ordered(column, match)
            for b, m in self._ordered(column, match)
            if n in first and m in second
        )
        yield self._item(*match.span(), right, self.table.rows[min(first)], match[0])

    def _item(self, start: int, end: int, right: bool, row: TableRow, text: str) -> Item:
        verdict = Verdict.SUPPORTED if right else Verdict.CONTRADICTED
        reason = f"row {row.fields[self.table.key].text!r} {'has' if right else 'denies'} {text!r}"
        return Item(start, end, self.source.finding(verdict, [row.span], reason, 0.9))
