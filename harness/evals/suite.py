"""Suites: which tasks, which agent, which settings, and how tasks divide into splits.

One task file is halved into train and selection by the digests of the tasks' ids, whatever its
order (a task that is added moves one other at most), or else divided by the suite's `split_by`:

| `split_by` | train | selection | test |
|---|---|---|---|
| `paper` | rows 0 to 199 | none | rows 200 to 399 |
| `stratified` | 40 % of each stratum | 10 % | 50 % |
| `{train: [0, 50], test: [50, 90]}` | rows 0 to 49 | as written | rows 50 to 89 |

`paper` is the division of Trace2Skill (arXiv 2603.25158) of SpreadsheetBench-Verified in its
published order. Its halves differ in kind: the first has 125 sheet-level tasks of 200, the second
none (a skill that learns about sheets is never tested on them). `stratified` has the same share of
every stratum in each part: report it, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from harness.agents import SkillMode, ToolProtocol
from harness.core import (
    BadInput,
    Task,
    Value,
    assets,
    canonical_json,
    digest,
    digest_file,
    first_fault,
    grouped,
    listing,
    mapping,
    read_rows,
    read_yaml,
)
from harness.core.trust import Origin, own_folder
from harness.models import SampleLimits, Sampling
from harness.tasks import JudgeSettings
from harness.tasks.files.rows import (
    HUB,
    SUFFIXES,
    divided_reference,
    file_of,
    in_groups,
    read_tasks,
)
from harness.tools import is_remote

Split = Literal["train", "selection", "test"]
Rows = dict[Split, tuple[int, int]]
"""Split -> its first row, and the first row behind it, counted from 0."""
SplitBy = Literal["paper", "stratified"] | Rows

PAPER: Rows = {"train": (0, 200), "test": (200, 400)}
STRATIFIED: Mapping[Split, tuple[float, float]] = {
    "train": (0.0, 0.4), "selection": (0.4, 0.5), "test": (0.5, 1.0),
}  # fmt: skip
_SCORER = re.compile(r"[\w-]*")
"""Name of one of our scorers, or none."""


class Suite(Value):
    """A suite file (YAML).

    Attributes:
        name: shown in reports.
        tasks: a task file relative to the suite, or split -> task file. One file is halved
            into train and selection where a split is asked for.
        split_by: how one task file is divided, in place of the halves.
        group_by: column or field of `meta` that holds a task's group: part of no digest.
        corpus: name of one of our generated corpora, instead of `tasks`.
        agent: agent spec; relative files start at the suite. Default `graph:react`; with `local/`
            models `graph:program` where every task leaves a file.
        skill_mode: preloaded or discovered.
        sampling: sampling parameters of the agent.
        max_turns: model calls per attempt.
        limits: tokens, usd and seconds per attempt.
        tools: tools of our graphs; default python and bash for tasks that leave a file, else
            none.
        protocol: native tool calls, the text protocol, or `json`: actions, and answers of a
            declared type, that the server holds to a schema. `auto` is json where the server can.
        judge: of checks that ask a model; left out of digests, which are older, if not set.
    """

    name: str
    tasks: str | dict[Split, str] | None = None
    split_by: SplitBy | None = None
    group_by: str | None = None
    corpus: str | None = None
    agent: str | None = None
    skill_mode: SkillMode = "preloaded"
    sampling: Sampling = Sampling()
    max_turns: int = 100
    limits: SampleLimits = SampleLimits()
    tools: tuple[str, ...] | None = None
    protocol: ToolProtocol | Literal["auto"] = "auto"
    judge: JudgeSettings | None = Field(default=None, exclude_if=lambda value: value is None)


class LoadedSuite(Value):
    """A suite with its tasks read and its folder known.

    Attributes:
        base: folder of the task file, where the paths in tasks start.
        root: folder of the suite.
        trusted: whether the tasks may name files anywhere.
    """

    suite: Suite
    split: Split | None
    tasks: tuple[Task, ...]
    base: Path
    root: Path
    trusted: bool = False

    @property
    def halved(self) -> bool:
        """Return True for one half of a single task file that nobody divided."""
        suite = self.suite
        return isinstance(suite.tasks, str) and suite.split_by is None and self.split is not None

    def agent_folder(self, spec: str) -> Path:
        """Folder that an agent's files start at: that of the suite which names it, or ours."""
        return (
            self.root if spec.split("?")[0] == str(self.suite.agent).split("?")[0] else Path.cwd()
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the tasks name, inputs and gold answers, as they name them."""
        paths = {
            path for task in self.tasks for path in (*task.files.values(), possible_path(task))
        }
        return tuple(sorted(path for path in paths if path and self._is_file(path)))

    def origin(self, name: str) -> Origin:
        """Return the origin of all that the part of that name names."""
        return Origin(name, self.root if self.suite.corpus is None else self.base, self.trusted)

    def _is_file(self, path: str) -> bool:
        try:  # the place is looked at last: most answers are no names, and that takes longer
            return (self.base / path).is_file() and bool(self.origin("").file(self.base / path))
        except (BadInput, OSError):  # outside the folder, or too long for a name
            return False

    @property
    def sent(self) -> tuple[str, ...] | None:
        """Files below `base` that another machine needs; None means all of them.

        All are sent where a task is judged by a function or command that comes with the suite.
        """
        brings_code = any(not _SCORER.fullmatch(task.check or "") for task in self.tasks)
        return None if brings_code else self.files

    @property
    def digest(self) -> str:
        """Digest of the settings, the tasks and the contents of their files."""
        files = {path: digest_file(self.base / path) for path in self.files}
        tasks = [task.model_dump(mode="json", exclude={"group"}) for task in self.tasks]
        settings = self.suite.model_dump(mode="json", exclude={"split_by", "group_by"})
        # Suites had these values before the defaults came to depend on the model; runs and receipts
        # of that time stay valid. What was chosen is recorded with a run.
        settings["agent"] = self.suite.agent or "graph:react"
        settings["protocol"] = settings["protocol"].replace("auto", "native")
        return digest([settings, tasks, files])


def possible_path(task: Task) -> str | None:
    """The answer of a task if it can be the path of a gold file."""
    answer = task.answer
    if not isinstance(answer, str) or not 0 < len(answer) < 500 or "\n" in answer:
        return None
    return answer


def load_suite(reference: str, split: Split | None = None, *, trusted: bool = False) -> LoadedSuite:
    """Load a suite: a YAML file, a folder with suite.yaml, a task JSONL, or a shipped name.

    All that a suite names lies in its folder, unless the user trusts it: its files go to models.

    Args:
        reference: path, or the name of a suite in `evals/`. A folder or file of SpreadsheetBench
            in its published shapes is a suite as it is.
        split: which split; default the first of test, selection, train that the suite has.
        trusted: whether it may name files anywhere.

    Raises:
        BadInput: if it cannot be found or read, has no tasks, repeats a task id, or names a file
            out of its folder.
    """
    reference, columns = divided_reference(reference)
    path = _find(reference)
    published = _is_spreadsheetbench(path)
    used_split: Split | None = None
    if published:
        suite, file = Suite(name=path.stem, tasks=path.name), path
        root = base = path if path.is_dir() else path.parent
    else:
        suite = _read(path)
        root = Path.cwd() if reference.startswith(HUB) else path.parent
        source, used_split = _tasks_file(suite, split)
        hub = source.startswith(HUB)
        source, own_columns = divided_reference(source if hub else str(root / source))
        columns = own_columns | columns
        if suite.group_by is not None and "group" not in columns.values():
            columns[suite.group_by] = "group"
        file = Path(source)
        base = root if hub else file.parent
        local = file_of(source)
        if suite.corpus is None and not reference.startswith(HUB) and (not hub or local.exists()):
            Origin(f"suite {suite.name!r}", root, trusted).file(local)
    try:
        spreadsheets = published or _is_spreadsheetbench(file)
    except OSError as error:  # a name that is too long
        raise BadInput(f"suite {suite.name!r}: no task file: {error.strerror}") from error
    if spreadsheets:
        from harness.tasks import load_spreadsheetbench

        tasks = in_groups(load_spreadsheetbench(file), columns, f"{str(file)!r}:")
    else:
        tasks = read_tasks(str(file), columns)
    if not published:
        if not tasks:
            raise BadInput(f"{str(file)!r} has no tasks")
        name, times = Counter(task.id for task in tasks).most_common(1)[0]
        if times > 1:
            raise BadInput(f"{str(file)!r}: task id {name!r} stands there twice")
    if suite.split_by is not None:
        if used_split is not None:
            raise BadInput(f"suite {suite.name!r}: 'split_by' divides one task file, not splits")
        used_split = split or "test"
        tasks = divided(tasks, suite.split_by, used_split, suite.name)
    elif split is not None and used_split is None:
        tasks, used_split = _half(tasks, suite, split), split
    loaded = LoadedSuite(
        suite=suite, split=used_split, tasks=tasks, base=base, root=root, trusted=trusted
    )
    _refuse_far_files(loaded)
    refuse_remote_tools(loaded)
    return loaded


def refuse_remote_tools(suite: LoadedSuite) -> None:
    """Refuse tools that are asked over the network, unless the suite is trusted."""
    for tool in filter(is_remote, suite.suite.tools or ()):
        suite.origin(f"suite {suite.suite.name!r}").program(tool)


def _refuse_far_files(suite: LoadedSuite) -> None:
    """Refuse tasks that name files out of the suite's folder, or in a folder that is not its own.

    Links are followed here once: what sandboxed code writes later is not in this folder.
    """
    references = [(task, path) for task in suite.tasks for path in _named_files(task)]
    if suite.trusted or not references:
        return
    own_folder(suite.root)
    for task, path in references:
        suite.origin(f"task {task.id!r}").file(suite.base / path)


def _named_files(task: Task) -> list[str]:
    """List the files that a task names: its inputs, golden files, and those of its variants."""
    variants = [mapping(row) for row in listing(task.meta.get("variants"))]
    paths: list[JsonValue] = [*task.files.values()]
    for row in variants:
        paths += [*mapping(row.get("files")).values(), *listing(row.get("files"))]
    if task.check in ("spreadsheet", "output"):
        for gold in (task.answer, *(row.get("answer") for row in variants)):
            paths += listing(gold) or [gold]
    return [path for path in paths if isinstance(path, str)]


def _find(reference: str) -> Path:
    path = Path(reference)
    if path.is_dir() and not _is_spreadsheetbench(path):
        path = path / "suite.yaml"
    if reference.startswith(HUB):
        return path
    if path.exists() or file_of(reference).is_file():
        return path.resolve()
    shipped = assets.root() / "evals" / f"{reference}.yaml"
    if shipped.is_file():
        return shipped
    names = sorted(file.stem for file in shipped.parent.glob("*.yaml"))
    close = get_close_matches(str(reference), names, 1)
    shipped_names = f", or a shipped suite ({', '.join(names)})" if names else ""
    hint = f"; did you mean {close[0]!r}?" if close else ""
    if path.with_name("run.json").is_file():  # as of a `harness synth` that was stopped
        hint = f"; {reference!r} holds a run that wrote none: resume it (--resume {reference})"
    raise BadInput(
        f"no suite {reference!r}: expected a .yaml file, a folder with suite.yaml, a task file "
        f"({', '.join(SUFFIXES[:6])}), or {HUB}OWNER/NAME{shipped_names}{hint}"
    )


def _is_spreadsheetbench(path: Path) -> bool:
    """Recognise a published folder (dataset.json), or a JSONL file with rows of its shape."""
    if path.is_dir():
        return (path / "dataset.json").is_file()
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    return any("spreadsheet_path" in row for _, row in islice(read_rows(path), 1))


def _read(path: Path) -> Suite:
    if file_of(path.name).suffix in SUFFIXES or str(path).startswith(HUB):
        name = str(path) if str(path).startswith(HUB) else path.name
        return Suite(name=path.stem.replace(":", "-"), tasks=name)
    document = read_yaml(path)
    if isinstance(document, dict) and {"prompts", "tests"} <= document.keys():  # promptfoo's
        return Suite(name=path.stem, tasks=path.name)
    try:
        suite = Suite.model_validate(document)
        canonical_json(suite.model_dump(mode="json"))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'suite', Suite)}") from error
    except ValueError as error:
        raise BadInput(f"{path}: expected numbers that JSON has: {error}") from error
    return suite


def _tasks_file(suite: Suite, split: Split | None) -> tuple[str, Split | None]:
    if suite.corpus is not None:
        from harness.corpora import corpus_tasks

        used_split: Split = split or "test"
        return str(corpus_tasks(suite.corpus, used_split)), used_split
    if isinstance(suite.tasks, str):
        return suite.tasks, None
    if not suite.tasks:
        raise BadInput(f"suite {suite.name!r} names neither tasks nor a corpus")
    order: tuple[Split, ...] = ("test", "selection", "train")
    used_split = split or next(name for name in order if name in suite.tasks)
    if used_split not in suite.tasks:
        raise BadInput(
            f"suite {suite.name!r} has no split {used_split!r}, only {list(suite.tasks)}"
        )
    return suite.tasks[used_split], used_split


def _half(tasks: tuple[Task, ...], suite: Suite, split: Split) -> tuple[Task, ...]:
    """The train or selection half of a suite of one file, by the order of the ids' digests.

    Raises:
        BadInput: for the split `test`, or if the half is empty.
    """
    if split == "test":
        raise BadInput(f"suite {suite.name!r} has one task file: it has no split 'test'")
    train = set(sorted((task.id for task in tasks), key=digest)[: (len(tasks) + 1) // 2])
    half = tuple(task for task in tasks if (task.id in train) == (split == "train"))
    if not half:
        raise BadInput(f"suite {suite.name!r} has too few tasks ({len(tasks)}) to split")
    return half


def divided(
    tasks: Sequence[Task], split_by: SplitBy, split: Split, name: str = ""
) -> tuple[Task, ...]:
    """The tasks of one split, in the order of the file.

    Args:
        tasks: all of them, in the order of the file.
        split_by: how they are divided.
        split: which part.
        name: of the suite, for messages.

    Raises:
        BadInput: if there is no such part, its rows are not all there, it is empty, or parts
            overlap.
    """
    if split_by == "stratified":
        part = _stratified(tasks, split)
    else:
        rows = PAPER if split_by == "paper" else split_by
        if split not in rows:
            raise BadInput(f"suite {name!r} has no split {split!r}, only {list(rows)}")
        if any(end > begin for (_, end), (begin, _) in pairwise(sorted(rows.values()))):
            raise BadInput(f"suite {name!r}: expected splits that share no row, found {rows!r}")
        first, end = rows[split]
        if not 0 <= first <= end <= len(tasks):
            raise BadInput(
                f"suite {name!r}: split {split!r} is rows {first} to {end - 1}, and there are "
                f"{len(tasks)} tasks"
            )
        part = tuple(tasks[first:end])
    if not part:
        raise BadInput(f"suite {name!r}: the split {split!r} of {len(tasks)} tasks is empty")
    return part


def _stratified(tasks: Sequence[Task], split: Split) -> tuple[Task, ...]:
    """The split's share of each stratum, drawn by the digests of the ids: adding tasks of one
    stratum moves none of another, and the order of the file does not matter."""
    strata = grouped((str(task.meta.get("stratum", "")), task) for task in tasks)
    low, high = STRATIFIED[split]
    ids: set[str] = set()
    for members in strata.values():
        drawn = sorted(members, key=lambda task: digest(["stratified", task.id]))
        count = len(drawn)
        ids |= {task.id for task in drawn[round(low * count) : round(high * count)]}
    return tuple(task for task in tasks if task.id in ids)
