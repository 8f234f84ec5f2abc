"""What the attempts of a run were made of: digests of every part, kept beside their records.

The lock of a run says whether it may be gone on with; these digests say, sample by sample, what of
it still holds when something has changed (:mod:`harness.evals.reuse`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import Task, Value, digest, digest_file, digest_tree, write_atomic
from harness.core.rundir import RunReader
from harness.evals.plan import prompts_digest
from harness.evals.suite import possible_path
from harness.tasks import leaves_workbook
from harness.tasks.code_checks import is_function

if TYPE_CHECKING:
    from harness.evals.plan import EvalPlan

FILE = "parts.json"
ROOMS = ("agents", "check", "compress", "models", "retrieve", "sandbox", "skills", "tools")
"""Rooms of the library whose code makes an attempt; `tasks` judges it."""
LENGTH = 16


class SampleParts(Value):
    """Digests of one task.

    Attributes:
        sample: its prompt and what its family reads besides.
        files: the files that it names (documents, workbooks, indexes), with their contents.
        grading: its check with its code, its answer and gold files.
    """

    sample: str
    files: str
    grading: str


class RunParts(Value):
    """Digests of a run, from one of its starts on.

    Attributes:
        first: number of item records that were there before.
        shared: part -> digest; the attempts of all tasks depend on these.
        scorer: of the code that judges.
        samples: task id -> its own.
        suite: how the suite was named.
        tools: those that its settings name, which an arm of a matrix may have changed.
        carried: dollars, tokens and calls of the answers that came from another run.
    """

    first: int = 0
    shared: dict[str, str]
    scorer: str
    samples: dict[str, SampleParts]
    suite: str = ""
    tools: tuple[str, ...] | None = None
    carried: tuple[float, int, int] = (0.0, 0, 0)


def parts_of(plan: EvalPlan, model: str, reference: str = "") -> RunParts:
    """The parts of a run that is about to begin.

    Args:
        plan: the run.
        model: spec of the model that answers.
        reference: how the suite was named.
    """
    suite = plan.suite.suite
    settings = suite.model_dump(mode="json", exclude={"name", "tasks", "corpus", "agent"})
    settings.update(
        limits=plan.limits.model_dump(), skill_mode=plan.skill_mode or suite.skill_mode,
        seed=plan.seed,
    )  # fmt: skip
    shared = {
        "skill": digest_tree(plan.skill) if plan.skill else "",
        "prompts": prompts_digest(),
        "model": digest(model),
        "agent": digest([plan.agent.spec, _agent_code(plan.agent.spec, plan.suite.root)]),
        "settings": digest(settings),
        "code": code_digest(*ROOMS),
    }
    tasks = plan.suite.tasks[: plan.limit]
    return RunParts(
        shared={name: value[:LENGTH] for name, value in shared.items()},
        scorer=code_digest("tasks"),
        samples={task.id: sample_parts(task, plan.suite.base) for task in tasks},
        suite=reference,
        tools=suite.tools,
    )


def sample_parts(task: Task, base: Path) -> SampleParts:
    """The digests of a task; `base` is where its files start."""
    files = {name: _content(base / path) for name, path in task.files.items()}
    row = task.model_dump(mode="json", include={"prompt", "meta"})
    check = task.check or ""
    code = _content(base / check.rpartition(":")[0]) if is_function(check) else ""
    # Such a task has tools of its own: its check decides how it is attempted, too.
    return SampleParts(
        sample=digest([row, sorted(files), leaves_workbook(task)])[:LENGTH],
        files=digest(files)[:LENGTH],
        grading=digest([task.check, task.answer, code, _gold(task, base)])[:LENGTH],
    )


def _gold(task: Task, base: Path) -> str:
    answer = possible_path(task)
    return _content(base / answer) if answer else ""


def _content(path: Path) -> str:
    """Digest of a file or of a folder (an index); empty where there is neither."""
    try:
        if path.is_dir():
            return digest_tree(path)
        found = path.stat()
    except (OSError, ValueError):  # an answer that happens to be no possible name
        return ""
    return _file(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=4096)
def _file(path: Path, _size: int, _changed: int) -> str:
    return digest_file(path)


def _agent_code(spec: str, root: Path) -> str:
    """Digest of the file that an agent's spec names, looked for where it may be."""
    from harness.core import assets

    kind, _, rest = spec.partition(":")
    if kind == "graph" and ":" not in rest:
        return digest_tree(assets.root() / "graphs")  # a graph may obtain others
    name = rest.rpartition(":")[0]
    found = (_content(base / name) for base in (Path.cwd(), root)) if name else ()
    return next((one for one in found if one), "")


@lru_cache
def code_digest(*rooms: str) -> str:
    """Digest of the Python files of rooms of this library."""
    import harness

    root = Path(harness.__file__).parent
    files = sorted(path for room in rooms for path in (root / room).rglob("*.py"))
    return digest({path.relative_to(root).as_posix(): digest_file(path) for path in files})[:LENGTH]


def write_parts(run: Path, parts: RunParts, lock: dict[str, object]) -> None:
    """Keep the parts of a run that begins or goes on; unchanged ones are not written again."""
    known = read_parts(run)
    count = 0
    if (run / "run.json").is_file():
        reader = RunReader(run)
        if any(reader.lock.get(name) != json.loads(json.dumps(lock[name])) for name in lock):
            return  # another run: its writer will refuse
        count = sum(1 for _ in reader.items())
    carried = known[-1].carried if known else parts.carried
    if known and known[-1].model_copy(update={"first": 0}) == parts.model_copy(
        update={"first": 0, "carried": carried}
    ):
        return
    update = {"first": count, "carried": carried}
    rows = [*known, parts.model_copy(update=update)]
    write_atomic(run / FILE, json.dumps([row.model_dump(mode="json") for row in rows]))


def read_parts(run: Path) -> list[RunParts]:
    """The parts of a run folder, one for every start at which they had changed."""
    try:
        rows = json.loads((run / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return []
    return [RunParts.model_validate(row) for row in rows]
