"""The wire corpus: counted, reproducible, solvable from input and prompt, never for free."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import Task
from lab.corpora.drafts import json_text
from lab.corpora.wire import WIRE
from tests.lab.file_corpora import (
    check_bytes,
    check_mistake,
    check_sizes,
    check_split,
    check_task,
    inputs,
    planted,
)
from tests.lab.wire_solvers import MISTAKES, SOLVERS

BY_KIND = {solver.__name__: solver for solver in SOLVERS}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Task]]]:
    """All splits."""
    out = tmp_path_factory.mktemp("wire")
    splits = ("train", "selection", "test")
    return out, {split: check_split(WIRE, split, out) for split in splits}


def test_sizes(corpus: tuple[Path, dict[str, list[Task]]]) -> None:
    check_sizes(corpus[1])
    assert BY_KIND.keys() == WIRE.kinds.keys() == MISTAKES.keys()


def test_no_input_stands_twice(corpus: tuple[Path, dict[str, list[Task]]]) -> None:
    out, splits = corpus
    tasks = [task for tasks in splits.values() for task in tasks]
    texts = {tuple(inputs(task, out).values()) for task in tasks}
    assert len(texts) == len({task.id for task in tasks}) == len(tasks)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", WIRE.kinds)
def test_gold_follows_from_the_input_and_the_prompt(
    corpus: tuple[Path, dict[str, list[Task]]], kind: str, every: int, tmp_path: Path
) -> None:
    out, splits = corpus
    tasks = [task for split in splits.values() for task in split if task.meta["kind"] == kind]
    for task in tasks[::every]:
        check_task(task, out, BY_KIND[kind], json_text, tmp_path)


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
        json_text,
        tmp_path,
        (ArithmeticError, LookupError, TypeError, ValueError),
    )


def test_the_sample_is_the_start_of_train_and_every_byte_the_same(
    corpus: tuple[Path, dict[str, list[Task]]], repository: Path, tmp_path: Path
) -> None:
    check_bytes(WIRE, corpus[0], repository, tmp_path)
