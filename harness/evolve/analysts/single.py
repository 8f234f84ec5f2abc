"""The single-call analyst: one model call reads one trajectory, one more writes its patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core import Patch, Trajectory, Usage, Value, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.analysts.records import record_of, to_patch
from harness.evolve.analysts.transcript import extract
from harness.evolve.evidence import (
    mentions_gold,
    task_id,
    task_prompt,
    transcript,
    unsupported,
)
from harness.evolve.types import MAX_ITEMS, AnalystRecord, AnalystType, Loss, Signal
from harness.models import Model
from harness.trajectories import fence_untrusted


class Reading(Value):
    """What one analyst brought back from one trajectory.

    Attributes:
        record: its lessons, None if there are none that could be used.
        patch: the record as edits.
        losses: what was dropped, with reasons: nothing is dropped unseen.
        usage: of its calls.
    """

    record: AnalystRecord | None = None
    patch: Patch | None = None
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()


def teaches(found: str, signal: Signal) -> AnalystType | None:
    """Which analyst reads a run of that outcome; None if it was not scored or not asked for."""
    kinds: dict[str, AnalystType] = {"fail": "error", "pass": "success"}
    kind = kinds.get(found)
    return kind if signal in ("combined", kind) else None


async def analyse(trajectory: Trajectory, kind: AnalystType, model: Model, skill: str) -> Reading:
    """Let one analyst read one trajectory; a reply that gives no record is a loss.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    text = transcript(trajectory)
    prompt = render(
        f"analyst_{kind}",
        task=task_prompt(trajectory),
        transcript=fence_untrusted(extract(trajectory)),
        skill=skill,
        max_items=MAX_ITEMS,
    )
    record, reason, usage = await ask_json(
        model, prompt, lambda data: accepted(data, trajectory, kind, text)
    )
    if record is None:
        return Reading(losses=(lost(trajectory, reason),), usage=usage)
    kept, losses = without_gold(record, trajectory)
    return Reading(record=kept, losses=losses, usage=usage)


def accepted(
    data: Mapping[str, Any], trajectory: Trajectory, kind: AnalystType, text: str
) -> AnalystRecord:
    """An analyst's JSON as a record, with the evidence that occurs in the transcript `text`.

    An item without a quote of its own stands on those of the record.

    Raises:
        ValueError: if it has no lesson, or none of its lessons has a quote that occurs there.
    """
    fields = {**data, "analyst_type": kind}
    record = record_of(fields, trajectory.trajectory_id, task_id(trajectory))
    if not record.items:
        raise ValueError("no memory_items")
    own = {quote for item in record.items for quote in item.evidence}
    missing = set(unsupported({*record.evidence, *own}, text))
    shared = tuple(quote for quote in record.evidence if quote not in missing)
    items = tuple(
        item.model_copy(update={"evidence": tuple(q for q in item.evidence if q not in missing)})
        for item in record.items
        if (item.evidence and not missing.issuperset(item.evidence))
        or (shared and not item.evidence)
    )
    if not items:
        raise ValueError(f"no evidence quote occurs in the transcript: {sorted(missing)[:1]!r}")
    evidence = tuple(dict.fromkeys([*shared, *(q for item in items for q in item.evidence)]))
    return record.model_copy(update={"items": items, "evidence": evidence, "edits": ()})


def without_gold(
    record: AnalystRecord, trajectory: Trajectory
) -> tuple[AnalystRecord | None, tuple[Loss, ...]]:
    """The record without items that speak of the answer key or give no lesson."""
    losses: list[Loss] = []
    kept = list(record.items)
    for item in record.items:
        if not item.lesson.strip():
            losses.append(lost(trajectory, f"item without a lesson: {item.title!r}"))
            kept.remove(item)
        elif mentions_gold(f"{item.title} {item.lesson} {item.generalization}"):
            losses.append(lost(trajectory, f"item mentions the answer key: {item.title!r}"))
            kept.remove(item)
    found = record.model_copy(update={"items": tuple(kept)}) if kept else None
    return found, tuple(losses)


def lost(trajectory: Trajectory, reason: str) -> Loss:
    """A loss of the analysts' stage."""
    return Loss(trajectory_id=trajectory.trajectory_id, stage="analysts", reason=reason)


async def write_patch(record: AnalystRecord, index: int, model: Model, skill: str) -> Reading:
    """The record's patch, written by the model; where that fails, the record's own lessons.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    prompt = render("patch_map", record=record.model_dump_json(exclude={"edits"}), skill=skill)

    def accept(data: dict[str, Any]) -> Patch:
        patch = Patch.model_validate({**data, "batch_index": index})
        if not patch.edits:
            raise ValueError("no edits")
        own = tuple(
            edit.model_copy(update={"sources": (record.trajectory_id,), "support": 1})
            for edit in patch.edits
        )
        return patch.model_copy(update={"edits": own})

    patch, reason, usage = await ask_json(model, prompt, accept)
    losses: Sequence[Loss] = ()
    if patch is None:
        patch = to_patch(record, index)
        losses = (Loss(trajectory_id=record.trajectory_id, stage="map", reason=reason),)
    return Reading(record=record, patch=patch, losses=tuple(losses), usage=usage)
