"""Analysts: one model call reads one trajectory (the single-call variant of the paper)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from harness.core import Patch, Trajectory, Usage, Value
from harness.core.prompts import render
from harness.evolve.dialogue import ask_json
from harness.evolve.evidence import (
    mentions_gold,
    outcome,
    task_id,
    task_prompt,
    transcript,
    unsupported,
)
from harness.evolve.records import record_of, to_patch
from harness.evolve.types import MAX_ITEMS, AnalystRecord, AnalystType, Loss, Signal
from harness.models.types import Model

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class Analyses(Value):
    """What a fleet of analysts brought back."""

    records: tuple[AnalystRecord, ...] = ()
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()


def teaches(trajectory: Trajectory, signal: Signal) -> AnalystType | None:
    """Which analyst reads this trajectory, None for one that was not scored or not asked for."""
    kinds: dict[str, AnalystType] = {"fail": "error", "pass": "success"}
    kind = kinds.get(outcome(trajectory))
    return kind if signal in ("combined", kind) else None


async def analyse(
    trajectories: Sequence[Trajectory],
    model: Model,
    *,
    signal: Signal = "combined",
    skill: str = "",
    concurrency: int = 16,
    on_done: Callable[[int, int], None] | None = None,
) -> Analyses:
    """Let one analyst read each trajectory, all from the same frozen skill.

    A reply that gives no record is a loss with its reason; nothing is dropped unseen.

    Raises:
        Unreachable, LimitReached: they end the work; answered calls are in the request cache.
    """
    readings: list[tuple[Trajectory, AnalystType]] = [
        (t, kind) for t in trajectories if (kind := teaches(t, signal)) is not None
    ]

    async def read(one: tuple[Trajectory, AnalystType]) -> _Reading:
        return await _read(one[0], one[1], model, skill)

    found = await side_by_side(readings, read, concurrency, on_done)
    return Analyses(
        records=tuple(record for record, _, _ in found if record is not None),
        losses=tuple(loss for _, losses, _ in found for loss in losses),
        usage=sum((usage for _, _, usage in found), Usage()),
    )


_Reading = tuple[AnalystRecord | None, list[Loss], Usage]


async def _read(trajectory: Trajectory, kind: AnalystType, model: Model, skill: str) -> _Reading:
    text = transcript(trajectory)
    prompt = render(
        f"analyst_{kind}",
        task=task_prompt(trajectory),
        transcript=text,
        skill=skill,
        max_items=MAX_ITEMS,
    )

    def accept(data: dict[str, Any]) -> AnalystRecord:
        fields = {**data, "analyst_type": kind}
        record = record_of(fields, trajectory.trajectory_id, task_id(trajectory))
        if not record.items:
            raise ValueError("no memory_items")
        missing = unsupported(record.evidence, text)
        if not record.evidence or len(missing) == len(record.evidence):
            raise ValueError(f"no evidence quote occurs in the transcript: {missing[:1]!r}")
        kept = tuple(quote for quote in record.evidence if quote not in missing)
        return record.model_copy(update={"evidence": kept, "edits": ()})

    record, reason, usage = await ask_json(model, prompt, accept)
    if record is None:
        return None, [_loss(trajectory, reason)], usage
    return *_without_gold(record, trajectory), usage


def _without_gold(
    record: AnalystRecord, trajectory: Trajectory
) -> tuple[AnalystRecord | None, list[Loss]]:
    """The record without items that speak of the answer key or give no lesson."""
    losses: list[Loss] = []
    kept = list(record.items)
    for item in record.items:
        if not item.lesson.strip():
            losses.append(_loss(trajectory, f"item without a lesson: {item.title!r}"))
            kept.remove(item)
        elif mentions_gold(f"{item.title} {item.lesson} {item.generalization}"):
            losses.append(_loss(trajectory, f"item mentions the answer key: {item.title!r}"))
            kept.remove(item)
    if not kept:
        return None, losses
    return record.model_copy(update={"items": tuple(kept)}), losses


def _loss(trajectory: Trajectory, reason: str) -> Loss:
    return Loss(trajectory_id=trajectory.trajectory_id, stage="analysts", reason=reason)


async def map_records(
    records: Sequence[AnalystRecord],
    model: Model,
    skill: str,
    *,
    concurrency: int = 16,
) -> tuple[list[Patch], list[Loss], Usage]:
    """One patch a record, written by the model; where it fails, the record's own lessons."""

    async def write(one: tuple[int, AnalystRecord]) -> tuple[Patch, list[Loss], Usage]:
        index, record = one
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
        if patch is not None:
            return patch, [], usage
        lost = Loss(trajectory_id=record.trajectory_id, stage="map", reason=reason)
        return to_patch(record, index), [lost], usage

    found = await side_by_side(list(enumerate(records, start=1)), write, concurrency)
    losses = [loss for _, lost, _ in found for loss in lost]
    return [patch for patch, _, _ in found], losses, sum((u for *_, u in found), Usage())


async def side_by_side(
    items: Sequence[ItemT],
    work: Callable[[ItemT], Awaitable[ResultT]],
    concurrency: int,
    on_done: Callable[[int, int], None] | None = None,
) -> list[ResultT]:
    """`work` on every item, at most `concurrency` at a time; results in the order of the items.

    The first exception cancels the rest and is raised as itself.
    """
    gate = asyncio.Semaphore(max(1, concurrency))
    done = 0

    async def one(item: ItemT) -> ResultT:
        nonlocal done
        async with gate:
            result = await work(item)
        done += 1
        if on_done is not None:
            on_done(done, len(items))
        return result

    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one(item)) for item in items]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in running]
