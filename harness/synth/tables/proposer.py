"""The kind `table`: tasks on a user's own table, whose gold a program makes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from pathlib import Path
from random import Random

from pydantic import JsonValue

from harness.core import digest, temporary_work_folder, write_atomic
from harness.synth.registry import SHARES
from harness.synth.tables.failed import failed_tables, is_run
from harness.synth.tables.manipulations import AT_LEAST, MANIPULATIONS, Rows
from harness.synth.tables.table import Cell, Table, keyed_table, shown
from harness.synth.types import Check, Materials, Proposal
from harness.tasks import family, output_file

BLOCK, LEAST_BLOCK = 30, 2 * AT_LEAST
"""Rows of a table that tasks are made of, at least the second where three splits need blocks of
their own; blocks share no row, so that splits share none."""


class TableProposer:
    """Plug-in of the kind `table`; it calls no model.

    A CSV file gives tasks with the check `output`, a workbook tasks with the check `spreadsheet`.
    """

    width = 64
    validators: tuple[str, ...] = ("untouched",)
    band = "intermediate"
    calls: tuple[int, int, int] = (0, 0, 0)
    suite: dict[str, JsonValue] = {"max_turns": 30}

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        if is_run(materials.source):
            self._tables = failed_tables(materials.source)
            return
        table = keyed_table(materials.source, AT_LEAST)
        self._tables = [(table, tuple(MANIPULATIONS))]

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """One manipulation of one block of rows, by the number."""
        rng = Random(f"{self._materials.seed} {number}")
        turn, index = divmod(number, len(self._tables))
        table, kinds = self._tables[index]
        kind = kinds[turn % len(kinds)]
        id_ = f"table-{number:05d}"
        blocks = max(1, len(table.rows) // BLOCK, min(len(SHARES), len(table.rows) // LEAST_BLOCK))
        # Every kind meets every block, and each turn takes the next one: few tasks fill all splits.
        block = (turn + turn // lcm(len(kinds), blocks)) % blocks
        rows = table.rows[block::blocks]
        size = rng.randrange(max(AT_LEAST, len(rows) // 2), len(rows) + 1)
        part = replace(table, rows=tuple(rng.sample(rows, size)))
        manipulation = MANIPULATIONS[kind](part, rng)
        if manipulation is None:
            return Proposal(id=id_, fault=f"the table has nothing for {kind!r}")
        before, after = (
            self._write(part, rows) for rows in (manipulation.before, manipulation.after)
        )
        names: list[JsonValue] = [
            head
            for head in table.heads
            if re.search(rf"(?<!\w){re.escape(head)}(?!\w)", manipulation.instruction)
        ]
        meta: dict[str, JsonValue] = {
            "manipulation": kind, "ordered": manipulation.ordered, "names": names,
        }  # fmt: skip
        book = bool(table.sheet)
        if book:
            from openpyxl.utils import get_column_letter

            width = max(len(manipulation.before[0]), len(manipulation.after[0]))
            tall = max(len(manipulation.before), len(manipulation.after))
            area = f"A1:{get_column_letter(width)}{tall}"
            meta |= {"answer_position": f"'{table.sheet}'!{area}"}
        return Proposal(
            id=id_,
            question=manipulation.instruction,
            answers=(after,),
            check="spreadsheet" if book else "output",
            files={"input.xlsx" if book else "table.csv": before},
            # Tables of a run may share rows, and tasks that share a row share a split.
            origin=(f"{table.name}/{block}", *(digest(row)[:12] for row in part.rows)),
            meta=meta,
        )

    def _write(self, table: Table, rows: Rows) -> str:
        """Write rows below the factory's folder; the path from there, by their content."""
        suffix = ".xlsx" if table.sheet else ".csv"
        name = f"tables/{digest([rows, table.sheet])[:16]}{suffix}"
        path = self._materials.out / name
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            if table.sheet:
                _write_book(path, table.sheet, rows)
            else:
                text = io.StringIO(newline="")
                csv.writer(text, lineterminator="\n").writerows(map(shown, row) for row in rows)
                write_atomic(path, text.getvalue())
        return name


def _write_book(path: Path, sheet: str, rows: list[list[Cell]]) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.title = sheet
    for row in rows:
        page.append([int(cell) if isinstance(cell, float) and cell.is_integer() else cell
                     for cell in row])  # fmt: skip
    book.save(path)


class Untouched(Check):
    """Rejects a task that the untouched input passes, and one whose gold does not pass."""

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        from harness.synth.factory import task_of

        out = self._materials.out
        task = task_of(proposal, self._materials)
        name, judge = output_file(task), family(task)
        (before,) = proposal.files.values()
        for path, right in ((before, False), (proposal.answers[0], True)):
            with temporary_work_folder("untouched-") as folder:
                judge.prepare(task, out, folder)
                (folder / name).write_bytes((out / path).read_bytes())
                score = judge.score(task, out, folder, None)
            if (score.outcome == "pass") is not right:
                if right:
                    return f"the gold does not pass: {score.reason}"
                return "the untouched input passes"
        return ""
