"""Tasks on a user's table: programs make the gold, and the untouched input never passes."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from pathlib import Path
from random import Random

import openpyxl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.cli import cli
from harness.core import BadInput
from harness.core.rundir import RunReader, RunWriter
from harness.evals import load_suite
from harness.synth.registry import split_by_origin
from harness.synth.session import run_factory
from harness.synth.tables.manipulations import MANIPULATIONS
from harness.synth.tables.proposer import TableProposer, Untouched
from harness.synth.tables.table import Table, cell_of, read_table, shown
from harness.synth.types import Proposal, Record
from tests.synth.cases import factory, materials, run

HEADS = ("name", "team", "points", "joined", "code")


def rows_of(seed: int, size: int) -> list[list[str]]:
    rng = Random(seed)
    return [
        [f"Player {n}", rng.choice("RGB") + " team", str(rng.randrange(1, 5000) / 4),
         (date(2020, 1, 1) + timedelta(days=rng.randrange(900))).isoformat(), f"0{n}"]
        for n in range(size)
    ]  # fmt: skip


def write(path: Path, size: int = 64, seed: int = 1) -> Path:
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        page = book.active
        assert page is not None
        page.title = "Players"
        for row in (HEADS, *rows_of(seed, size)):
            page.append([cell_of(cell) for cell in row])
        book.save(path)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([HEADS, *rows_of(seed, size)])
    return path


@pytest.mark.parametrize("name", ["players.csv", "players.xlsx"])
def test_every_kind_makes_tasks_that_the_input_fails_and_the_gold_passes(
    tmp_path: Path, name: str
) -> None:
    stuff = materials(write(tmp_path / name), tmp_path / "out")
    proposer = TableProposer(stuff)
    with RunWriter(tmp_path / "out", {"kind": "synth"}) as writer:
        made = factory(stuff, proposer, writer, want=16, most=48)
        run(run_factory(made))
        counts = made.write_suite()
        rows = [Record.model_validate(row["record"]) for row in RunReader(tmp_path / "out").items()]
    assert {row.proposal.meta["manipulation"] for row in rows if row.decision == "accepted"} == (  # pyright: ignore[reportUnhashable]  # texts
        set(MANIPULATIONS)
    )
    assert sum(counts.values()) == 16
    assert len({row.proposal.origin for row in rows}) > 1
    suite = load_suite(str(tmp_path / "out"), "test")
    assert {task.check for task in suite.tasks} == {
        "spreadsheet" if name.endswith("xlsx") else "output"
    }


def test_a_check_that_the_input_passes_is_rejected(tmp_path: Path) -> None:
    stuff = materials(write(tmp_path / "players.csv"), tmp_path / "out")
    proposal = run(TableProposer(stuff).propose(0, []))
    untouched = Untouched(stuff)
    assert run(untouched.fault(proposal, [])) == ""
    (before,) = proposal.files.values()
    same = proposal.model_copy(update={"answers": (before,)})
    assert run(untouched.fault(same, [])) == "the untouched input passes"


@given(st.integers(0, 10_000), st.sampled_from(sorted(MANIPULATIONS)))
def test_dirt_changes_the_table_and_the_gold_is_rectangular(seed: int, kind: str) -> None:
    rows = tuple(tuple(map(cell_of, row)) for row in rows_of(seed, 24))
    table = Table("t", "", HEADS, rows)
    made = MANIPULATIONS[kind](table, Random(seed))
    if made is None:
        return
    assert made.before != made.after
    assert len({len(row) for row in made.after}) == 1
    if kind.startswith(("remove", "fill", "read")):
        assert sorted(map(repr, made.after[1:])) == sorted(repr([*row]) for row in rows)


def test_sums_and_filters_by_hand() -> None:
    rows = (("a", "x", 1.5), ("b", "y", 2.0), ("c", "x", None), ("d", "x", 4.0), ("e", "y", 8.0))
    table = Table("t", "", ("name", "team", "points"), rows)
    made = MANIPULATIONS["total_groups"](table, Random(0))
    assert made is not None
    assert made.after == [["team", "rows", "total"], ["x", 3.0, 5.5], ["y", 2.0, 10.0]]
    kept = MANIPULATIONS["keep_group"](table, Random(0))
    assert kept is not None
    assert all(row[2] is not None and float(row[2]) >= 4 for row in kept.after[1:])


def test_cells_and_tables(tmp_path: Path) -> None:
    cells = [
        cell_of(value) for value in ("1,200", "007", " x ", "", None, True, 3, date(2020, 1, 2))
    ]
    assert cells == [1200.0, "007", "x", None, None, "true", 3.0, "2020-01-02"]
    assert [shown(cell) for cell in cells[:3]] == ["1200", "007", "x"]
    table = read_table(write(tmp_path / "players.csv"))
    kinds = [table.kind(head) for head in HEADS]
    assert (kinds, table.key) == (["text", "text", "number", "date", "text"], "name")


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n", "rows"), ("a,a\n1,2\n", "different heads"), ("a\nx\n", "two columns"),
     ("a,b\nx,1\nx,2\ny,3\nz,4\n", "names every row")],
)  # fmt: skip
def test_what_is_no_table(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        TableProposer(materials(path, tmp_path / "out"))


@pytest.mark.parametrize("size", [24, pytest.param(64, marks=pytest.mark.full), 300])
def test_twenty_tasks_fill_all_splits_and_no_model_is_asked(size: int, tmp_path: Path) -> None:
    """Before, 300 rows gave seven tasks to train, thirteen to test and none to selection."""
    source = write(tmp_path / "players.csv", size=size)
    for number, model in enumerate((["--model", "none"], [])):  # neither needs weights
        words = (
            "synth",
            "--from",
            source,
            "--kind",
            "table",
            "--n",
            20,
            "--out",
            tmp_path / f"{number}",
        )
        done = CliRunner().invoke(cli, [*map(str, words), *model, "--sandbox", "none", "--json"])
        assert done.exit_code == 0, done.exception
        splits = json.loads(done.stdout)["splits"]
        assert set(splits) == {"train", "selection", "test"}, splits


@pytest.mark.parametrize("groups", [[9, 8, 7], [20, 1, 1], [5] * 12, [3, 3]])
def test_no_split_is_empty_where_there_are_three_groups(groups: list[int]) -> None:
    proposals = [
        Proposal(id=f"{group}-{n}", origin=(f"d{group}",))
        for group, size in enumerate(groups)
        for n in range(size)
    ]
    splits = split_by_origin(proposals)
    assert len(set(splits.values())) == min(3, len(groups))
    for group in range(len(groups)):
        assert len({split for id_, split in splits.items() if id_.startswith(f"{group}-")}) == 1
