"""From the logs on a machine to a skill: gather, show what would be sent, evolve."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from harness.core import BadInput, Task, Value, digest, remove_tree, write_atomic
from harness.core.redaction import Redactor
from harness.core.segments import only_writer
from harness.evolve import Event, EvolveResult, ignore_event, run_evolution
from harness.learn.gathering import Gathered, Read, read_sessions, write_sessions
from harness.learn.rebuilding import NotRebuilt, rebuild
from harness.learn.types import LearnSettings, Rebuilt, Skipped
from harness.models import ADDRESSES, ModelSpec, parse_roles, public_url
from harness.sandbox import Sandbox, SandboxUnavailable, select

HERE = "on this machine"
GATHERED, SUITE = "learn.json", "suite"
LEAST_TASKS = 4
"""Tasks made again that a gate needs: half of them are held out."""
TOOLS = ["bash", "python"]
Progress = Callable[[Event], None]


def recipients(
    settings: LearnSettings, gathered: Gathered, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """One line for each model that gets anything, with where it is and what it gets.

    Args:
        settings: of the learning.
        gathered: what would be sent.
        environment: where base URLs are looked up that no setting names.
    """
    roles = parse_roles(list(settings.models))
    where = {role: place(spec, settings.base_url, environment) for role, spec in roles.items()}
    analysts, merges = settings.asking
    lines: list[str] = []
    projects = ", ".join(sorted({row.project or "no folder" for row in gathered.teaching}))
    if analysts:
        lines.append(
            f"the analysts' model {where['analyst']}: {len(gathered.teaching)} sessions of "
            f"{projects or 'no folder'}, about {gathered.tokens:,} tokens (packaged count)"
        )
    if merges:
        lines.append(f"the merger's model {where['merger']}: the analysts' rules and their quotes")
    if gathered.gate:
        held = len({task.task for task in gathered.tasks if task.held_out})
        suite = settings.out / SUITE
        content = f"prompts and repository files of the {held} tasks that the gate runs ({suite})"
        lines.append(f"the agent's model {where['agent']}: {content}")
        if (settings.agent or "").startswith(("cmd:", "graph:")):
            lines.append(f"the agent {settings.agent}, wherever it sends them: the same")
    return lines


def place(spec: ModelSpec, base_url: str | None, environment: Mapping[str, str]) -> str:
    """A model and its base URLs, or that it answers on this machine."""
    url = base_url if spec.kind == "local" else None
    if spec.kind in ADDRESSES:
        variable, default = ADDRESSES[spec.kind]
        url = base_url or environment.get(variable) or default
    return f"{spec} at {public_url(url)}" if url else f"{spec} ({HERE})"


class LearnResult(Value):
    """The end of a learning.

    Attributes:
        gathered: what was read and sent.
        evolved: the evolution; None where nothing was sent.
        staged: whether the skill waits for a review, since no gate proved it.
        reason: why nothing was evolved, "" if something was.
    """

    gathered: Gathered
    evolved: EvolveResult | None = None
    staged: bool = False
    reason: str = ""


def gather(
    settings: LearnSettings,
    *,
    environment: Mapping[str, str] = os.environ,
    progress: Progress = ignore_event,
) -> Gathered:
    """Read, judge and redact sessions, and make their tasks again; no model is called.

    What an earlier call with the same settings gathered into `settings.out` is taken as it is, so
    that what was shown is what is sent.

    Raises:
        BadInput: if there is nothing to read, or `out` holds something else.
    """
    out = settings.out
    earlier: Gathered | None = None
    try:
        earlier = Gathered.model_validate_json((out / GATHERED).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError as error:
        raise BadInput(f"{str(out / GATHERED)!r} is damaged: give another --out") from error
    if earlier is not None and earlier.key == settings.gathering:
        progress(Event(stage="resume", message=f"sessions gathered before: {out / GATHERED}"))
        return earlier
    ours = {"sessions", "sent", SUITE, "writer.lock"}
    foreign = out.is_dir() and any(path.name not in ours for path in out.iterdir())
    if out.is_file() or (earlier is None and foreign):
        raise BadInput(f"{str(out)!r} holds other files: give an empty folder for --out")
    if earlier is not None and (out / "evolved").exists():
        raise BadInput(f"{str(out)!r} was made with other settings: give another --out")
    skipped: list[Skipped] = []
    with only_writer(out):
        reads = read_sessions(settings, environment, skipped, progress)
        home = Path(environment.get("HOME") or Path.home())
        redactor = Redactor(thorough=True, home=home)
        tasks, rebuilt = _tasks(settings, reads, redactor, progress)
        gate: list[Task] = []  # the half of the tasks that the gate runs
        no_gate = ""
        if settings.gate == "none":
            no_gate = "no gate was asked for"
        elif len(rebuilt) < LEAST_TASKS:
            no_gate = f"{len(rebuilt)} tasks could be made again, a gate needs {LEAST_TASKS}"
        else:
            ordered = sorted(rebuilt, key=lambda task: digest([settings.seed, task.id]))
            gate = ordered[: len(ordered) // 2]
            _write_suite(out / SUITE, "gate", "gate", gate)
        held_out = {task.id for task in gate}
        gathered = write_sessions(reads, held_out, out, redactor, settings.gathering)
        marked = tuple(
            row.model_copy(update={"held_out": row.task in held_out}) if row.task else row
            for row in tasks
        )
        gathered = gathered.model_copy(
            update={
                "skipped": tuple(skipped),
                "tasks": marked,
                "gate": str(out / SUITE / "gate.yaml") if gate else "",
                "no_gate": no_gate,
            }
        )
        text = json.dumps(gathered.model_dump(mode="json"), ensure_ascii=False, indent=1)
        write_atomic(out / GATHERED, text + "\n")
    return gathered


def learn(
    settings: LearnSettings, gathered: Gathered, *, progress: Progress = ignore_event
) -> LearnResult:
    """Evolve a skill from gathered sessions; the first model call happens here.

    Raises:
        HarnessError: as :func:`harness.evolve.run_evolution`.
    """
    if not gathered.teaching:
        counts = ", ".join(f"{count} {name}" for name, count in gathered.outcomes.items())
        return LearnResult(gathered=gathered, reason=f"no session teaches anything ({counts})")
    gate = Path(gathered.gate) if gathered.gate else None
    evolved = run_evolution(settings.evolution(Path(gathered.folder), gate), progress=progress)
    staged = evolved.gate.verdict == "not gated" and evolved.edits > 0
    return LearnResult(gathered=gathered, evolved=evolved, staged=staged)


def _tasks(
    settings: LearnSettings, reads: Sequence[Read], redactor: Redactor, progress: Progress
) -> tuple[list[Rebuilt], list[Task]]:
    """Rebuild the tasks of sessions; return the outcome for each, and the tasks."""
    folder = settings.out / SUITE
    remove_tree(folder)
    rows: list[Rebuilt] = []
    rebuilt: dict[str, tuple[Task, str]] = {}
    sandbox: Sandbox | None = None
    if settings.rebuild and settings.sandbox != "none":
        with suppress(SandboxUnavailable):
            sandbox = select(settings.sandbox)
    for number, read in enumerate(reads if settings.rebuild else (), start=1):
        row = Rebuilt(session=read.trajectory.trajectory_id or read.file.stem)
        try:
            task, command = rebuilt.get(read.task) or rebuild(
                read.trajectory, read.task, folder, sandbox, redactor
            )
        except NotRebuilt as error:
            row = row.model_copy(update={"why_not": str(error)})
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle
            # What a log names may be anything: one that is odd must not end the others.
            row = row.model_copy(update={"why_not": f"cannot be made again: {error!s:.200}"})
        else:
            rebuilt[read.task] = task, command
            facts = {name: task.meta[name] for name in ("commit", "verified")}
            shown = redactor.text(command)
            row = row.model_copy(update={"task": read.task, "command": shown, **facts})
        rows.append(row)
        progress(Event(stage="tasks", done=number, total=len(reads)))
    tasks = [task for task, _ in rebuilt.values()]
    if tasks:
        _write_suite(folder, "suite", "tasks", tasks)
    return rows, tasks


def _write_suite(folder: Path, name: str, file: str, tasks: Sequence[Task]) -> None:
    """A suite that `harness eval` runs."""
    rows = [task.model_dump_json(exclude_none=True) for task in tasks]
    write_atomic(folder / f"{file}.jsonl", "\n".join(rows) + "\n")
    suite: dict[str, Any] = {
        "name": f"learned-{name}",
        "tasks": f"{file}.jsonl",
        "tools": TOOLS,
        "max_turns": 40,
    }
    write_atomic(folder / f"{name}.yaml", yaml.safe_dump(suite, sort_keys=False))
