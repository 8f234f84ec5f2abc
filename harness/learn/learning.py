"""From the logs on a machine to a skill: gather, show what would be sent, evolve."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from harness.core import (
    BadInput,
    Task,
    Value,
    digest,
    read_json,
    remove_tree,
    write_atomic,
    write_json,
)
from harness.core.redaction import Redactor
from harness.core.segments import only_writer
from harness.evolve import (
    RESULT,
    Event,
    EvolveResult,
    ignore_event,
    read_result,
    run_evolution,
)
from harness.learn.gathering import (
    SENT,
    SESSIONS,
    Gathered,
    Read,
    inside,
    read_sessions,
    write_sessions,
)
from harness.learn.rebuilding import rebuild
from harness.learn.review import REVIEW, decided, review_text
from harness.learn.session_logs import Spans
from harness.learn.types import LearnSettings, Rebuilt, Skipped
from harness.models import ADDRESSES, ModelSpec, parse_roles, public_url
from harness.sandbox import Sandbox, SandboxUnavailable, select
from harness.skills import ANALYST_RECORDS

GATHERED, SUITE = "learn.json", "suite"
LEAST_TASKS = 4  # made again, that a gate needs: half of them are held out
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
    fresh = [row for row in gathered.teaching if row.learned_by != settings.reader]
    if analysts:
        projects = ", ".join(sorted({row.project or "no folder" for row in fresh}))
        tokens = sum(row.tokens for row in fresh)
        read = len(gathered.teaching) - len(fresh)
        before = f"; it has read {read} before, which are not sent again" if read else ""
        lines.append(
            f"the analysts' model {where['analyst']}: {len(fresh)} sessions of "
            f"{projects or 'no folder'}, about {tokens:,} tokens (packaged count){before}"
        )
    if merges:
        lines.append(f"the merger's model {where['merger']}: the analysts' rules and their quotes")
    if gathered.gate:
        held = [task for task in gathered.tasks if task.held_out]
        names = ", ".join(sorted({task.repository for task in held}))
        lines.append(
            f"the agent's model {where['agent']}: prompts and files of {names} for the "
            f"{len({task.task for task in held})} tasks that the gate runs ({settings.out / SUITE})"
        )
        if (settings.agent or "").startswith(("cmd:", "graph:")):
            lines.append(f"the agent {settings.agent}, wherever it sends them: the same")
    return lines


def place(spec: ModelSpec, base_url: str | None, environment: Mapping[str, str]) -> str:
    """A model and its base URLs, or that it answers on this machine."""
    variable, default = ADDRESSES.get(spec.kind, ("", ""))
    override = base_url if variable or spec.kind == "local" else ""
    url = override or environment.get(variable) or default
    return f"{spec} at {public_url(url)}" if url else f"{spec} (on this machine)"


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
    anew: bool = False,
    environment: Mapping[str, str] = os.environ,
    progress: Progress = ignore_event,
) -> Gathered:
    """Read, judge and redact sessions, and make their tasks again; no model is called.

    What an earlier call with the same settings gathered into `settings.out`, and nothing has been
    learned from, is taken as it is, so that what was shown is what is sent. Else new sessions come
    to those that were learned from before, and what the user decided in `review.md` holds.

    Args:
        settings: of the learning.
        anew: look at the logs again, even if what was gathered has not been sent.
        environment: where `HOME` and the folders of the clients are looked up.
        progress: called with every event.

    Raises:
        BadInput: if there is nothing to read, or `out` holds something else.
    """
    out, earlier = settings.out, _gathered(settings.out)
    sessions = decided(earlier.sessions, out / REVIEW)
    waiting = any(row.teaches and not row.learned_by for row in sessions)
    if earlier.key == settings.gathering and waiting and not anew and sessions == earlier.sessions:
        progress(Event(stage="resume", message=f"sessions gathered before: {out / GATHERED}"))
        return earlier
    skipped: list[Skipped] = []
    excluded = tuple(dict.fromkeys((*earlier.excluded, *settings.exclude)))
    effective = settings.model_copy(update={"exclude": excluded})
    sessions = tuple(
        r for r in sessions if not any(inside(r.project, folder) for folder in excluded)
    )
    with only_writer(out):
        reads = read_sessions(effective, environment, skipped, progress)
        redactor = Redactor(thorough=True, home=Path(environment.get("HOME") or Path.home()))
        withheld = {row.key for row in sessions if row.withheld}
        free = [read for read in reads if read.key not in withheld]
        tasks, rebuilt = _tasks(settings, free, redactor, progress)
        no_gate = (
            "no gate was asked for"
            if settings.gate == "none"
            else f"{len(rebuilt)} tasks could be made again, a gate needs {LEAST_TASKS}"
            if len(rebuilt) < LEAST_TASKS
            else ""
        )
        ordered = sorted(rebuilt, key=lambda task: digest([settings.seed, task.id]))
        gate = [] if no_gate else ordered[: len(ordered) // 2]
        if gate:
            _write_suite(out / SUITE, "gate", "gate", gate)
        held_out = {task.id for task in gate}
        rows, suspects = write_sessions(reads, sessions, held_out, out, redactor)
        gathered = Gathered(
            key=settings.gathering,
            sessions=rows,
            skipped=tuple(skipped),
            tasks=tuple(row.model_copy(update={"held_out": row.task in held_out}) for row in tasks),
            gate=str(out / SUITE / "gate.yaml") if gate else "",
            no_gate=no_gate,
            redactions=dict(sorted(redactor.counts.items())),
            tokens=sum(row.tokens for row in rows if row.teaches),
            folder=str(out / SESSIONS),
            sent=str(out / SENT),
            excluded=excluded,
            suspects=suspects,
        )
        write_json(out / GATHERED, gathered.model_dump(mode="json"))
        write_atomic(out / REVIEW, review_text(gathered, recipients(settings, gathered)))
    return gathered


def _gathered(out: Path) -> Gathered:
    """What the folder holds of earlier calls.

    Raises:
        BadInput: if it is damaged, or the folder holds something else.
    """
    try:
        return Gathered.model_validate_json((out / GATHERED).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        own_files = {SESSIONS, SENT, SUITE, "writer.lock"}
        foreign = out.is_dir() and any(path.name not in own_files for path in out.iterdir())
        if out.is_file() or foreign:
            reason = f"{str(out)!r} holds other files: give an empty folder for --out"
            raise BadInput(reason) from None
        return Gathered(key="", sessions=())
    except ValueError as error:
        raise BadInput(f"{str(out / GATHERED)!r} is damaged: give another --out") from error


def learn(
    settings: LearnSettings, gathered: Gathered, *, progress: Progress = ignore_event
) -> LearnResult:
    """Evolve a skill from gathered sessions; the first model call happens here.

    Calls that were answered before are not made again: an evening pays for its new sessions.

    Raises:
        HarnessError: as :func:`harness.evolve.run_evolution`.
    """
    if not gathered.teaching:
        counts = ", ".join(f"{count} {name}" for name, count in gathered.outcomes.items())
        return LearnResult(gathered=gathered, reason=f"no session teaches anything ({counts})")
    gate = Path(gathered.gate) if gathered.gate else None
    evolution = settings.evolution(Path(gathered.folder), gate)
    ended, skill = read_result(evolution.out), evolution.out / "skill"
    if ended and ended.given != evolution.given_content() and skill.is_dir():
        # The skill of an evening before stays beside the one that grows.
        shutil.copytree(skill, settings.out / "earlier" / ended.identity[:12], dirs_exist_ok=True)
        (evolution.out / RESULT).unlink()
    evolved = run_evolution(evolution, progress=progress)
    _cite_logs(evolution.out / ANALYST_RECORDS, gathered)
    staged = evolved.gate.verdict == "not gated" and evolved.edits > 0
    rows = tuple(
        row.model_copy(update={"learned_by": settings.reader}) if row.teaches else row
        for row in gathered.sessions
    )
    gathered = gathered.model_copy(update={"sessions": rows})
    write_json(settings.out / GATHERED, gathered.model_dump(mode="json"))
    return LearnResult(gathered=gathered, evolved=evolved, staged=staged)


def _cite_logs(records: Path, gathered: Gathered) -> None:
    """Write into the analysts' records which line of which log holds each quote."""
    document = read_json(records)
    sessions = {row.id: row for row in gathered.teaching if Path(row.file).is_file()}
    for record in document:
        if (row := sessions.get(record["trajectory_id"])) is None:
            continue
        spans, session = Spans(Path(row.file)), Path(gathered.folder) / f"{row.name}.json"
        steps = {step["step_id"]: step for step in read_json(session)["steps"]}
        for text, location in zip(
            record["evidence"], record.get("evidence_places", ()), strict=False
        ):
            step = steps.get(location["step"], {})
            calls = [call["tool_call_id"] for call in step.get("tool_calls") or ()]
            keys = [*calls, step.get("timestamp") or row.started]
            words = (text, *location["passage"].split("\n"), *keys)
            line = next(filter(None, (spans.line_of(word, keys) for word in words)), 1)
            location["log"] = f"{row.file}:{line}"
    write_json(records, document)


