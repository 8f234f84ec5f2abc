"""Corpora of programs: counted, reproducible, solvable from input and prompt, never for free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.agents import open_agent
from harness.core import Task, assets
from harness.evals import EvalPlan, EvalSettings, agent_spec, load_suite, run_eval
from harness.models import open_model
from lab.corpora.drafts import csv_text, json_text
from lab.corpora.roster import ROSTER
from lab.corpora.roster.excerpt import write_excerpt
from lab.corpora.wire import WIRE
from tests.lab import roster_solvers, wire_solvers
from tests.lab.file_corpora import (
    check_bytes,
    check_mistake,
    check_split,
    check_task,
    inputs,
    outcome,
    planted,
)


class Corpus(NamedTuple):
    """A corpus with its solvers, and all its splits where they were written."""

    made: Any
    solvers: dict[str, Any]
    mistakes: dict[str, list[tuple[str, str]]]
    text: Callable[..., str]
    raised: tuple[type[Exception], ...]
    out: Path
    splits: dict[str, list[Task]]


RAISED = (ArithmeticError, LookupError, TypeError, ValueError)
"""By a solver with a mistake; one of roster's also asks an iterator for more than it has."""
CASES = {
    "roster": (
        ROSTER,
        roster_solvers.SOLVERS,
        roster_solvers.MISTAKES,
        csv_text,
        (*RAISED, StopIteration),
    ),
    "wire": (WIRE, wire_solvers.SOLVERS, wire_solvers.MISTAKES, json_text, RAISED),
}
KINDS = [(name, kind) for name, case in CASES.items() for kind in case[0].kinds]
PLANTED = [
    (name, kind, *change)
    for name, case in CASES.items()
    for kind, changes in case[2].items()
    for change in changes
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Corpus]:
    """Writes the corpus of a name, once."""

    @cache
    def write(name: str) -> Corpus:
        made, solvers, mistakes, text, raised = CASES[name]
        out = tmp_path_factory.mktemp(name)
        splits = {split: check_split(made, split, out) for split in ("train", "selection", "test")}
        by_kind = {solver.__name__: solver for solver in solvers}
        return Corpus(made, by_kind, mistakes, text, raised, out, splits)

    return write


# Not of the module's scope itself: pytest would make it anew whenever the parameters change.
@pytest.fixture
def corpus(request: pytest.FixtureRequest, written: Callable[[str], Corpus]) -> Corpus:
    """The one that the test names."""
    return written(request.param)


@pytest.mark.parametrize("corpus", CASES, indirect=True)
def test_sizes(corpus: Corpus) -> None:
    sizes = {split: len(tasks) for split, tasks in corpus.splits.items()}
    assert sizes == {"train": 72, "selection": 72, "test": 324}
    assert sum(task.meta["seen"] is True for task in corpus.splits["test"]) == 216
    assert corpus.solvers.keys() == corpus.made.kinds.keys() == corpus.mistakes.keys()


@pytest.mark.parametrize("corpus", CASES, indirect=True)
def test_no_input_stands_twice(corpus: Corpus) -> None:
    tasks = [task for tasks in corpus.splits.values() for task in tasks]
    texts = {tuple(inputs(task, corpus.out).values()) for task in tasks}
    assert len(texts) == len({task.id for task in tasks}) == len(tasks)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(("corpus", "kind"), KINDS, indirect=["corpus"])
def test_gold_follows_from_the_input_and_the_prompt(
    corpus: Corpus, kind: str, every: int, tmp_path: Path
) -> None:
    tasks = [task for rows in corpus.splits.values() for task in rows if task.meta["kind"] == kind]
    for task in tasks[::every]:
        check_task(task, corpus.out, corpus.solvers[kind], corpus.text, tmp_path)


@pytest.mark.parametrize(("corpus", "kind", "old", "new"), PLANTED, indirect=["corpus"])
def test_planted_mistakes_fail(
    corpus: Corpus, kind: str, old: str, new: str, tmp_path: Path
) -> None:
    hard = [row for row in corpus.splits["test"] if row.meta["stratum"] == f"{kind}/hard"]
    wrong = planted(corpus.solvers[kind], old, new)
    check_mistake(hard, corpus.out, wrong, corpus.text, tmp_path, corpus.raised)


@pytest.mark.parametrize("corpus", ["roster"], indirect=True)
def test_order_counts_where_the_prompt_says_so(corpus: Corpus, tmp_path: Path) -> None:
    for task in corpus.splits["train"]:
        header, *rows = (corpus.out / str(task.answer)).read_text("utf-8").splitlines()
        turned = "\n".join([header, *rows[::-1]])
        expected = "fail" if task.meta["ordered"] else "pass"
        assert outcome(task, corpus.out, turned, tmp_path) == expected, task.id
        assert (" order of" in task.prompt or " order." in task.prompt) or expected == "pass"


@pytest.mark.parametrize("corpus", CASES, indirect=True)
def test_the_sample_is_the_start_of_train_and_every_byte_the_same(
    corpus: Corpus, repository: Path, tmp_path: Path
) -> None:
    check_bytes(corpus.made, corpus.out, repository, tmp_path)


@pytest.mark.parametrize("name", CASES)
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
