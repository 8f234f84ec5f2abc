"""Suites: which tasks, which agent, which settings."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from harness.agents.types import SkillMode, ToolProtocol
from harness.core import BadInput, Task, Value, assets, digest, digest_file
from harness.core.jsonl import read_models, read_rows
from harness.core.values import first_fault
from harness.evals.splits import Split, SplitBy, divided
from harness.models.limits import SampleLimits
from harness.models.types import Sampling

_SCORER = re.compile(r"[\w-]*")
"""Name of one of our scorers, or none."""


class Suite(Value):
    """A suite file (YAML).

    Attributes:
        name: shown in reports.
        tasks: a task file relative to the suite, or split -> task file. One file is halved
            into train and selection where a split is asked for.
        split_by: how one task file is divided, in place of the halves: see
            :mod:`harness.evals.splits`.
        corpus: name of one of our generated corpora, instead of `tasks`.
        agent: agent spec; relative files start at the suite.
        skill_mode: preloaded or discovered.
        sampling: sampling parameters of the agent.
        max_turns: model calls per attempt.
        limits: tokens, usd and seconds per attempt.
        tools: tools of our graphs; default python and bash for spreadsheet tasks, else none.
        protocol: native tool calls, or the text protocol.
    """

    name: str
    tasks: str | dict[Split, str] | None = None
    split_by: SplitBy | None = None
    corpus: str | None = None
    agent: str = "graph:react"
    skill_mode: SkillMode = "preloaded"
    sampling: Sampling = Sampling()
    max_turns: int = 100
    limits: SampleLimits = SampleLimits()
    tools: tuple[str, ...] | None = None
    protocol: ToolProtocol = "native"


class LoadedSuite(Value):
    """A suite with its tasks read and its folder known."""

    suite: Suite
    split: Split | None
    tasks: tuple[Task, ...]
    base: Path
    root: Path

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the tasks name, inputs and gold answers, as they name them."""
        named = {
            path
            for task in self.tasks
            for path in (*task.files.values(), *_gold_file(task, self.base))
        }
        return tuple(sorted(path for path in named if (self.base / path).is_file()))

    @property
    def sent(self) -> tuple[str, ...] | None:
        """Files below `base` that another machine needs; None: all that lie there."""
        return None if self.brings_code else self.files

    @property
    def brings_code(self) -> bool:
        """Whether a task is judged by a function or command that comes with the suite."""
        return any(not _SCORER.fullmatch(task.check or "") for task in self.tasks)

    @property
    def digest(self) -> str:
        """Digest of the settings, the tasks and the contents of their files."""
        files = {path: digest_file(self.base / path) for path in self.files}
        tasks = [task.model_dump(mode="json") for task in self.tasks]
        return digest([self.suite.model_dump(mode="json", exclude={"split_by"}), tasks, files])


def _gold_file(task: Task, base: Path) -> tuple[str, ...]:
    answer = possible_path(task)
    return (answer,) if answer and (base / answer).is_file() else ()


def possible_path(task: Task) -> str | None:
    """The answer of a task if it can be the path of a gold file."""
    answer = task.answer
    if not isinstance(answer, str) or not 0 < len(answer) < 500 or "\n" in answer:
        return None
    return answer


def load_suite(reference: str, split: Split | None = None) -> LoadedSuite:
    """Load a suite: a YAML file, a folder with suite.yaml, a task JSONL, or a shipped name.

    Args:
        reference: path, or the name of a suite in `evals/`. A folder or file of SpreadsheetBench
            in its published shapes is a suite as it is.
        split: which split; default the first of test, selection, train that the suite has.

    Raises:
        BadInput: if it cannot be found or read, has no tasks, or repeats a task id.
    """
    path = _find(reference)
    if _is_spreadsheetbench(path):
        return _load_spreadsheetbench(path, split)
    if path.suffix == ".jsonl":
        suite, root = Suite(name=path.stem, tasks=path.name), path.parent
    else:
        suite, root = _read(path), path.parent
    tasks_file, found_split = _tasks_file(suite, root, split)
    if _is_spreadsheetbench(tasks_file):
        from harness.tasks import load_spreadsheetbench

        tasks = tuple(load_spreadsheetbench(tasks_file))
    else:
        tasks = tuple(read_models(tasks_file, Task))
    _check(tasks, tasks_file)
    if suite.split_by is not None:
        if found_split is not None:
            raise BadInput(f"suite {suite.name!r}: 'split_by' divides one task file, not splits")
        found_split = split or "test"
        tasks = divided(tasks, suite.split_by, found_split, suite.name)
    elif split is not None and found_split is None:
        tasks, found_split = _half(tasks, suite, split), split
    return LoadedSuite(
        suite=suite, split=found_split, tasks=tasks, base=tasks_file.parent, root=root
    )


