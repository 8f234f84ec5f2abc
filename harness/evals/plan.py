"""Everything an eval run depends on: its attempts, its lock, and digests of every part of them.

The lock of a run decides whether it may be resumed. The digests, kept in `parts.json` beside the
records, tell sample by sample what still holds after a change (:mod:`harness.evals.reuse`).
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from shutil import copytree
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from harness.agents import Agent, SkillMode, refuse_lost_skill, without_skill
from harness.core import (
    BadInput,
    Task,
    Value,
    assets,
    digest,
    digest_file,
    digest_tree,
    first_fault,
    read_json,
    write_atomic,
)
from harness.core.rundir import RunReader
from harness.evals.suite import LoadedSuite, possible_path
from harness.models import Model, SampleLimits
from harness.tasks import output_file
from harness.tasks.files.rows import near_duplicates

PARTS_FILE = "parts.json"
SKILLS = "skills"
"""Folder of a run that keeps its skill, by digest and name."""
ROOMS = ("agents", "models", "rag", "sandbox", "skills", "tools", "vision")
"""Rooms, and wings where they are there, whose code makes an attempt; `tasks` judges it."""
DIGEST_LENGTH = 16
# A function of Python that an evolution has copied into its folder.
_COPIED = re.compile(r"py:.*/agent/([\w-]+-[0-9a-f]{12})\.py:answer")


@dataclass(frozen=True)
class EvalPlan:
    """Everything an eval run depends on.

    Attributes:
        suite: the loaded suite.
        agent: the agent; its spec is part of the lock.
        skill: skill directory, or None.
        epochs: attempts per task; each has its own seed (`seed` + epoch).
        seed: random seed, sent with every call.
        limit: take the first tasks only.
        sample_limits: of every attempt, in place of the suite's.
        judge: what is recorded of the model that judges; empty without one.
        guard: the guard in front of the agent's model, with the digest of its file if it is one.
    """

    suite: LoadedSuite
    agent: Agent
    skill: Path | None = None
    skill_mode: SkillMode | None = None
    epochs: int = 1
    seed: int = 41
    limit: int | None = None
    sample_limits: SampleLimits = field(default_factory=SampleLimits)
    judge: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    guard: str = ""

    def __post_init__(self) -> None:
        """Refuse a skill that would not reach the agent, and a script that is not there."""
        lost: set[str] = getattr(self.agent, "lost_files", set[str]())
        if lost and (lost := lost.difference(*(task.files for task in self.suite.tasks))):
            raise BadInput(
                f"the agent names {min(lost)!r}: there is no such file here, and no task brings it"
            )
        if self.skill is not None:
            mode = self.skill_mode or self.suite.suite.skill_mode
            refuse_lost_skill(self.agent, self.skill.name, mode)

    @property
    def limits(self) -> SampleLimits:
        """Limits of every attempt: the run's, or else the suite's."""
        return self.suite.suite.limits.model_copy(
            update=self.sample_limits.model_dump(exclude_none=True)
        )

    def attempts(self) -> list[tuple[Task, int]]:
        """Every (task, epoch) of the run, epochs outermost."""
        tasks = self.suite.tasks[: self.limit]
        return [(task, epoch) for epoch in range(self.epochs) for task in tasks]

    @property
    def total(self) -> int:
        """Number of attempts of the whole run, as progress shows it."""
        return self.epochs * len(self.suite.tasks[: self.limit])

    def keep_skill(self, run: Path, digest: str | None) -> None:
        """Copy the skill into the folder of a run, under its digest: its attempts can be replayed.

        A copy that a kill cut short is begun anew.
        """
        folder = run / SKILLS / (digest or "")
        if self.skill is None or folder.is_dir():
            return
        partial = folder.with_suffix(".part")
        # Links are copied as links: the folder may be given away, and where they lead is not.
        # Pipes and devices stay behind: no attempt reads them.
        copytree(
            self.skill,
            partial / self.skill.name,
            symlinks=True,
            ignore=_specials,
            dirs_exist_ok=True,
        )
        partial.rename(folder)

    def lock(self, model: Model) -> dict[str, Any]:
        """Return the content of `run.json`; a run resumes only if it is unchanged."""
        import harness

        return {
            "kind": "eval",
            "suite": self.suite.suite.name,
            "split": self.suite.split,
            "tasks": self.suite.digest,
            "skill": digest_tree(self.skill) if self.skill else None,
            "skill_name": self.skill.name if self.skill else None,
            "skill_mode": self.skill_mode or self.suite.suite.skill_mode,
            "agent": self.agent.spec,
            "model": model.spec,
            "simulated": model.simulated,
            "prompts": prompts_digest(),
            "epochs": self.epochs,
            "seed": self.seed,
            "limit": self.limit,
            "sample_limits": self.limits.model_dump(exclude_none=True),
            "version": harness.__version__,
            **({"judge": self.judge} if self.judge else {}),
            **({"guard": self.guard} if self.guard else {}),
        }


def _specials(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that are neither files, nor folders, nor links."""
    paths = [Path(folder, name) for name in names]
    return [p.name for p in paths if not (p.is_symlink() or p.is_file() or p.is_dir())]


