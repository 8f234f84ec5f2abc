"""One analyst's JSON to one record, and one record to one patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from harness.core import Edit, Patch, Trajectory
from harness.evolve.analysts.transcript import mentions_gold, unsupported
from harness.evolve.merge.lessons import Lesson, of_edit
from harness.evolve.types import MAX_ITEMS, AnalystRecord, AnalystType, Loss, MemoryItem


def to_patch(record: AnalystRecord, index: int) -> Patch:
    """One record as one patch: every lesson an edit with this trajectory as its only source.

    The analyst's own edits come first; a memory item that they do not hold word for word
    follows as an edit of its own.
    """
    sources = (record.trajectory_id,)
    edits: list[Edit] = []
    seen: set[str] = set()

    def append(lesson: Lesson, target: str) -> None:
        edit = Edit(
            file="SKILL.md",
            op="append_to_section",
            target_section=lesson.section or target or "Lessons",
            content=lesson.markdown(),
            sources=sources,
            support=1,
        )
        edits.append(edit)

    for edit in record.edits:
        sourced = edit.model_copy(update={"sources": sources, "support": 1})
        lessons = of_edit(sourced)
        for lesson in lessons:
            append(lesson, edit.target_section)
        edits += [] if lessons else [sourced]
        seen |= {lesson.text.casefold() for lesson in lessons}
    for item in record.items[:MAX_ITEMS]:
        if item.lesson.strip().casefold() not in seen:
            append(Lesson(title=item.title, text=item.line), "")
    return Patch(
        reasoning=record.summary,
        edits=tuple(edits),
        changelog_entries=tuple(item.title for item in record.items[:MAX_ITEMS]),
        batch_index=index,
    )


def record_of(data: Mapping[str, Any], trajectory_id: str, task: str) -> AnalystRecord:
    """A record from an analyst's JSON; at most three items.

    Raises:
        ValidationError: if the JSON has another shape.
    """

    def quotes(raw: Any) -> list[str]:
        rows = cast("list[Any]", raw if isinstance(raw, list) else [raw])
        return [str(quote) for quote in rows if quote]

    items: list[MemoryItem] = []
    for raw in cast("list[Any]", data.get("memory_items") or [])[:MAX_ITEMS]:
        if not isinstance(raw, dict):
            raise ValueError(f"expected a memory item, got {raw!r}")
        row = cast("dict[str, Any]", raw)
        fields = {
            key: row.get(key) or "" for key in ("title", "lesson", "generalization", "program")
        }
        items.append(MemoryItem.model_validate({**fields, "evidence": quotes(row.get("evidence"))}))
    edits: list[Edit] = []
    for raw in cast("list[Any]", data.get("edits") or []):
        if isinstance(raw, dict):
            row = cast("dict[str, Any]", raw)
            fields = {key: row[key] for key in Edit.model_fields if key in row}
            if "target" in row and not fields.get("target_section"):
                fields["target_section"] = row["target"]  # the name in recorded rows
            edits.append(Edit.model_validate(fields))
    return AnalystRecord.model_validate(
        {
            "kind": data.get("analyst_type") or ("error" if "root_cause" in data else "success"),
            "trajectory_id": trajectory_id,
            "task_id": task or trajectory_id,
            "summary": str(data.get("root_cause") or data.get("success_surface") or ""),
            "items": items,
            "evidence": quotes(data.get("evidence")),
            "edits": edits,
        }
    )


def accepted(
    data: Mapping[str, Any], trajectory: Trajectory, kind: AnalystType, text: str
) -> AnalystRecord:
    """An analyst's JSON as a record, with the evidence that occurs in the transcript `text`.

    An item without a quote of its own stands on those of the record.

    Raises:
        ValueError: if it has no lesson, or none of its lessons has a quote that occurs there.
    """
    fields = {**data, "analyst_type": kind}
    record = record_of(fields, trajectory.trajectory_id, trajectory.task_id)
    if not record.items:
        raise ValueError("no memory_items")
    quotes = {*record.evidence, *(quote for item in record.items for quote in item.evidence)}
    missing = set(unsupported(quotes, text))
    shared = tuple(quote for quote in record.evidence if quote not in missing)
    items: list[MemoryItem] = []
    for item in record.items:
        quotes_kept = tuple(quote for quote in item.evidence if quote not in missing)
        if quotes_kept or (shared and not item.evidence):
            items.append(item.model_copy(update={"evidence": quotes_kept}))
    if not items:
        raise ValueError(f"no evidence quote occurs in the transcript: {sorted(missing)[:1]!r}")
    evidence = dict.fromkeys([*shared, *(quote for item in items for quote in item.evidence)])
    update = {"items": tuple(items), "evidence": tuple(evidence), "edits": ()}
    return record.model_copy(update=update)


def without_gold(record: AnalystRecord) -> tuple[AnalystRecord | None, tuple[Loss, ...]]:
    """The record without items that speak of the answer key or give no lesson."""
    losses: list[Loss] = []
    items: list[MemoryItem] = []
    for item in record.items:
        if not item.lesson.strip():
            losses.append(lost(record.trajectory_id, f"item without a lesson: {item.title!r}"))
        elif mentions_gold(f"{item.title} {item.lesson} {item.generalization}"):
            reason = f"item mentions the answer key: {item.title!r}"
            losses.append(lost(record.trajectory_id, reason))
        else:
            items.append(item)
    remaining = record.model_copy(update={"items": tuple(items)}) if items else None
    return remaining, tuple(losses)


def lost(trajectory_id: str, reason: str) -> Loss:
    """A loss of the analysts' stage."""
    return Loss(trajectory_id=trajectory_id, stage="analysts", reason=reason)
