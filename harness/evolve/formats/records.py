"""Recorded analyst records of any form: those of the official Trace2Skill code, and JSON lines.

The official form is a JSON list of `{instance_id, source_file, items}`; an item is a
`failure_cause`, `failure_memory` or `success_memory` with number, title, description and content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from harness.core import (
    BadInput,
    Trajectory,
    Value,
    first_fault,
    read_json,
    read_rows,
)
from harness.evolve.analysts.json_reply import parse_object
from harness.evolve.analysts.records import lost, record_of
from harness.evolve.formats.patches import read_official_patches
from harness.evolve.settings import EvolveOptions
from harness.evolve.types import (
    MAX_ITEMS,
    AnalystRecord,
    Collected,
    Loss,
    MemoryItem,
    RecordedPatches,
)

_NAMES = ("parsed_error_records.json", "parsed_success_records.json")


class OfficialItem(Value):
    """One item of a record; `relation_to_skill` and `skill_reflection` only where written."""

    type: Literal["failure_cause", "failure_memory", "success_memory"]
    number: int = 1
    title: str = ""
    description: str = ""
    content: str = ""
    relation_to_skill: str | None = None
    skill_reflection: str | None = None


class OfficialRecord(Value):
    """Record that the official parser makes of one analysis file."""

    instance_id: str
    source_file: str = ""
    items: tuple[OfficialItem, ...] = ()


def load_official(path: Path) -> list[OfficialRecord]:
    """Every field of a file of parsed records.

    Raises:
        BadInput: if the file is missing or of another shape (the field is named).
    """
    try:
        return TypeAdapter(list[OfficialRecord]).validate_python(read_json(path))
    except ValidationError as error:
        reason = first_fault(error)
        raise BadInput(f"{str(path)!r}: {reason}: expected parsed Trace2Skill records") from error


def read_official_records(path: Path) -> RecordedPatches:
    """Parsed records as analyst records: from a file, or from every such file below a folder.

    The official parser takes a success analyst's prompt file for a second analysis: a record
    `13-1_prompt` beside `13-1` is left out, and so is a second record of one task and kind.

    Raises:
        BadInput: if a file is of another shape, or a folder holds none.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for name in _NAMES for file in path.rglob(name))
    if not files:
        expected = ", ".join(_NAMES)
        raise BadInput(f"{str(path)!r}: expected one of {expected} in the folder")
    records: dict[tuple[str, str], AnalystRecord] = {}
    losses: list[Loss] = []
    trimmed = 0
    for file in files:
        rows = load_official(file)
        names = {row.instance_id for row in rows}
        for row in rows:
            causes = [item for item in row.items if item.type == "failure_cause"]
            lessons = [item for item in row.items if item.type != "failure_cause"]
            summaries = (": ".join(filter(None, (c.title, c.description))) for c in causes)
            record = AnalystRecord(
                kind="error"
                if any(item.type != "success_memory" for item in row.items)
                else "success",
                trajectory_id=row.instance_id,
                task_id=row.instance_id,
                summary="; ".join(filter(None, summaries)),
                items=tuple(
                    MemoryItem(
                        title=item.title, lesson=item.content, generalization=item.description
                    )
                    for item in lessons[:MAX_ITEMS]
                ),
                evidence=tuple(cause.content for cause in causes if cause.content),
            )
            base = row.instance_id.removesuffix("_prompt")
            if base != row.instance_id and base in names:
                reason = f"doubled: the prompt file of {base!r} was parsed as an analysis"
                losses.append(lost(row.instance_id, reason))
            elif (record.kind, record.task_id) in records:
                reason = "doubled: a record of this task and kind came before"
                losses.append(lost(row.instance_id, reason))
            elif not record.items:
                losses.append(lost(row.instance_id, "no lesson in the record"))
            else:
                trimmed += len(lessons) > MAX_ITEMS
                records[record.kind, record.task_id] = record
    return RecordedPatches(records=tuple(records.values()), losses=tuple(losses), trimmed=trimmed)


class _Row(NamedTuple):
    """A row of a recorded file.

    Attributes:
        number: its line.
        run: the run that it belongs to, "" if it names none.
        task: its task's id.
        data: the record, of a reply that could be repaired, too.
        failure: why there is no record.
        repaired: whether the reply had been given up as unparsable.
    """

    number: int
    run: str
    task: str
    data: dict[str, Any]
    failure: str
    repaired: bool


