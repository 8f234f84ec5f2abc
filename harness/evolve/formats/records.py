"""Analyst records of the official Trace2Skill code, and recorded ones of any form.

The official form is a JSON list of `{instance_id, source_file, items}`; an item is a
`failure_cause`, `failure_memory` or `success_memory` with number, title, description and content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from harness.core import BadInput, Value, first_fault, read_json, write_atomic
from harness.evolve.analysts.records import RecordedPatches, read_recorded
from harness.evolve.formats.patches import read_official_patches
from harness.evolve.types import MAX_ITEMS, AnalystRecord, Loss, MemoryItem

_PROMPT = "_prompt"
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
    """What the official parser made of one analysis file."""

    instance_id: str
    source_file: str = ""
    items: tuple[OfficialItem, ...] = ()


class OfficialRecords(Value):
    """Analyst records of official files.

    Attributes:
        records: one for each task, in file order.
        losses: records left out (doubled, or without a lesson), with reasons.
        trimmed: records with more than three lessons (the rest was cut off).
    """

    records: tuple[AnalystRecord, ...]
    losses: tuple[Loss, ...] = ()
    trimmed: int = 0


_LIST = TypeAdapter(list[OfficialRecord])


def load_official(path: Path) -> list[OfficialRecord]:
    """Every field of a file of parsed records.

    Raises:
        BadInput: if the file is missing or of another shape (the field is named).
    """
    try:
        return _LIST.validate_python(read_json(path))
    except ValidationError as error:
        reason = first_fault(error)
        raise BadInput(f"{str(path)!r}: {reason}: expected parsed Trace2Skill records") from error


def dump_official(records: Sequence[OfficialRecord], path: Path) -> None:
    """Write parsed records as the official code does."""
    plain = [one.model_dump(mode="json", exclude_unset=True) for one in records]
    write_atomic(path, json.dumps(plain, ensure_ascii=False, indent=2))


def read_official_records(path: Path) -> OfficialRecords:
    """Parsed records as analyst records: from a file, or from every such file below a folder.

    The official parser takes a success analyst's prompt file for a second analysis: a record
    `13-1_prompt` beside `13-1` is left out, and so is a second record of one task and kind.

    Raises:
        BadInput: if a file is of another shape, or a folder holds none.
    """
    files = [path] if not path.is_dir() else sorted(f for n in _NAMES for f in path.rglob(n))
    if not files:
        raise BadInput(f"{str(path)!r}: expected one of {', '.join(_NAMES)} in the folder")
    found: dict[tuple[str, str], AnalystRecord] = {}
    losses: list[Loss] = []
    trimmed = 0
    for file in files:
        rows = load_official(file)
        names = {row.instance_id for row in rows}
        for row in rows:
            record = _record(row)
            reason = _left_out(row, record, names, found)
            if reason:
                losses.append(Loss(trajectory_id=row.instance_id, stage="analysts", reason=reason))
                continue
            trimmed += len(_lessons(row)) > MAX_ITEMS
            found[record.kind, record.task_id] = record
    return OfficialRecords(records=tuple(found.values()), losses=tuple(losses), trimmed=trimmed)


def _left_out(
    row: OfficialRecord,
    record: AnalystRecord,
    names: set[str],
    found: Mapping[tuple[str, str], AnalystRecord],
) -> str:
    base = row.instance_id.removesuffix(_PROMPT)
    if base != row.instance_id and base in names:
        return f"doubled: the prompt file of {base!r} was parsed as an analysis"
    if (record.kind, record.task_id) in found:
        return "doubled: a record of this task and kind came before"
    return "" if record.items else "no lesson in the record"


def _lessons(row: OfficialRecord) -> list[OfficialItem]:
    return [item for item in row.items if item.type != "failure_cause"]


def _record(row: OfficialRecord) -> AnalystRecord:
    causes = [item for item in row.items if item.type == "failure_cause"]
    failed = any(item.type != "success_memory" for item in row.items)
    said = [": ".join(filter(None, (one.title, one.description))) for one in causes]
    return AnalystRecord(
        kind="error" if failed else "success",
        trajectory_id=row.instance_id,
        task_id=row.instance_id,
        summary="; ".join(filter(None, said)),
        items=tuple(
            MemoryItem(title=one.title, lesson=one.content, generalization=one.description)
            for one in _lessons(row)[:MAX_ITEMS]
        ),
        evidence=tuple(one.content for one in causes if one.content),
    )


def write_official_records(records: Sequence[AnalystRecord], folder: Path) -> list[Path]:
    """Write `parsed_error_records.json` and `parsed_success_records.json` (where not empty).

    Read again they give the same kind, task, items, and of errors summary and evidence; the
    official form has no field for the rest (trajectory, edits, proof).
    """
    written: list[Path] = []
    for kind, name in zip(("error", "success"), _NAMES, strict=True):
        rows = [_official(record) for record in records if record.kind == kind]
        if rows:
            dump_official(rows, folder / name)
            written.append(folder / name)
    return written


def _official(record: AnalystRecord) -> OfficialRecord:
    failed = record.kind == "error"
    causes = [
        OfficialItem(
            type="failure_cause",
            number=number,
            title=record.summary if number == 1 else "",
            description="",
            content=content,
            relation_to_skill="",
        )
        for number, content in enumerate(record.evidence or ("",), start=1)
    ]
    memories = [
        OfficialItem.model_validate(
            {
                "type": "failure_memory" if failed else "success_memory",
                "number": number,
                "title": item.title,
                "description": item.generalization,
                "content": item.lesson,
                **({"skill_reflection": ""} if failed else {}),
            }
        )
        for number, item in enumerate(record.items, start=1)
    ]
    source = "analysis_report.md" if failed else f"success_analysis_{record.task_id}.md"
    return OfficialRecord(
        instance_id=record.task_id,
        source_file=source,
        items=tuple([*causes, *memories] if failed else memories),
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
        official = OfficialRecords(records=tuple(_of_patches(path)))
    else:
        official = read_official_records(path)
    records: list[AnalystRecord] = []
    unmatched: list[tuple[str, str]] = []
    for record in official.records:
        known = tasks.get(record.task_id)
        if known is None:
            unmatched.append((record.task_id, "no trajectory with this task id"))
        if known is not None or keep_unmatched:
            name = known[0] if known is not None else record.trajectory_id
            records.append(record.model_copy(update={"trajectory_id": name}))
    return RecordedPatches(
        records=tuple(records),
        losses=official.losses,
        unmatched=tuple(unmatched),
        trimmed=official.trimmed,
    )


def _of_patches(folder: Path) -> list[AnalystRecord]:
    """One record for each map patch; ours name their source, the official ones only a number."""
    found: list[AnalystRecord] = []
    for number, patch in enumerate(read_official_patches(folder).levels[0], start=1):
        sources = sorted({source for edit in patch.edits for source in edit.sources})
        name = sources[0] if len(sources) == 1 else f"patch_{number:04d}"
        data: dict[str, Any] = {"trajectory_id": name, "task_id": name, "edits": patch.edits}
        found.append(AnalystRecord(kind="error", summary=patch.reasoning, **data))
    return found