def _find(reference: str) -> Path:
    path = Path(reference)
    if path.is_dir() and not _is_spreadsheetbench(path):
        path = path / "suite.yaml"
    if path.is_file() or path.is_dir():
        return path.resolve()
    shipped = assets.root() / "evals" / f"{reference}.yaml"
    if shipped.is_file():
        return shipped
    names = ", ".join(sorted(file.stem for file in shipped.parent.glob("*.yaml"))) or "none"
    raise BadInput(
        f"no suite {reference!r}: expected a .yaml file, a folder with suite.yaml, a .jsonl task "
        f"file, or a shipped suite ({names})"
    )


def _is_spreadsheetbench(path: Path) -> bool:
    """A published folder (dataset.json), or rows of its shape in a JSONL file."""
    if path.is_dir():
        return (path / "dataset.json").is_file()
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    return any("spreadsheet_path" in row for _, row in islice(read_rows(path), 1))


def _load_spreadsheetbench(path: Path, split: Split | None) -> LoadedSuite:
    from harness.tasks import load_spreadsheetbench

    suite = Suite(name=path.stem, tasks=path.name)
    tasks = tuple(load_spreadsheetbench(path))
    if split is not None:
        tasks = _half(tasks, suite, split)
    base = path if path.is_dir() else path.parent
    return LoadedSuite(suite=suite, split=split, tasks=tasks, base=base, root=base)


def _read(path: Path) -> Suite:
    import yaml

    try:
        return Suite.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'suite')}") from error


def _tasks_file(suite: Suite, root: Path, split: Split | None) -> tuple[Path, Split | None]:
    if suite.corpus is not None:
        from harness.corpora import corpus_tasks

        chosen: Split = split or "test"
        return corpus_tasks(suite.corpus, chosen), chosen
    if isinstance(suite.tasks, str):
        return root / suite.tasks, None
    if not suite.tasks:
        raise BadInput(f"suite {suite.name!r} names neither tasks nor a corpus")
    order: tuple[Split, ...] = ("test", "selection", "train")
    chosen = split or next(name for name in order if name in suite.tasks)
    if chosen not in suite.tasks:
        raise BadInput(f"suite {suite.name!r} has no split {chosen!r}, only {list(suite.tasks)}")
    return root / suite.tasks[chosen], chosen


def _half(tasks: tuple[Task, ...], suite: Suite, split: Split) -> tuple[Task, ...]:
    """The train or selection half of a suite of one file, by the digest of the task's id.

    Raises:
        BadInput: for the split `test`, or if the half is empty.
    """
    if split == "test":
        raise BadInput(f"suite {suite.name!r} has one task file: it has no split 'test'")
    wanted = 0 if split == "train" else 1
    chosen = tuple(task for task in tasks if int(digest(task.id)[:8], 16) % 2 == wanted)
    if not chosen:
        raise BadInput(f"suite {suite.name!r} has too few tasks ({len(tasks)}) to split")
    return chosen


def _check(tasks: tuple[Task, ...], path: Path) -> None:
    if not tasks:
        raise BadInput(f"{str(path)!r} has no tasks")
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise BadInput(f"{str(path)!r}: task id {task.id!r} stands there twice")
        seen.add(task.id)
