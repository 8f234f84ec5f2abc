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

from harness.evolve.analysts.agentic import workbooks
from harness.evolve.analysts.agentic.replacements import (
    can_move,
    later,
    plain_number,
    renamed,
    renaming,
    renumbered,
    renumbering,
    words,
)
from harness.evolve.analysts.agentic.trial import Trial
from harness.sandbox import Sandbox
from harness.tasks import INPUT_NAME, comparable, recalculate

Change = Callable[[object], object]
# Whole numbers below stay in a control: they may be codes or flags.
_MOVED_FROM = 10


class WorkbookPerturber:
    """Makes perturbed inputs of one spreadsheet case.

    Args:
        clean: the trial on the clean input; its gold is read, not changed.
        store: folder for perturbed golden workbooks; out of every script's reach.
        sandbox: where LibreOffice recomputes formulas; None: see :func:`recalculate`.
    """

    def __init__(self, clean: Trial, store: Path, sandbox: Sandbox | None = None) -> None:
        self._clean, self._store, self._sandbox = clean, store, sandbox
        self._input = clean.files[INPUT_NAME]
        gold = clean.base / str(clean.task.answer)
        self._position = str(clean.task.meta["answer_position"])
        self._instruction = clean.task.prompt
        self._judged = workbooks.judged_values(gold, self._position)
        self._book = workbooks.load(self._input)
        self._gold_book = workbooks.load(gold.read_bytes(), values=True)
        self._stored = workbooks.has_stored_formulas(self._book, self._input)
        self._data = [cell.value for cell in workbooks.data_cells(self._book)]
        self._words = words(value for value in self._data if isinstance(value, str))

    def predicted(self, seed: int) -> list[Trial]:
        """Inputs whose right result is known and differs from the clean one."""
        copied = words(value for value in self._judged.values() if isinstance(value, str))
        numbers = [self._renumbering(share) for share in (0.5, 0.3)]
        trials = [
            self._trial("other names", self._renaming(copied, seed)),
            self._trial("other numbers", numbers[0]),
            self._trial("later dates", self._moving(), everywhere=True),
            self._trial("other names again", self._renaming(copied, seed + 1), seed),
            self._trial("other numbers again", numbers[1], seed),
        ]
        return [trial for trial in trials if trial is not None]

    def same_result(self, seed: int) -> Trial | None:
        """An input with every free name and date replaced whose right result is the clean one.

        It says nothing alone (a result that is written down passes), but beside a control it
        catches a script that knows the clean input and gives anything else elsewhere.
        """
        rename, move = self._renaming(self._words, seed), self._moving()
        if rename is None and move is None:
            return None

        def change(value: object) -> object:
            new = value if rename is None else rename(value)
            return new if move is None else move(new)

        if any(change(value) != value for value in self._judged.values()):
            return None
        return self._trial("other names, same result", change, everywhere=True, same=True)

    def _renaming(self, renamable: set[str], seed: int) -> Change | None:
        fixed = workbooks.named_words(self._book, self._instruction)
        names = renaming(self._words & renamable, self._words, fixed, seed)
        if not names:
            return None
        return lambda value: renamed(value, names) if isinstance(value, str) else value

    def _renumbering(self, share: float) -> Change | None:
        """None unless every judged number is copied, or is that of a formula that stays."""
        data = {number for value in self._data if (number := plain_number(value)) is not None}
        copied: set[float] = set()
        for (sheet, row, column), value in self._judged.items():
            number = plain_number(value)
            if number is None:
                continue
            if number in data:
                copied.add(number)
                continue
            source = None
            if sheet in self._book.sheetnames:
                source = self._book[sheet].cell(row, column).value
            if not (isinstance(source, str) and re.fullmatch(r"=[\d\s.+*/()-]+", source)):
                return None
        stated = [float(digits) for digits in re.findall(r"\d+(?:\.\d+)?", self._instruction)]
        numbers = renumbering(copied, data, stated, share)
        return (lambda value: renumbered(value, numbers)) if numbers else None

    def _moving(self) -> Change | None:
        values = [cell.value for cell in workbooks.constant_cells(self._book)]
        return later if can_move([*values, *self._judged.values()], self._instruction) else None

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
        select = workbooks.constant_cells if everywhere else workbooks.data_cells
        with workbooks.changes_undone(book):
            for cell in select(book):
                if cell.value is not None:
                    cell.value = change(cell.value)
            if order is not None:
                judged = {**self._judged, **changes}
                moved = workbooks.reorder(book, judged, self._instruction, order)
                name += f", {', '.join(moved)} in another order" if moved else ""
            data = self._saved(book)
        if data is None:
            return None
        target = self._store / f"{name}.xlsx".replace("/", " ")
        with workbooks.changes_undone(gold):
            for (sheet, row, column), value in changes.items():
                gold[sheet].cell(row, column).value = value
            target.write_bytes(workbooks.save(gold))
        task = self._clean.task.model_copy(update={"answer": str(target)})
        files = {**self._clean.files, INPUT_NAME: data}
        return replace(self._clean, name=name, kind="predicted", files=files, task=task)

    def control(self, seed: int, number: int) -> Trial | None:
        """An input on which the old result is wrong; None if it cannot be told from the input."""
        rng, book = random.Random(seed + number), self._book
        columns: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for cell in workbooks.data_cells(book):
            columns[cell.parent.title, cell.column].append(cell)
        # Every number that is no small whole one gets another one of its size.
        numbers: dict[float, float] = {}
        for value in (cell.value for column in columns.values() for cell in column):
            old = plain_number(value)
            if old is not None and (old >= _MOVED_FROM or old != int(old)):
                new = old * rng.uniform(0.6, 1.4)
                numbers[old] = float(round(new)) if old == int(old) else round(new, 2)
        with workbooks.changes_undone(book):
            for column in columns.values():
                free = self._free(column)
                drawn = [(cell.value, cell.number_format) for cell in free]
                for cell in free:
                    cell.value, cell.number_format = rng.choice(drawn)
                for cell in column:
                    cell.value = renumbered(cell.value, numbers)
            data = self._saved(book)
        if data is None:
            return None
        path, clean = self._store / f"control-{number}.xlsx", self._store / "clean.xlsx"
        path.write_bytes(data)
        clean.write_bytes(self._input)
        judged = workbooks.judged_values(path, self._position)
        if not self._judged or judged == self._judged:
            return None
        constants = {comparable(cell.value) for cell in workbooks.constant_cells(book)}
        computed = [key for key, val in self._judged.items() if comparable(val) not in constants]
        return replace(
            self._clean,
            name=f"drawn anew {number}",
            kind="control",
            files={**self._clean.files, INPUT_NAME: data},
            idle=workbooks.judged_values(clean, self._position) == self._judged,
            computed=frozenset(computed),
        )

    def _free(self, column: list[Any]) -> list[Any]:
        """The cells of a column without labels that the instruction names, as of a setting."""
        texts = [str(cell.value).strip().casefold() for cell in column]
        times, instruction = Counter(texts), self._instruction.casefold()
        return [
            cell
            for cell, text in zip(column, texts, strict=True)
            if len(text) <= 3 or times[text] > 1 or text not in instruction
        ]

    def _saved(self, book: Any) -> bytes | None:
        """The workbook's bytes, with formulas recomputed where the clean input had their values."""
        data = workbooks.save(book)
        if not self._stored:
            return data
        with tempfile.TemporaryDirectory(prefix="perturbed-") as name:
            path = Path(name, "in.xlsx")
            path.write_bytes(data)
            recomputed = recalculate([path], Path(name, "out"), sandbox=self._sandbox)
            return recomputed[path].read_bytes() if path in recomputed else None
