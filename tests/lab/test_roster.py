"""The roster corpus: counted, reproducible, solvable from input and prompt, never for free."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.agents import open_agent
from harness.core import Task, assets, digest_file
from harness.evals import EvalPlan, EvalSettings, agent_spec, load_suite, run_eval
from harness.models import open_model
from lab.corpora.drafts import csv_text
from lab.corpora.roster import ROSTER
from lab.corpora.roster.excerpt import write_excerpt
from tests.lab.file_corpora import (
    check_bytes,
    check_mistake,
    check_sizes,
    check_split,
    check_task,
    outcome,
    planted,
)
from tests.lab.roster_solvers import MISTAKES, SOLVERS

BY_KIND = {solver.__name__: solver for solver in SOLVERS}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Task]]]:
    """All splits."""
    out = tmp_path_factory.mktemp("roster")
    splits = ("train", "selection", "test")
    return out, {split: check_split(ROSTER, split, out) for split in splits}


def test_sizes(corpus: tuple[Path, dict[str, list[Task]]]) -> None:
    check_sizes(corpus[1])
    assert BY_KIND.keys() == ROSTER.kinds.keys() == MISTAKES.keys()


def test_no_input_stands_twice(corpus: tuple[Path, dict[str, list[Task]]]) -> None:
    out, splits = corpus
    tasks = [task for tasks in splits.values() for task in tasks]
    tables = {digest_file(out / task.files["table.csv"]) for task in tasks}
    assert len(tables) == len({task.id for task in tasks}) == len(tasks)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ROSTER.kinds)
def test_gold_follows_from_the_input_and_the_prompt(
    corpus: tuple[Path, dict[str, list[Task]]], kind: str, every: int, tmp_path: Path
) -> None:
    out, splits = corpus
    tasks = [task for split in splits.values() for task in split if task.meta["kind"] == kind]
    for task in tasks[::every]:
        check_task(task, out, BY_KIND[kind], csv_text, tmp_path)


@pytest.mark.parametrize(
    ("kind", "old", "new"), [(kind, *change) for kind in MISTAKES for change in MISTAKES[kind]]
)
def test_planted_mistakes_fail(
    corpus: tuple[Path, dict[str, list[Task]]], kind: str, old: str, new: str, tmp_path: Path
) -> None:
    out, splits = corpus
    tasks = [task for task in splits["test"] if task.meta["stratum"] == f"{kind}/hard"]
    wrong = planted(BY_KIND[kind], old, new)
    check_mistake(
        tasks,
        out,
        wrong,
        csv_text,
        tmp_path,
        (ArithmeticError, LookupError, TypeError, ValueError, StopIteration),
    )


def test_order_counts_where_the_prompt_says_so(
    corpus: tuple[Path, dict[str, list[Task]]], tmp_path: Path
) -> None:
    out, splits = corpus
    for task in splits["train"]:
        header, *rows = (out / str(task.answer)).read_text("utf-8").splitlines()
        turned = "\n".join([header, *rows[::-1]])
        expected = "fail" if task.meta["ordered"] else "pass"
        assert outcome(task, out, turned, tmp_path) == expected, task.id
        assert (" order of" in task.prompt or " order." in task.prompt) or expected == "pass"


def test_the_sample_is_the_start_of_train_and_every_byte_the_same(
    corpus: tuple[Path, dict[str, list[Task]]], repository: Path, tmp_path: Path
) -> None:
    check_bytes(ROSTER, corpus[0], repository, tmp_path)


@pytest.mark.parametrize("name", ["roster", "wire"])
def test_the_shipped_suite_is_attempted_and_judged(name: str, tmp_path: Path) -> None:
    settings = EvalSettings(suite=name, models=("simulated/ledger",))
    suite = load_suite(name, "test")
    assert agent_spec(settings, suite) == "graph:program"
    plan = EvalPlan(suite=suite, agent=open_agent("graph:program"), limit=3)
    model = open_model("simulated/ledger")
    report = asyncio.run(run_eval(plan, tmp_path / "run", model=model, sandbox=None))
    assert (report.passed, report.failed, report.invalid) == (0, 3, 0)


def test_the_part_that_ships_is_what_the_generator_gives(tmp_path: Path) -> None:
    write_excerpt(tmp_path / "tables")
    made, shipped = (
        {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
        for folder in (tmp_path / "tables", assets.root() / "evals" / "tables")
    )
    assert made == shipped
    tests = load_suite("tables", "test").tasks
    assert {str(task.meta["kind"]) for task in tests} == ROSTER.kinds.keys() - ROSTER.unseen
