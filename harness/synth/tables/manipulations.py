"""Manipulations of a table: an instruction, the table before, and the table that a program makes.

Either the program computes something from the user's rows, or dirt of known effect is put into them
and the program's work is to have them back: then the gold is the user's own table.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from random import Random
from typing import NamedTuple

from harness.synth.tables.table import Cell, Table

Rows = list[list[Cell]]
AT_LEAST = 4
"""Rows of a table that can be worked on."""


class Made(NamedTuple):
    """A manipulation of one table.

    Attributes:
        instruction: what the agent is asked for.
        before: rows that it gets, the header first.
        after: rows that it must leave, the header first.
        ordered: whether the order of the rows counts.
    """

    instruction: str
    before: Rows
    after: Rows
    ordered: bool = False


def _rows(table: Table) -> Rows:
    return [list(row) for row in table.rows]


def _whole(table: Table, rows: Rows) -> Rows:
    return [list(table.heads), *rows]


def _heads(table: Table, kind: str) -> list[str]:
    return [head for head in table.heads if table.kind(head) == kind]


def _groups(table: Table) -> list[str]:
    """Columns whose texts repeat, with two of them or more."""
    columns = {
        head: [cell for cell in table.column(head) if cell] for head in _heads(table, "text")
    }
    return [head for head, cells in columns.items() if 1 < len(set(cells)) <= 0.7 * len(cells)]


def keep_group(table: Table, rng: Random) -> Made | None:
    """Keep the rows of one group whose number is above the median."""
    groups, numbers = _groups(table), _heads(table, "number")
    if not groups or not numbers:
        return None
    head, number = rng.choice(groups), rng.choice(numbers)
    value = rng.choice(sorted({str(cell) for cell in table.column(head) if cell}))
    sizes = sorted(cell for cell in table.column(number) if isinstance(cell, (int, float)))
    least = sizes[len(sizes) // 2]
    columns = table.heads.index(head), table.heads.index(number)
    remaining = [
        row for row in _rows(table)
        if row[columns[0]] == value
        and isinstance(size := row[columns[1]], (int, float))
        and size >= least
    ]  # fmt: skip
    return (
        Made(
            f"Keep the rows whose {head} is '{value}' and whose {number} is {least:g} or more; drop all others. Keep all columns.",  # noqa: E501
            _whole(table, _rows(table)),
            _whole(table, remaining),
        )
        if remaining
        else None
    )


def sort_rows(table: Table, rng: Random) -> Made | None:
    """Sort by a number, largest first, then by the key."""
    numbers = [head for head in _heads(table, "number") if None not in table.column(head)]
    if not numbers:
        return None
    number, key = rng.choice(numbers), table.key
    column, name = table.heads.index(number), table.heads.index(key)
    rows = sorted(_rows(table), key=lambda row: (-float(row[column] or 0), str(row[name])))
    return Made(
        f"Sort the rows by {number}, the largest first; rows of equal {number} by {key} in the order of character codes.",  # noqa: E501
        _whole(table, _rows(table)),
        _whole(table, rows),
        True,
    )


def total_groups(table: Table, rng: Random) -> Made | None:
    """Count the rows of each group and add up a number; empty cells add nothing."""
    groups, numbers = _groups(table), _heads(table, "number")
    if not groups or not numbers:
        return None
    head, number = rng.choice(groups), rng.choice(numbers)
    sums: dict[str, list[float]] = {}
    for name, size in zip(table.column(head), table.column(number), strict=True):
        if name is not None:
            row = sums.setdefault(str(name), [0.0, 0.0])
            row[0] += 1
            row[1] += size if isinstance(size, (int, float)) else 0.0
    rows: Rows = [[name, row[0], round(row[1], 2)] for name, row in sorted(sums.items())]
    after: Rows = [[head, "rows", "total"], *rows]
    return Made(
        f"Replace the table by one with the columns {head}, rows and total: for each {head}, in the order of character codes, how many rows it has and the sum of {number}, rounded to two decimals. Leave out rows without a {head}.",  # noqa: E501
        _whole(table, _rows(table)),
        after,
        True,
    )


def remove_copies(table: Table, rng: Random) -> Made | None:
    """Dirt: some rows stand there twice; the copies come later."""
    dirty, clean = _rows(table), _rows(table)
    if len({tuple(row) for row in clean}) < len(clean):
        return None
    for row in rng.sample(clean, max(2, len(clean) // 5)):
        dirty.insert(rng.randrange(dirty.index(row) + 1, len(dirty) + 1), list(row))
    return Made(
        "Remove every row that repeats an earlier one in all columns. Keep the others in their order.",  # noqa: E501
        _whole(table, dirty),
        _whole(table, clean),
        True,
    )


def remove_totals(table: Table, rng: Random) -> Made | None:
    """Dirt: rows of subtotals between the others."""
    numbers, key = _heads(table, "number"), table.heads.index(table.key)
    if not numbers or any(str(row[key]).startswith("Subtotal") for row in table.rows):
        return None
    dirty, column = _rows(table), table.heads.index(rng.choice(numbers))
    step = rng.randrange(3, 6)
    for start in range((len(dirty) - 1) // step * step, 0, -step):
        part = [row[column] for row in dirty[max(0, start - step) : start]]
        row: list[Cell] = [None] * len(table.heads)
        row[key] = f"Subtotal {start // step}"
        row[column] = round(sum(cell for cell in part if isinstance(cell, (int, float))), 2)
        dirty.insert(start, row)
    return Made(
        f"Remove the rows whose {table.key} begins with 'Subtotal': they are sums and no records.",
        _whole(table, dirty),
        _whole(table, _rows(table)),
        True,
    )


def fill_down(table: Table, rng: Random) -> Made | None:
    """Dirt: a repeated value is written once only, above the rows that it holds for."""
    groups = [head for head in _groups(table) if None not in table.column(head)]
    if not groups:
        return None
    head = rng.choice(groups)
    column = table.heads.index(head)
    clean = sorted(_rows(table), key=lambda row: str(row[column]))
    dirty = [list(row) for row in clean]
    for before, row, blank in zip(clean, clean[1:], dirty[1:], strict=False):
        blank[column] = None if row[column] == before[column] else row[column]
    return Made(
        f"An empty cell in the column {head} means the value above it. Fill them all.",
        _whole(table, dirty),
        _whole(table, clean),
        True,
    )


def read_units(table: Table, rng: Random) -> Made | None:
    """Dirt: the numbers of a column are texts with commas and a unit."""
    numbers = _heads(table, "number")
    if not numbers:
        return None
    head, unit = rng.choice(numbers), rng.choice(["EUR", "units", "kg"])
    column, dirty = table.heads.index(head), _rows(table)
    for row in dirty:
        if isinstance(size := row[column], (int, float)):
            row[column] = rng.choice([f"{size:,} {unit}", f"{unit} {size:,}"]).replace(".0 ", " ")
    return Made(
        f"The cells of {head} are texts such as '1,200 {unit}' or '{unit} 1,200'. Make them plain numbers, without commas and unit.",  # noqa: E501
        _whole(table, dirty),
        _whole(table, _rows(table)),
        True,
    )


def read_dates(table: Table, rng: Random) -> Made | None:
    """Dirt: dates in two other forms."""
    dates = _heads(table, "date")
    if not dates:
        return None
    head, dirty = rng.choice(dates), _rows(table)
    column = table.heads.index(head)
    for row in dirty:
        if row[column]:
            day = date.fromisoformat(str(row[column]))
            row[column] = rng.choice([f"{day:%d.%m.%Y}", f"{day.day} {day:%B %Y}"])
    return Made(
        f"Write all dates of {head} as YYYY-MM-DD texts. They stand there as day.month.year, or with the name of the month.",  # noqa: E501
        _whole(table, dirty),
        _whole(table, _rows(table)),
        True,
    )


Manipulation = Callable[[Table, Random], Made | None]
MANIPULATIONS: dict[str, Manipulation] = {
    work.__name__: work
    for work in (
        keep_group, sort_rows, total_groups, remove_copies, remove_totals, fill_down, read_units,
        read_dates,
    )
}  # fmt: skip
"""Name -> (table, rng) -> what is asked; None where the table has nothing to do it on."""
DIRTY = ("remove_copies", "remove_totals", "fill_down", "read_units", "read_dates")
"""Those that put dirt into the rows: their gold has the rows themselves."""
