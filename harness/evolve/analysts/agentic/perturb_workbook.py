"""Perturbed inputs of spreadsheet tasks.

`predicted`: words, numbers or dates are replaced consistently in the input and in the judged cells,
so that the right result is known if it copies, joins, groups or sorts them. Where a task does more
than that (rewrites a word by its letters, say), the prediction is wrong and a correct script fails
too: a proof is lost, none is made that does not hold.

`control`: every column is drawn anew from its own values and large numbers change, so that the old
result cannot be right any more.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.evolve.analysts.agentic import workbook_cells as cells
from harness.evolve.analysts.agentic.renaming import renamer, renaming, words
from harness.evolve.analysts.agentic.renumbering import (
    can_move,
    later,
    plain_number,
    renumbered,
    renumbering,
)
from harness.evolve.analysts.agentic.reorder import reorder
from harness.evolve.analysts.agentic.trial import CellKey, Trial
from harness.sandbox import Sandbox
from harness.tasks import recalculate
from harness.tasks.cells import comparable
from harness.tasks.spreadsheet import INPUT_NAME

Change = Callable[[object], object]
_MOVED_FROM = 10
"""Whole numbers below stay in a control: they may be codes or flags."""


class WorkbookPerturber:
    """Makes perturbed inputs of one spreadsheet case.

    Args:
        clean: the trial on the clean input; its gold is read, not changed.
        store: folder for perturbed golden workbooks; out of every script's reach.
        sandbox: where LibreOffice recomputes formulas; None: in the open.
    """

    def __init__(self, clean: Trial, store: Path, sandbox: Sandbox | None = None) -> None:
        self._clean, self._store, self._sandbox = clean, store, sandbox
        self._input = clean.files[INPUT_NAME]
        self._gold = clean.base / str(clean.task.answer)
        self._position = str(clean.task.meta["answer_position"])
        self._instruction = clean.task.prompt
        self._judged = cells.judged_values(self._gold, self._position)
        self._book = cells.load(self._input)
        self._gold_book = cells.load(self._gold.read_bytes(), values=True)
        self._stored = cells.has_stored_formulas(self._book, self._input)
        self._computed = self._found_nowhere()

    def predicted(self, seed: int) -> list[Trial]:
        """Inputs whose right result is known and differs from the clean one."""
        book = self._book
        data = [cell.value for cell in cells.data_cells(book)]
        copied = words(value for value in self._judged.values() if isinstance(value, str))
        numbers = [self._renumbering(book, data, share) for share in (0.5, 0.3)]
        found = [
            self._trial("other names", self._renaming(book, data, copied, seed)),
            self._trial("other numbers", numbers[0]),
            self._trial("later dates", self._moving(book), everywhere=True),
            self._trial("other names again", self._renaming(book, data, copied, seed + 1), seed),
            self._trial("other numbers again", numbers[1], seed),
        ]
        return [trial for trial in found if trial is not None]

    def same_result(self, seed: int) -> Trial | None:
        """An input with every free name and date replaced whose right result is the clean one.

        It says nothing alone (a result that is written down passes), but beside a control it
        catches a script that knows the clean input and gives anything else elsewhere.
        """
        book = self._book
        data = [cell.value for cell in cells.data_cells(book)]
        known = words(value for value in data if isinstance(value, str))
        rename, move = self._renaming(book, data, known, seed), self._moving(book)
        if rename is None and move is None:
            return None

        def change(value: object) -> object:
            new = value if rename is None else rename(value)
            return new if move is None else move(new)

        if any(change(value) != value for value in self._judged.values()):
            return None
        return self._trial("other names, same result", change, everywhere=True, same=True)

    def _renaming(self, book: Any, data: list[Any], wanted: set[str], seed: int) -> Change | None:
        known = words(value for value in data if isinstance(value, str))
        fixed = cells.named_words(book, self._instruction)
        names = renaming(known & wanted, known, fixed, seed)
        return renamer(names) if names else None

    def _renumbering(self, book: Any, data: list[Any], share: float) -> Change | None:
        """None unless every judged number is copied, or is that of a formula that stays."""
        known = {number for value in data if (number := plain_number(value)) is not None}
        wanted: set[float] = set()
        for (sheet, row, column), value in self._judged.items():
            number = plain_number(value)
            if number is None:
                continue
            if number in known:
                wanted.add(number)
            elif not _constant_formula(book, sheet, row, column):
                return None
        named = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", self._instruction)]
        numbers = renumbering(wanted, known, named, share)
        return (lambda value: renumbered(value, numbers)) if numbers else None

    def _moving(self, book: Any) -> Change | None:
        values = [*cells.constants(book), *self._judged.values()]
        return later if can_move(values, self._instruction) else None

    def _trial(
        self,
        name: str,
        change: Change | None,
        order: int | None = None,
        *,
        everywhere: bool = False,
        same: bool = False,
    ) -> Trial | None:
        """The change made in input and gold; None if it does not change what it has to.

        Args:
            name: of the input.
            change: of a cell's value.
            order: seed of another order of the sheets that are looked up by key; None: as it is.
            everywhere: in every constant of the input, not only below column names.
            same: whether the judged cells must stay (else: must change).
        """
        if change is None:
            return None
        changes = {
            key: new for key, value in self._judged.items() if (new := change(value)) != value
        }
        if bool(changes) == same:
            return None
        book, gold = self._book, self._gold_book
        with cells.changes_undone(book):
            for cell in _every_cell(book) if everywhere else cells.data_cells(book):
                cell.value = change(cell.value)
            if order is not None:
                moved = reorder(book, {**self._judged, **changes}, self._instruction, order)
                name += f", {', '.join(moved)} in another order" if moved else ""
            data = self._saved(book)
        if data is None:
            return None
        target = self._store / f"{name}.xlsx".replace("/", " ")
        with cells.changes_undone(gold):
            for (sheet, row, column), value in changes.items():
                gold[sheet].cell(row, column).value = value
            target.write_bytes(cells.save(gold))
        task = self._clean.task.model_copy(update={"answer": str(target)})
        files = {**self._clean.files, INPUT_NAME: data}
        return replace(self._clean, name=name, kind="predicted", files=files, task=task)

    def control(self, seed: int, number: int) -> Trial | None:
        """An input on which the old result is wrong; None if it cannot be told from the input."""
        chosen = random.Random(seed + number)
        book = self._book
        columns: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for cell in cells.data_cells(book):
            columns[cell.parent.title, cell.column].append(cell)
        values = [cell.value for column in columns.values() for cell in column]
        numbers = _other_numbers(values, chosen)
        with cells.changes_undone(book):
            for column in columns.values():
                _draw_anew(self._free(column), chosen)
                for cell in column:
                    cell.value = renumbered(cell.value, numbers)
            data = self._saved(book)
        if data is None:
            return None
        path = self._store / f"control-{number}.xlsx"
        path.write_bytes(data)
        clean = self._store / "clean.xlsx"
        clean.write_bytes(self._input)
        held = cells.judged_values(path, self._position)
        if not self._judged or held == self._judged:
            return None
        idle = cells.judged_values(clean, self._position) == self._judged
        files = {**self._clean.files, INPUT_NAME: data}
        name = f"drawn anew {number}"
        return replace(
            self._clean,
            name=name,
            kind="control",
            files=files,
            idle=idle,
            computed=self._computed,
        )

    def _found_nowhere(self) -> frozenset[CellKey]:
        held = {comparable(value) for value in cells.constants(self._book)}
        found = (key for key, value in self._judged.items() if comparable(value) not in held)
        return frozenset(found)

    def _free(self, column: list[Any]) -> list[Any]:
        """The cells of a column without labels that the instruction names, as of a setting."""
        times = Counter(_text(cell) for cell in column)
        asked = self._instruction.casefold()
        return [
            cell
            for cell in column
            if len(text := _text(cell)) <= 3 or times[text] > 1 or text not in asked
        ]

    def _saved(self, book: Any) -> bytes | None:
        """The workbook's bytes, with formulas recomputed where the clean input had their values."""
        data = cells.save(book)
        if not self._stored:
            return data
        with tempfile.TemporaryDirectory(prefix="perturbed-") as name:
            path = Path(name, "in.xlsx")
            path.write_bytes(data)
            made = recalculate([path], Path(name, "out"), sandbox=self._sandbox)
            return made[path].read_bytes() if path in made else None


def _text(cell: Any) -> str:
    return str(cell.value).strip().casefold()


def _every_cell(book: Any) -> list[Any]:
    return [
        cell
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None and cell.data_type not in ("f", "e")
    ]


def _constant_formula(book: Any, sheet: str, row: int, column: int) -> bool:
    if sheet not in book.sheetnames:
        return False
    value = book[sheet].cell(row, column).value
    return isinstance(value, str) and re.fullmatch(r"=[\d\s.+*/()-]+", value) is not None


def _other_numbers(values: list[Any], chosen: random.Random) -> dict[float, float]:
    """Every number that is no small whole one -> another one of its size."""
    found: dict[float, float] = {}
    for value in values:
        number = plain_number(value)
        if number is None or (number < _MOVED_FROM and number == int(number)):
            continue
        new = number * chosen.uniform(0.6, 1.4)
        found[number] = float(round(new)) if number == int(number) else round(new, 2)
    return found


def _draw_anew(column: list[Any], chosen: random.Random) -> None:
    """Give each cell the value of some cell of its column."""
    drawn = [(cell.value, cell.number_format) for cell in column]
    for cell in column:
        cell.value, cell.number_format = chosen.choice(drawn)