def read_recorded(
    path: Path, tasks: Mapping[str, tuple[str, str]], *, keep_unmatched: bool = False
) -> RecordedPatches:
    """Read recorded analyst records and join them to trajectories by task.

    Where the file holds several runs, only the run that covers most of the trajectories is
    taken: an analysis of another rollout of the same task is no evidence about this one. Replies
    that had been given up as unparsable (`raw_response`) are repaired where that works.

    Args:
        path: JSONL, one analyst record a row.
        tasks: task id -> (trajectory id, outcome) of the trajectories at hand.
        keep_unmatched: keep records without a trajectory, under their own id.

    Raises:
        BadInput: if the file is missing, is no JSONL, or no row is an analyst record.
    """
    rows: list[_Row] = []
    for number, raw in read_rows(path):
        data, failure, repaired = raw, "", False
        if "raw_response" in raw and "memory_items" not in raw:
            try:
                data, repaired = parse_object(str(raw["raw_response"]))[0], True
            except ValueError as error:
                failure = f"line {number}: unparsable reply: {error}"
        names = (raw.get("_task_id"), raw.get("task_id"), raw.get("id"), data.get("trajectory_id"))
        task = str(next(filter(None, names), ""))
        rows.append(_Row(number, str(raw.get("_run", "")), task, data, failure, repaired))
    if not any("memory_items" in row.data for row in rows):
        raise BadInput(f"{str(path)!r}: no row is an analyst record (trajectory_id, memory_items)")
    runs = Counter(row.run for row in rows if row.task in tasks)
    run = max(sorted(runs), key=lambda name: runs[name], default="")
    records: list[AnalystRecord] = []
    losses: list[Loss] = []
    unmatched = [
        (row.task, f"of run {row.run!r}; the trajectories are of {run!r}")
        if row.task in tasks
        else (row.task, "no trajectory with this task id")
        for row in rows
        if row.task not in tasks or row.run != run
    ]
    used = [row for row in rows if keep_unmatched or (row.task in tasks and row.run == run)]
    for row in used:
        matches = row.task in tasks and row.run == run
        trajectory = tasks[row.task][0] if matches else row.task
        try:
            if row.failure or "memory_items" not in row.data:
                raise ValueError(row.failure or f"line {row.number}: no memory_items")
            records.append(record_of(row.data, trajectory, row.task))
        except ValidationError as error:
            losses.append(lost(trajectory, f"line {row.number}: {first_fault(error)}"))
        except ValueError as error:
            losses.append(lost(trajectory, str(error)))
    return RecordedPatches(
        records=tuple(records),
        repaired=tuple(row.task for row in used if row.repaired),
        losses=tuple(losses),
        unmatched=tuple(unmatched),
        trimmed=sum(len(row.data.get("memory_items") or ()) > MAX_ITEMS for row in used),
    )


def read_collected(options: EvolveOptions, trajectories: Iterable[Trajectory]) -> Collected:
    """The records of `options.patches` of the kinds that teach.

    Raises:
        BadInput: if the file is of no known form.
    """
    assert options.patches is not None, "recorded records come from a file"
    tasks = {run.task_id: (run.trajectory_id, run.outcome) for run in trajectories}
    recorded = read_any_records(options.patches, tasks, keep_unmatched=options.keep_unmatched)
    kinds = ("error", "success") if options.signal == "combined" else (options.signal,)
    return Collected(
        records=tuple(record for record in recorded.records if record.kind in kinds),
        losses=recorded.losses,
        recorded=recorded.model_copy(update={"records": ()}),
    )


def read_any_records(
    path: Path, tasks: Mapping[str, tuple[str, str]], *, keep_unmatched: bool = False
) -> RecordedPatches:
    """Recorded analyst records of any form, joined to trajectories by task.

    Args:
        path: JSONL of recorded records; an official file of parsed records (`.json`); a folder
            with such files; or a folder of intermediates, whose `map_patches` then count as one
            record each.
        tasks: task id -> (trajectory id, outcome) of the trajectories at hand.
        keep_unmatched: keep records without a trajectory, under their own id.

    Raises:
        BadInput: if nothing there is of a known form.
    """
    if not path.is_dir() and path.suffix != ".json":
        return read_recorded(path, tasks, keep_unmatched=keep_unmatched)
    if (path / "map_patches").is_dir():
        # Our map patches name their source, the official ones only a number.
        recorded: list[AnalystRecord] = []
        for number, patch in enumerate(read_official_patches(path).levels[0], start=1):
            sources = sorted({source for edit in patch.edits for source in edit.sources})
            name = sources[0] if len(sources) == 1 else f"patch_{number:04d}"
            recorded.append(
                AnalystRecord(
                    kind="error",
                    trajectory_id=name,
                    task_id=name,
                    summary=patch.reasoning,
                    edits=patch.edits,
                )
            )
        official = RecordedPatches(records=tuple(recorded))
    else:
        official = read_official_records(path)
    records: list[AnalystRecord] = []
    for record in official.records:
        if record.task_id in tasks or keep_unmatched:
            name = tasks.get(record.task_id, (record.trajectory_id,))[0]
            records.append(record.model_copy(update={"trajectory_id": name}))
    missing = [record.task_id for record in official.records if record.task_id not in tasks]
    reason = "no trajectory with this task id"
    unmatched = tuple((name, reason) for name in missing)
    return official.model_copy(update={"records": tuple(records), "unmatched": unmatched})
