"""Everything an eval run depends on: its attempts, its lock, and digests of every part of them.

The lock of a run decides whether it may be resumed. The digests, kept in `parts.json` beside the
records, tell sample by sample what still holds after a change (:mod:`harness.evals.reuse`).
"""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections.abc import Iterable
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
    mapping,
    read_json,
    write_atomic,
)
from harness.core.rundir import FINISHED, RunReader
from harness.core.segments import read_segment
from harness.evals.suite import LoadedSuite, possible_path
from harness.models import Model, SampleLimits
from harness.tasks import output_file
from harness.tasks.families import is_function
from harness.tasks.files.duplicates import Alike, near_duplicates

_log = logging.getLogger(__name__)
PARTS_FILE = "parts.json"
SKILLS = "skills"
"""Folder of a run that keeps its skill, by digest and name."""
ROOMS = ("agents", "models", "rag", "sandbox", "skills", "tools", "vision")
"""Rooms, and wings where they are there, whose code makes an attempt; `tasks` judges it."""
DIGEST_LENGTH = 16
SCRIPTS = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")
"""Files of an agent that lead to others."""
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
        # Links stay links: where they lead is not given away. No attempt reads pipes or devices.
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


def records_digest(runs: Iterable[Path]) -> str:
    """Digest of the records of runs, and of what of the harness they can be resumed with."""
    import harness

    names = ("run.json", "items.seg", "trajectories.seg")
    files = [digest_file(run / name) for run in runs for name in names if (run / name).is_file()]
    return digest([harness.__version__, prompts_digest(), files])


def attempt_id(task: Task, epoch: int) -> str:
    """Id of an attempt: the task's id, with `@epoch` from the second one on."""
    return task.id if epoch == 0 else f"{task.id}@{epoch}"


def taught_by(skill: Path) -> set[str]:
    """The ids of the tasks from which a skill was evolved; none is known of a skill that moved."""
    run = skill.parent.parent / "runs" / "train"
    if skill.parent.name != "skill" or not (run / "run.json").is_file():
        return set()
    return {row["task_id"] for row in RunReader(run).items()}


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
        alike: where no task has a group, prompts with another one like them, and those compared.
        program: digest of the agent's code alone, without its spec.
        taught: tasks from which the skill was evolved.
        base_url: endpoint that was typed, without credentials; shown, and never asked by itself.
    """

    first: int = 0
    shared: dict[str, str]
    scorer: str
    samples: dict[str, SampleParts]
    suite: str = ""
    tools: tuple[str, ...] | None = None
    settings: dict[str, JsonValue] = {}
    carried: tuple[float, int, int] = (0.0, 0, 0)
    alike: Alike = Field(default=(0, 0), exclude_if=lambda value: not value[0])
    program: str = ""
    taught: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    base_url: str | None = Field(default=None, exclude_if=lambda value: not value)


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
    settings |= {"limits": plan.limits.model_dump(), "seed": plan.seed}
    settings["skill_mode"] = plan.skill_mode or suite.skill_mode
    agent = plan.agent.spec if plan.skill else without_skill(plan.agent.spec)
    folder = plan.suite.agent_folder(plan.agent.spec)
    program = _program_digest(agent, folder)
    shared = {
        "skill": digest_tree(plan.skill) if plan.skill else "",
        "prompts": prompts_digest(),
        "model": digest(model),
        "agent": agent_digest(agent, folder, program),
        "settings": digest(settings),
        "code": code_digest(*ROOMS),
    }
    tasks = plan.suite.tasks[: plan.limit]
    grouped = any(task.group for task in tasks)
    taught = taught_by(plan.skill) if plan.skill else set[str]()
    return RunParts(
        shared={name: value[:DIGEST_LENGTH] for name, value in shared.items()},
        scorer=code_digest("tasks"),
        samples={task.id: sample_parts(task, plan.suite.base) for task in tasks},
        suite=reference,
        tools=suite.tools,
        settings=settings,
        alike=(0, 0) if grouped else near_duplicates([task.prompt for task in tasks]),
        program=program,
        taught=tuple(task.id for task in tasks if task.id in taught),
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
        tasks, spec = suite.tasks[:limit], agent or suite.suite.agent or ""
        maker = agent_digest(spec, suite.agent_folder(spec))
        file_names = {t.check.rpartition(":")[0] for t in tasks if t.check and is_function(t.check)}
        file_names.update(*(task.files.values() for task in tasks))
        rows += [suite.digest, maker, [task.group for task in tasks]]
        rows += [[path, _content(suite.base / path)] for path in sorted(file_names)]
    return digest(rows)


def sample_parts(task: Task, base: Path) -> SampleParts:
    """The digests of a task; `base` is where its files start."""
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


def agent_digest(spec: str, root: Path, program: str | None = None) -> str:
    """Digest of an agent's spec and of the files that it names, if there are any.

    Args:
        spec: of the agent.
        root: folder where the file is looked for before the working folder.
        program: digest of its code, where that is known.
    """
    if function := _COPIED.fullmatch(spec):
        spec, program = f"py:{function[1]}", None  # as an eval calls it; its name has its code
    code = _program_digest(spec, root) if program is None else program
    return digest([spec, code])[:DIGEST_LENGTH]


def _program_digest(spec: str, root: Path) -> str:
    """Digest of the code of an agent: its files, with what those import or name."""
    kind, _, reference = spec.partition(":")
    if kind == "graph" and ":" not in reference:
        return digest_tree(assets.root() / "graphs")  # a graph may obtain others
    if kind == "cmd":
        paths = [_named(word, root, folder=False) for word in shlex.split(reference)]
    else:
        paths = [agent_file(spec, root)]
    return " ".join(
        assets.import_digest(path) if path.suffix in SCRIPTS else _content(path)
        for path in paths
        if path is not None
    )


def agent_file(spec: str, root: Path) -> Path | None:
    """The file or folder that a user's agent names before its last colon; None if there is none."""
    return _named(spec.partition(":")[2].partition("?")[0].rpartition(":")[0], root)


def _named(name: str, root: Path, *, folder: bool = True) -> Path | None:
    paths = (base / name for base in (root, Path.cwd())) if name else ()
    return next((path for path in paths if _content(path, folder=folder)), None)


@lru_cache
def code_digest(*rooms: str) -> str:
    """Digest of the Python files of rooms of this library."""
    import harness

    root = Path(harness.__file__).parent
    files = sorted(path for room in rooms for path in (root / room).rglob("*.py"))
    digests = {path.relative_to(root).as_posix(): digest_file(path) for path in files}
    return digest(digests)[:DIGEST_LENGTH]


def write_parts(run: Path, parts: RunParts) -> None:
    """Keep the parts of a run that starts or resumes; unchanged ones are not written again."""
    rows = read_parts(run)
    if rows:
        parts = parts.model_copy(update={"carried": rows[-1].carried, "first": rows[-1].first})
        if parts == rows[-1]:
            return
    count = sum(1 for _ in read_segment(run / "items.seg"))
    if rows and count and rows[-1].shared.get("agent") != parts.shared["agent"]:
        if (run / FINISHED).is_file() and not mapping(read_json(run / FINISHED)).get("invalid"):
            raise BadInput(f"{str(run)!r} ended with other code of the agent: name another --out")
        _log.warning(f"{run}: {count} attempts are of other code of the agent; --from repeats them")
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
