"""Documents as the numeric engine reads them: cells of tables, and sentences with their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from harness.rag.check.numbers.context import words
from harness.rag.check.numbers.reading import read
from harness.rag.check.numbers.tables import Cell, cells, table_spans
from harness.rag.check.numbers.types import Mention, Period, Quantity
from harness.rag.retrieve import Document, sentence_spans


@dataclass(frozen=True)
class Placed:
    """A cell with the words of its labels and the periods they name.

    Attributes:
        doc: position of its document.
        cell: the value.
        row: content words of its row's label; of the section's, where it has none.
        labels: those of section and column as well.
        periods: that its labels name.
    """

    doc: int
    cell: Cell
    row: frozenset[str]
    labels: frozenset[str]
    periods: tuple[Period, ...]


@dataclass(frozen=True)
class Said:
    """A sentence of prose.

    Attributes:
        doc: position of its document.
        start: first character.
        end: character behind the last one.
        words: content words.
        mentions: its values, with offsets of the document.
    """

    doc: int
    start: int
    end: int
    words: frozenset[str]
    mentions: tuple[Mention, ...]

    @property
    def periods(self) -> tuple[Period, ...]:
        """Its dates and times."""
        return tuple(one for one in self.mentions if isinstance(one, Period))

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its numbers."""
        return tuple(one for one in self.mentions if isinstance(one, Quantity))


@dataclass(frozen=True)
class Sources:
    """All documents of a check.

    Attributes:
        documents: as they were given.
        cells: of all their tables.
        sentences: all others of their text.
        each: the same of every document alone.
    """

    documents: tuple[Document, ...]
    cells: tuple[Placed, ...]
    sentences: tuple[Said, ...]
    each: tuple[Sources, ...] = ()


def open_sources(documents: Sequence[Document]) -> Sources:
    """Read documents; what was read of one is kept for the next check of the same text."""
    each: list[Sources] = []
    for at, document in enumerate(documents):
        values, said = _read(document.text)
        placed = tuple(Placed(at, *one) for one in values)
        each.append(Sources(tuple(documents), placed, tuple(Said(at, *one) for one in said)))
    cells_of_all = tuple(one for part in each for one in part.cells)
    sentences = tuple(one for part in each for one in part.sentences)
    return Sources(tuple(documents), cells_of_all, sentences, tuple(each))


_Value = tuple[Cell, frozenset[str], frozenset[str], tuple[Period, ...]]
_Sentence = tuple[int, int, frozenset[str], tuple[Mention, ...]]


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[list[_Value], list[_Sentence]]:
    return [_value(cell) for cell in cells(text)], _sentences(text)


def _value(cell: Cell) -> _Value:
    row = words(cell.row) or words(cell.section)
    found = read(f"{cell.column} ; {cell.section} ; {cell.row}")
    periods = tuple(one for one in found if isinstance(one, Period))
    return cell, row, row | words(f"{cell.section} {cell.column}"), periods


def _sentences(text: str) -> list[_Sentence]:
    tables = table_spans(text)
    found: list[_Sentence] = []
    for start, end in sentence_spans(text):
        if any(left < end and start < right for left, right in tables):
            continue
        mentions = tuple(_moved(one, start) for one in read(text[start:end]))
        found.append((start, end, words(text[start:end]), mentions))
    return found


def _moved(mention: Mention, by: int) -> Mention:
    return replace(mention, start=mention.start + by, end=mention.end + by)
