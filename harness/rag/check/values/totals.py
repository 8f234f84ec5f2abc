"""Sums of rows, differences of two, and how many there are: values that no cell states."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from harness.rag.check.numbers import Agreement, Mention, Quantity, Table, agreement, words

_SUM = re.compile(
    r"\b(?:together|combined|altogether|total(?:s|ed|l?ing)?|sum|add(?:s|ed|ing)? up|in all"
    r"|overall)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\badd(?:s|ed|ing)? up to\b[^.;\d]*$", re.IGNORECASE)
_SUMMED = words("total sum average mean overall")
_NEXT = re.compile(r"\s+(\w+)")
_BESIDE = re.compile(r"\s*(?:\w+\s+)?")


def body_of(table: Table) -> list[int]:
    """Numbers of the rows that are no totals of others."""
    keys = (row.fields[table.key].text for row in table.rows)
    return [number for number, key in enumerate(keys) if not _SUMMED & words(key)]


def counts_rows(value: Mention, sentence: str, table: Table) -> bool:
    """Return True for the four of "all four regions", where the table has so many rows."""
    noun = _NEXT.match(sentence, value.end)
    named = noun is not None and words(noun[1]) & words(table.heads[table.key])
    return bool(named) and isinstance(value, Quantity) and value.value == len(body_of(table))


def sum_states(
    value: Mention,
    sentence: str,
    table: Table,
    named: Sequence[Collection[int]],
    columns: Iterable[int],
) -> bool | None:
    """Tell whether a value is the sum of a column over the rows that are named, or over all of them
    where none is; None where the sentence speaks of no sum, or a named row states the value itself.
    """
    if not _SUM.search(sentence) or not isinstance(value, Quantity):
        return None
    if _ADDS.search(sentence, 0, value.start):  # "add up to" is no limit
        value = replace(value, bound="")
    rows = [min(group) for group in named if len(group) == 1] or body_of(table)
    if len(rows) < 2 or any(len(group) > 1 for group in named):
        return None
    columns = list(columns)
    for column in columns:
        stated = [table.rows[number].value(column) for number in rows]
        cells = [cell for cell in stated if isinstance(cell, Quantity)]
        total = sum((cell.value for cell in cells), Fraction(0))
        if len(cells) == len(rows) and _agrees(value, total, cells[0]):
            return True
    alone = any(table.rows[number].states(value, column) for number in rows for column in columns)
    return None if alone or not named else False


def difference_states(
    value: Mention, cue: re.Match[str], pairs: Iterable[tuple[Mention | None, Mention | None]]
) -> bool | None:
    """Tell whether the 70 of "70 more than" is how much two cells differ; None where it stands not
    beside the word, or is a share."""
    beside = (
        _BESIDE.fullmatch(cue.string, value.end, cue.start()) if value.end <= cue.start() else None
    )
    if beside is None or not isinstance(value, Quantity) or value.unit in ("%", "pp", "times"):
        return None
    return any(
        _agrees(value.size, abs(first.value - second.value), first)
        for first, second in pairs
        if isinstance(first, Quantity) and isinstance(second, Quantity)
    )


def _agrees(value: Quantity, amount: Fraction, like: Quantity) -> bool:
    """Return True if a value is an amount, in the unit of cells or bare."""
    units = {like.unit, value.unit} if "" in (like.unit, value.unit) else {like.unit}
    exact = (Quantity(amount, Fraction(0), unit) for unit in units)
    return any(agreement(value, number) is Agreement.SAME for number in exact)