def prompts_digest() -> str:
    """Digest of the prompt templates."""
    return digest_tree(assets.root() / "prompts")


def attempt_id(task: Task, epoch: int) -> str:
    """Id of an attempt: the task's id, with `@epoch` from the second one on."""
    return task.id if epoch == 0 else f"{task.id}@{epoch}"


class SampleParts(Value):
    """Digests of one task.

    Attributes:
        sample: its prompt and what its family reads besides.
        files: the files that it names (documents, workbooks, indexes), with their contents.
        grading: its check with its code, its answer and gold files.
        group: its group, as it is named; no digest.
    """

    sample: str
    files: str
    grading: str
    group: str = Field(default="", exclude_if=lambda value: not value)


class RunParts(Value):
    """Digests of a run, from one of its starts on.

    Attributes:
        first: number of item records that were there before.
        shared: part -> digest; the attempts of all tasks depend on these.
        scorer: of the code that judges.
        samples: task id -> its own.
        suite: how the suite was named.
        tools: those that its settings name, which an arm of a matrix may have changed.
        settings: name -> value of what `shared` has one digest of, to say which of them differ.
        carried: dollars, tokens and calls of the answers that came from another run.
        alike: where no task has a group, how many prompts have another one like them, and of how
            many that were compared.
    """

    first: int = 0
    shared: dict[str, str]
    scorer: str
    samples: dict[str, SampleParts]
    suite: str = ""
    tools: tuple[str, ...] | None = None
    settings: dict[str, JsonValue] = {}
    carried: tuple[float, int, int] = (0.0, 0, 0)
    alike: tuple[int, int] = Field(default=(0, 0), exclude_if=lambda value: not value[0])


def parts_of(plan: EvalPlan, model: str, reference: str = "") -> RunParts:
    """The parts of a run that is about to begin.

    Args:
        plan: the run.
        model: spec of the model that answers.
        reference: how the suite was named.
    """
    suite = plan.suite.suite
    elsewhere = {"name", "tasks", "corpus", "agent", "group_by"}
    settings = suite.model_dump(mode="json", exclude=elsewhere)
    settings |= {
        "limits": plan.limits.model_dump(),
        "skill_mode": plan.skill_mode or suite.skill_mode,
        "seed": plan.seed,
    }
    agent = plan.agent.spec if plan.skill else without_skill(plan.agent.spec)
    shared = {
        "skill": digest_tree(plan.skill) if plan.skill else "",
        "prompts": prompts_digest(),
        "model": digest(model),
        "agent": agent_digest(agent, plan.suite.root),
        "settings": digest(settings),
        "code": code_digest(*ROOMS),
    }
    tasks = plan.suite.tasks[: plan.limit]
    grouped = any(task.group for task in tasks)
    return RunParts(
        shared={name: value[:DIGEST_LENGTH] for name, value in shared.items()},
        scorer=code_digest("tasks"),
        samples={task.id: sample_parts(task, plan.suite.base) for task in tasks},
        suite=reference,
        tools=suite.tools,
        settings=settings,
        alike=(0, 0) if grouped else near_duplicates([task.prompt for task in tasks]),
    )


def tasks_digest(*suites: LoadedSuite | None, agent: str | None, limit: int | None = None) -> str:
    """Return the digest of the tasks of suites with all that they name, their checks and agent.

    Args:
        suites: those that there are.
        agent: spec of the agent, in place of the one that a suite names.
        limit: only so many tasks of each.
    """
    rows = list[Any]()
    for suite in filter(None, suites):
        parts = (sample_parts(task, suite.base) for task in suite.tasks[:limit])
        maker = agent_digest(agent or suite.suite.agent or "", suite.root)
        rows += [suite.digest, maker, [part.model_dump() for part in parts]]
    return digest(rows)


