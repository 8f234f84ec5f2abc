"""Runs as a source: new tasks like those that failed, never made from tasks of the test split."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.synth.factory import write_suite
from harness.synth.tables.failed import failed_tables
from harness.synth.types import Record
from tests.synth.test_tables import write

AGENT = """
from pathlib import Path

def solve(prompt, workdir, skill):
    workdir = Path(workdir)
    table = (workdir / "table.csv").read_text().splitlines()
    if "repeats an earlier one" in prompt:
        table = list(dict.fromkeys(table))
    (workdir / "output.csv").write_text("\\n".join(table) + "\\n")
    return "done"
"""
PASSED = "remove_copies"


def harness(*words: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`suite`: tasks of eight kinds in three splits; `run`: of the train split; `new`: from it."""
    folder = tmp_path_factory.mktemp("failed")
    source = write(folder / "players.csv", size=150)
    words = "--kind", "table", "--sandbox", "none", "--json"
    suite = harness("synth", "--from", source, *words, "--n", 40, "--out", folder / "suite")
    assert suite.exit_code == 0, suite.output
    evaluated(folder / "suite", "train", folder / "run")
    new = harness("synth", "--from", folder / "run", *words, "--n", 12, "--out", folder / "new")
    assert json.loads(new.stdout)["accepted"] == 12, new.output
    return folder


def evaluated(suite: Path, split: str, out: Path) -> Path:
    """A run of an agent that can do one manipulation only."""
    agent = suite.parent / "agent.py"
    agent.write_text(AGENT)
    words = "--split", split, "--sandbox", "none", "--model", "none", "--json"
    result = harness("eval", suite, "--agent", f"py:{agent}:solve", *words, "--out", out)
    assert json.loads(result.stdout)["invalid"] == 0, result.output
    return out


def records(folder: Path) -> list[Record]:
    return [Record.model_validate(row["record"]) for row in RunReader(folder).items()]


def test_new_tasks_ask_for_what_failed_only(folder: Path) -> None:
    suite = folder / "suite"
    trained = [json.loads(line) for line in (suite / "train.jsonl").read_text().splitlines()]
    kinds = {task["meta"]["manipulation"] for task in trained}
    assert PASSED in kinds
    tasks = [row.proposal for row in records(folder / "new") if row.decision == "accepted"]
    asked = {str(task.meta["manipulation"]) for task in tasks}
    assert asked <= kinds - {PASSED}
    assert len(asked) > 1
    before = {(suite / path).read_bytes() for task in trained for path in task["files"].values()}
    inputs = [(folder / "new" / path).read_bytes() for row in tasks for path in row.files.values()]
    assert before.isdisjoint(inputs)
    assert len(set(inputs)) == len(inputs)


def test_no_row_of_a_test_task_comes_out_and_splits_share_none(folder: Path) -> None:
    def players(suite: Path, split: str) -> set[str]:
        tasks = [json.loads(line) for line in (suite / f"{split}.jsonl").read_text().splitlines()]
        texts = [(suite / path).read_text() for task in tasks for path in task["files"].values()]
        return set(re.findall(r"^Player \d+", "\n".join(texts), re.MULTILINE))

    new = [players(folder / "new", path.stem) for path in (folder / "new").glob("*.jsonl")]
    rows = set[str]().union(*new)
    assert players(folder / "suite", "test").isdisjoint(rows)
    assert sum(map(len, new)) == len(rows) > 0


def test_a_run_of_the_test_split_gives_nothing(folder: Path) -> None:
    run = evaluated(folder / "suite", "test", folder / "tested")
    with pytest.raises(BadInput, match="none is in the splits train"):
        failed_tables(run)


def test_tasks_that_a_person_wrote_give_their_tables(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    write(mine / "players.csv", size=24)
    (mine / "broken.csv").write_text("a\n1\n")
    names = ["players", "players", "broken"]
    rows = [
        {"id": f"t{n}", "prompt": f"Do what is needed, {n}.", "files": {"table.csv": f"{name}.csv"},
         "answer": "players.csv", "check": "output"}
        for n, name in enumerate(names)
    ]  # fmt: skip
    (mine / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    write_suite(mine / "suite.yaml", "mine", "tasks.jsonl", {})
    (tmp_path / "agent.py").write_text("def solve(prompt, workdir, skill):\n    return ''\n")
    words = "--agent", f"py:{tmp_path / 'agent.py'}:solve", "--sandbox", "none", "--json"
    harness("eval", mine, *words, "--out", tmp_path / "run")
    tables = failed_tables(tmp_path / "run")
    assert {table.name for table, _ in tables} == {"players"}
    assert all(len(kinds) == 8 for _, kinds in tables)


def test_other_kinds_cannot_be_made_of_a_run(folder: Path, tmp_path: Path) -> None:
    result = harness("synth", "--from", folder / "run", "--kind", "search", "--out", tmp_path / "x")
    assert isinstance(result.exception, BadInput)
    assert "only the kind 'table'" in str(result.exception)
