"""A ladder of functions has the rung on which code calls them, and no model is asked for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.evolve import EvolveSettings, run_evolution
from harness.receipts.cli.skill_ladder import ladder_lines
from harness.receipts.ladder import LadderSettings, plan_of, run_ladder, verify_ladder
from harness.receipts.ladder.records import NO_MODEL, read_ladder
from harness.skills import LADDER_PAGE, LADDER_RECORDS, beside
from tests.evolve.scripts.conftest import write_runs, write_suite

SPLITS = {"train": 6, "selection": 2, "test": 5}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, a skill of functions that was evolved from it, and a model that is always wrong."""
    root = tmp_path_factory.mktemp("functions")
    programs = write_suite(root / "suite", SPLITS)
    rows = (root / "suite/test.jsonl").read_text().splitlines()
    other = json.loads(rows[0])  # the same wish in other words
    other |= {"id": "test-words", "prompt": "test0.csv: all of Amount in the East, added up?"}
    (root / "suite/test.jsonl").write_text("\n".join([*rows, json.dumps(other)]) + "\n")
    taught = {task: code for task, code in programs.items() if task.startswith("train")}
    write_runs(root / "runs", root / "suite", taught)
    settings = EvolveSettings.model_validate(
        {
            "out": root / "evolved", "trajectories": root / "runs", "tasks": str(root / "suite"),
            "create": "table-sums", "analyst": "programs", "gate": "none",
        }
    )  # fmt: skip
    shutil.copytree(run_evolution(settings).skill, root / "table-sums")
    (root / "wrong.json").write_text(json.dumps(["```python\nprint(-1)\n```"]))
    run_ladder(climbing(root))
    return root


def climbing(root: Path, **changes: Any) -> LadderSettings:
    fields: dict[str, Any] = {
        "skill": root / "table-sums", "suite": str(root / "suite"), "examples": "none",
        "models": (f"scripted/{root / 'wrong.json'}",), "rungs": "none,repeat", "trust": True,
        "out": root / "run",
    }  # fmt: skip
    return LadderSettings(**fields | changes)


def test_the_skill_loses_to_its_own_functions_where_code_calls_them(world: Path) -> None:
    records = read_ladder(beside(world / "table-sums", LADDER_RECORDS))
    assert [rung.name for rung in records.header.rungs] == ["none", NO_MODEL, "skill", "repeat"]
    rows = {row.task: row for row in records.rows if row.rung == NO_MODEL}
    assert [task for task, row in rows.items() if row.outcome != "pass"] == ["test-words"]
    assert {(row.tokens, row.calls, row.context) for row in rows.values()} == {(0, (), None)}
    verified = verify_ladder(world / "table-sums", run=world / "run")
    assert verified.valid, verified.differs
    ladder = run_ladder(climbing(world, out=None, resume=world / "run")).ladder
    assert ladder.verdicts[0].startswith("No win: the skill loses to the functions without a model")
    [rung] = [rung for rung in ladder.rungs if rung.name == NO_MODEL]
    assert (rung.passed, rung.valid, rung.tokens_per_task) == (10, 11, 0)
    assert rung.note == "1 of 11 tasks are of no train template with a function"
    assert any(rung.note in line for line in ladder_lines(ladder))
    assert "code takes the place" in beside(world / "table-sums", LADDER_PAGE).read_text()


def test_no_call_is_planned_or_booked_for_it(world: Path, tmp_path: Path) -> None:
    plan = plan_of(climbing(world))
    assert plan["attempts"] == 4 * 11 and plan["comparisons"] == 2
    assert plan["calls_at_most"] % 33 == 0 and plan["calls_at_most"] < 4 * 11 * 100
    skill = Path(shutil.copytree(world / "table-sums", tmp_path / "table-sums"))
    settings = climbing(world, skill=skill, out=tmp_path / "run", rungs="none", limit=8)
    calls = 2 * 8 * 2  # no skill and the skill; a wrong program is asked for once more
    run_ladder(settings.model_copy(update={"budget_calls": calls}))
    again = settings.model_copy(update={"out": None, "resume": tmp_path / "run"})
    run_ladder(again.model_copy(update={"budget_calls": calls}))


def test_a_program_that_code_does_not_write_is_noticed(world: Path, tmp_path: Path) -> None:
    skill = Path(shutil.copytree(world / "table-sums", tmp_path / "table-sums"))
    path = beside(skill, LADDER_RECORDS)
    for source in world.glob("table-sums.ladder.*"):
        shutil.copy(source, tmp_path)
    rows = {row.task: row for row in read_ladder(path).rows if row.rung == NO_MODEL}
    text = path.read_text()
    path.write_text(text.replace(rows["test-sum-0"].replies, rows["test-sum-1"].replies))
    differs = verify_ladder(skill).differs
    assert any("code writes another program for test-sum-0" in line for line in differs), differs


def test_a_suite_without_a_train_split_has_no_such_rung(world: Path, tmp_path: Path) -> None:
    suite = Path(shutil.copytree(world / "suite", tmp_path / "suite"))
    (suite / "suite.yaml").write_text(
        "name: small\nagent: graph:program\ntasks: {test: test.jsonl}\n"
    )
    plan = plan_of(climbing(world, suite=str(suite)))
    assert [row["rung"] for row in plan["rungs"]] == ["none", "skill", "repeat"]
    [note] = plan["notes"]
    assert note.startswith("no train prompt has the template of ") and "sum_column_rows" in note


def test_a_module_that_cannot_be_read_is_named_before_any_call(world: Path, tmp_path: Path) -> None:
    skill = Path(shutil.copytree(world / "table-sums", tmp_path / "table-sums"))
    (skill / "scripts/helpers.py").write_text("def broken(:\n")
    with pytest.raises(BadInput, match="is no Python module"):
        plan_of(climbing(world, skill=skill))