def sample_parts(task: Task, base: Path) -> SampleParts:
    """The digests of a task; `base` is where its files start."""
    from harness.tasks.families import is_function

    files = {name: _content(base / path) for name, path in task.files.items()}
    row = task.model_dump(mode="json", include={"prompt", "meta"})
    check, gold = task.check or "", possible_path(task)
    code = _content(base / check.rpartition(":")[0]) if is_function(check) else ""
    # An answer such as "/" is no gold file.
    grading = [task.check, task.answer, code, _content(base / gold, folder=False) if gold else ""]
    # A task that leaves a file has tools of its own: its check decides how it is attempted.
    return SampleParts(
        sample=digest([row, sorted(files), bool(output_file(task))])[:DIGEST_LENGTH],
        files=digest(files)[:DIGEST_LENGTH],
        grading=digest(grading)[:DIGEST_LENGTH],
        group=task.group,
    )


def _content(path: Path, *, folder: bool = True) -> str:
    """Digest of a file or of a folder (an index); empty where there is neither."""
    try:
        if path.is_dir():
            return digest_tree(path) if folder else ""
        if not path.is_file():  # reading a device or a pipe may never end
            return ""
        stat = path.stat()
    except (OSError, ValueError):  # an answer that happens to be no possible name
        return ""
    return _file_digest(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _file_digest(path: Path, _size: int, _changed: int) -> str:
    return digest_file(path)


def agent_digest(spec: str, root: Path) -> str:
    """Digest of an agent's spec and of the files that it names, if there are any.

    Args:
        spec: of the agent.
        root: folder of the suite, where the file is looked for behind the working folder.
    """
    if function := _COPIED.fullmatch(spec):
        spec = f"py:{function[1]}"  # as an eval calls it; its name changes with its code
    kind, _, reference = spec.partition(":")
    if kind == "graph" and ":" not in reference:
        code = digest_tree(assets.root() / "graphs")  # a graph may obtain others
    elif kind == "cmd":
        paths = (_named(word, root, folder=False) for word in shlex.split(reference))
        code = " ".join(_content(path) for path in paths if path is not None)
    else:
        path = agent_file(spec, root)
        code = "" if path is None else _content(path)
    return digest([spec, code])[:DIGEST_LENGTH]


def agent_file(spec: str, root: Path) -> Path | None:
    """The file or folder that a user's agent names before its last colon; None if there is none."""
    return _named(spec.partition(":")[2].rpartition(":")[0], root)


def _named(name: str, root: Path, *, folder: bool = True) -> Path | None:
    paths = (place / name for place in (Path.cwd(), root)) if name else ()
    return next((path for path in paths if _content(path, folder=folder)), None)


@lru_cache
def code_digest(*rooms: str) -> str:
    """Digest of the Python files of rooms of this library."""
    import harness

    root = Path(harness.__file__).parent
    files = sorted(path for room in rooms for path in (root / room).rglob("*.py"))
    digests = {path.relative_to(root).as_posix(): digest_file(path) for path in files}
    return digest(digests)[:DIGEST_LENGTH]


def write_parts(run: Path, parts: RunParts, lock: dict[str, object]) -> None:
    """Keep the parts of a run that starts or resumes; unchanged ones are not written again."""
    rows = read_parts(run)
    count = 0
    if (run / "run.json").is_file():
        reader = RunReader(run)
        if any(reader.lock.get(name) != json.loads(json.dumps(lock[name])) for name in lock):
            return  # another run: its writer will refuse
        count = sum(1 for _ in reader.items())
    if rows:
        parts = parts.model_copy(update={"carried": rows[-1].carried, "first": rows[-1].first})
        if parts == rows[-1]:
            return
    rows.append(parts.model_copy(update={"first": count}))
    write_atomic(run / PARTS_FILE, json.dumps([row.model_dump(mode="json") for row in rows]))


def read_parts(run: Path) -> list[RunParts]:
    """The parts of a run folder, one for every start at which they had changed.

    Raises:
        BadInput: if the file says something else.
    """
    path = run / PARTS_FILE
    if not path.is_file():
        return []
    try:
        return TypeAdapter(list[RunParts]).validate_python(read_json(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {first_fault(error, 'parts')}") from error
