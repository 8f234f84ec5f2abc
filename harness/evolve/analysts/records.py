"""One analyst record to one patch, and records that others recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from harness.core import BadInput, Edit, Patch, Value, first_fault, read_rows
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.repair import parse_object
from harness.evolve.types import MAX_ITEMS, AnalystRecord, Loss, MemoryItem


class RecordedPatches(Value):
    """What a file of recorded analyst records gave.

    Attributes:
        records: usable records, in file order.
        repaired: task ids of rows whose reply had been given up as unparsable and was read here.
        losses: rows that gave no record, with reasons.
        unmatched: (trajectory id, reason) of records left out.
        trimmed: records with more than three memory items (the rest was cut off).
    """

    records: tuple[AnalystRecord, ...]
    repaired: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    unmatched: tuple[tuple[str, str], ...] = ()
    trimmed: int = 0


def to_patch(record: AnalystRecord, index: int) -> Patch:
    """One record as one patch: every lesson an edit with this trajectory as its only source.

    The analyst's own edits come first; a memory item that they do not hold word for word
    follows as an edit of its own.
    """
    sources = (record.trajectory_id,)
    edits: list[Edit] = []
    seen: set[str] = set()
    for edit in record.edits:
        sourced = edit.model_copy(update={"sources": sources, "support": 1})
        found = of_edit(sourced)
        edits += [_as_edit(lesson, edit.target_section) for lesson in found] or [sourced]
        seen |= {lesson.text.casefold() for lesson in found}
    for item in record.items[:MAX_ITEMS]:
        if item.lesson.strip().casefold() not in seen:
            lesson = Lesson(title=item.title, text=item.line, sources=sources)
            edits.append(_as_edit(lesson, ""))
    changes = tuple(item.title for item in record.items[:MAX_ITEMS])
    return Patch(
        reasoning=record.summary,
        edits=tuple(edits),
        changelog_entries=changes,
        batch_index=index,
    )


def _as_edit(lesson: Lesson, target: str) -> Edit:
    return Edit(
        file="SKILL.md",
        op="append_to_section",
        target_section=lesson.section or target or "Lessons",
        content=lesson.markdown(),
        sources=lesson.sources,
        support=1,
    )


def read_recorded(
    path: Path, tasks: Mapping[str, tuple[str, str]], *, keep_unmatched: bool = False
) -> RecordedPatches:
    """Read recorded analyst records and join them to trajectories by task.

    Where the file holds several runs, only the run that covers most of the trajectories is
    taken: an analysis of another rollout of the same task is no evidence about this one.

    Args:
        path: JSONL, one analyst record a row.
        tasks: task id -> (trajectory id, outcome) of the trajectories at hand.
        keep_unmatched: keep records without a trajectory, under their own id.

    Raises:
        BadInput: if the file is missing, is no JSONL, or no row is an analyst record.
    """
    rows = [_Row(number, row) for number, row in read_rows(path)]
    if not any(row.is_record for row in rows):
        raise BadInput(f"{str(path)!r}: no row is an analyst record (trajectory_id, memory_items)")
    runs = Counter(row.run for row in rows if row.task_id in tasks)
    run = max(sorted(runs), key=lambda name: runs[name], default="")
    records: list[AnalystRecord] = []
    losses: list[Loss] = []
    unmatched: list[tuple[str, str]] = []
    for row in rows:
        reason = _unmatched(row, run, tasks)
        if reason:
            unmatched.append((row.task_id, reason))
            if not keep_unmatched:
                continue
        trajectory = row.task_id if reason else tasks[row.task_id][0]
        try:
            records.append(row.record(trajectory))
        except ValueError as error:
            losses.append(Loss(trajectory_id=trajectory, stage="analysts", reason=str(error)))
    used = [row for row in rows if keep_unmatched or not _unmatched(row, run, tasks)]
    return RecordedPatches(
        records=tuple(records),
        repaired=tuple(row.task_id for row in used if row.repaired),
        losses=tuple(losses),
        unmatched=tuple(unmatched),
        trimmed=sum(row.items > MAX_ITEMS for row in used),
    )


def _unmatched(row: _Row, run: str, tasks: Mapping[str, tuple[str, str]]) -> str:
    if row.task_id not in tasks:
        return "no trajectory with this task id"
    return "" if row.run == run else f"of run {row.run!r}; the trajectories are of {run!r}"


class _Row:
    """A row of a recorded file, with the reply of a failed parse repaired where that works."""

    def __init__(self, number: int, raw: dict[str, Any]) -> None:
        self._number, self._failure = number, ""
        self.repaired = False
        self.run = str(raw.get("_run", ""))
        self.task_id = str(raw.get("_task_id") or raw.get("task_id") or raw.get("id") or "")
        self._data = raw
        if "raw_response" in raw and "memory_items" not in raw:
            try:
                self._data, _ = parse_object(str(raw["raw_response"]))
                self.repaired = True
            except ValueError as error:
                self._failure = f"line {number}: unparsable reply: {error}"
        self.task_id = self.task_id or str(self._data.get("trajectory_id", ""))
        self.items = len(self._data.get("memory_items") or ())

    @property
    def is_record(self) -> bool:
        return "memory_items" in self._data

    def record(self, trajectory_id: str) -> AnalystRecord:
        """The row as a record.

        Raises:
            ValueError: if it is malformed; the message names the line.
        """
        if self._failure:
            raise ValueError(self._failure)
        if not self.is_record:
            raise ValueError(f"line {self._number}: no memory_items")
        try:
            return record_of(self._data, trajectory_id, self.task_id)
        except ValidationError as error:
            raise ValueError(f"line {self._number}: {first_fault(error)}") from error


def record_of(data: Mapping[str, Any], trajectory_id: str, task_id: str) -> AnalystRecord:
    """A record from an analyst's JSON; at most three items.

    Raises:
        ValidationError: if the JSON has another shape.
    """
    kind = data.get("analyst_type") or ("error" if "root_cause" in data else "success")
    edits = [_edit(one) for one in cast("list[Any]", data.get("edits") or [])]
    items = cast("list[Any]", data.get("memory_items") or [])
    return AnalystRecord.model_validate(
        {
            "kind": kind,
            "trajectory_id": trajectory_id,
            "task_id": task_id or trajectory_id,
            "summary": str(data.get("root_cause") or data.get("success_surface") or ""),
            "items": [_item(one) for one in items[:MAX_ITEMS]],
            "evidence": _quotes(data.get("evidence")),
            "edits": [edit for edit in edits if edit is not None],
        }
    )


def _item(raw: Any) -> MemoryItem:
    if not isinstance(raw, dict):
        raise ValueError(f"expected a memory item, got {raw!r}")
    row = cast("dict[str, Any]", raw)
    fields = {key: row.get(key) or "" for key in ("title", "lesson", "generalization")}
    return MemoryItem.model_validate({**fields, "evidence": _quotes(row.get("evidence"))})


def _quotes(raw: Any) -> list[str]:
    """One quote or a list of them."""
    found = cast("list[Any]", raw if isinstance(raw, list) else [raw])
    return [str(one) for one in found if one]


def _edit(raw: Any) -> Edit | None:
    """An edit, with the field names of recorded rows; None if it has no content to add."""
    if not isinstance(raw, dict):
        return None
    row = cast("dict[str, Any]", raw)
    fields = {key: row[key] for key in Edit.model_fields if key in row}
    if "target" in row and not fields.get("target_section"):
        fields["target_section"] = row["target"]
    return Edit.model_validate(fields)
