"""Tests that every corpus of tasks on plain files must pass."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import harness.tasks
from harness.core import Task, digest_file, digest_tree, read_models
from harness.corpora import generate
from harness.tasks import output_file
from lab.corpora.drafts import FileCorpus

Solver = Callable[[dict[str, str], str], Any]
Writer = Callable[[Any], str]


def inputs(task: Task, base: Path) -> dict[str, str]:
    """Name -> text of the input files."""
    return {name: (base / path).read_text("utf-8") for name, path in task.files.items()}


def outcome(task: Task, base: Path, output: str, work: Path) -> str:
    """The outcome of an attempt that leaves `output`."""
    work.mkdir(exist_ok=True)
    (work / output_file(task)).write_text(output, "utf-8")
    return harness.tasks.family(task).score(task, base, work, None).outcome


def planted(solver: Solver, old: str, new: str) -> Solver:
    """The solver with a mistake in its source."""
    source = inspect.getsource(solver)
    assert source.count(old) == 1, (solver.__name__, old)
    scope = dict(inspect.getmodule(solver).__dict__)
    exec(source.replace(old, new), scope)  # noqa: S102  # our own source
    return scope[solver.__name__]


def check_split(corpus: FileCorpus, split: Any, out: Path) -> list[Task]:
    """Write a split and check its strata, prompts, marks and files."""
    tasks = corpus.write_split(split, out)
    assert read_models(out / f"{split}.jsonl", Task) == tasks
    strata = Counter(str(task.meta["stratum"]) for task in tasks)
    assert set(strata.values()) == {corpus.per_stratum[split]}
    assert {str(task.meta["kind"]) for task in tasks} == set(corpus.kinds_of(split))
    for task in tasks:
        assert len(task.prompt.split()) <= 170, task.id
        assert task.meta["seen"] is (task.meta["kind"] not in corpus.unseen)
        assert all(path.startswith("inputs/") for path in task.files.values())
        assert str(task.answer).startswith("golden/") and "golden" not in task.prompt
    return tasks


def check_task(task: Task, base: Path, solver: Solver, write: Writer, work: Path) -> None:
    """The gold and a second solver pass; the untouched input and an empty output fail."""
    gold = (base / str(task.answer)).read_text("utf-8")
    files = inputs(task, base)
    assert outcome(task, base, gold, work) == "pass", task.id
    solved = write(solver(files, task.prompt))
    assert outcome(task, base, solved, work) == "pass", task.id
    for text in (*files.values(), "", "[]", "{}", gold.partition("\n")[0]):
        assert outcome(task, base, text, work) == "fail", task.id


def check_mistake(
    tasks: Sequence[Task],
    base: Path,
    wrong: Solver,
    write: Writer,
    work: Path,
    raised: tuple[type[Exception], ...],
) -> None:
    """A solver with a mistake fails at every task, also where it raises one of these."""
    failed = 0
    for task in tasks:
        try:
            output = write(wrong(inputs(task, base), task.prompt))
        except raised:
            output = ""
        failed += outcome(task, base, output, work) == "fail"
    assert failed == len(tasks)


def check_bytes(corpus: FileCorpus, base: Path, repository: Path, work: Path) -> None:
    """The sample is the start of the train split, and a corpus has the same bytes every time."""
    generate(corpus.name, work, "train", limit=8)
    assert digest_tree(work) == digest_tree(repository / "corpora" / corpus.name / "sample")
    for task in corpus.write_split("test", work, limit=24):
        for path in (*task.files.values(), str(task.answer)):
            assert digest_file(work / path) == digest_file(base / path)