def _tasks(
    settings: LearnSettings,
    reads: Sequence[Read],
    redactor: Redactor,
    progress: Progress,
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
        except BadInput as error:
            row = row.model_copy(update={"why_not": str(error)})
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle
            # What a log names may be anything: one that is odd must not end the others.
            row = row.model_copy(update={"why_not": f"cannot be made again: {error!s:.200}"})
        else:
            rebuilt[read.task] = task, command
            update = {name: task.meta[name] for name in ("commit", "verified", "repository")}
            update |= {"task": read.task, "command": redactor.text(command)}
            row = row.model_copy(update=update)
        rows.append(row)
        progress(Event(stage="tasks", done=number, total=len(reads)))
    tasks = [task for task, _ in rebuilt.values()]
    if tasks:
        _write_suite(folder, "suite", "tasks", tasks)
    return rows, tasks


def _write_suite(folder: Path, name: str, file: str, tasks: Sequence[Task]) -> None:
    """A suite that `harness eval` runs."""
    rows = "".join(f"{task.model_dump_json(exclude_none=True)}\n" for task in tasks)
    write_atomic(folder / f"{file}.jsonl", rows)
    suite = {"name": f"learned-{name}", "tasks": f"{file}.jsonl", "tools": TOOLS, "max_turns": 40}
    write_atomic(folder / f"{name}.yaml", yaml.safe_dump(suite, sort_keys=False))
