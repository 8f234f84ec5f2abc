"""The middle stages: many patches become one, level by level (Trace2Skill section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core import Patch
from harness.evolve.analysts.fan_out import Collected, Patches
from harness.evolve.batches import batches
from harness.evolve.evolution import Event, Evolution, State, Update
from harness.evolve.merge.deterministic import merge_deterministic
from harness.evolve.merge.evidence import Citations
from harness.evolve.merge_model import MergeStep, merge_batch
from harness.evolve.types import Merge

PROMPT_CHARACTERS = 60_000
"""Patches of one merge prompt together: what a window of 32,000 tokens holds with its reply."""


def deal(evolution: Evolution, state: State) -> Update:
    """Close a level whose batches are merged; the next level is dealt from its patches."""
    levels = list(state["levels"])
    rows: list[list[Any]] = sorted(row for row in state["merged"] if row[0] == len(levels))
    if not rows:
        return {"stuck": False}
    steps = [evolution.shelf.get(str(row[2]), MergeStep) for row in rows]
    patches = tuple(step.merge.patch for step in steps)
    evolution.progress(Event(stage="reduce", message=f"level {len(levels)}: {len(patches)} left"))
    levels.append(evolution.shelf.put(Patches(patches=patches)))
    return {"levels": levels, "stuck": len(patches) == sum(step.members for step in steps)}


def open_batches(evolution: Evolution, state: State) -> int:
    """Number of batches of the current level that are to be merged; 0 if one patch is left."""
    return len(_dealt(evolution, state))


async def merge_one(evolution: Evolution, state: State, number: int) -> Update:
    """Merge one batch."""
    members = _dealt(evolution, state)[number]
    tasks, terms = tasks_of(evolution, state), frozenset(evolution.runs(state).terms)
    if evolution.merger is None or state["stuck"]:
        merge = merge_deterministic(
            members,
            tasks,
            terms,
            evolution.options.grouping,
            scopes=_scopes(evolution, state),
            citations=_citations(evolution, state),
        )
        step = MergeStep(merge=merge, members=len(members))
    else:
        step = await merge_batch(members, evolution.merger, tasks, terms)
    return {"merged": [[len(state["levels"]), number, evolution.shelf.put(step)]]}


def steps_of(evolution: Evolution, state: State) -> list[MergeStep]:
    """Every merge of every level, in order."""
    rows: list[list[Any]] = sorted(state["merged"])
    return [evolution.shelf.get(str(row[2]), MergeStep) for row in rows]


def merged(evolution: Evolution, state: State) -> Merge:
    """The final patch, with what all merges left out."""
    options, steps = evolution.options, steps_of(evolution, state)
    last = evolution.shelf.hold(state["levels"][-1], Patches).patches
    final = last[0] if last else Patch(reasoning="no patches")
    method = steps[-1].merge.method if steps else ""
    if evolution.exemplar:
        method = "exemplar (no merge)"
    elif evolution.merger is not None:
        method = f"model {evolution.merger.spec}, batches of {options.merge_batch}"
    edits = sorted(final.edits, key=lambda edit: -edit.support)
    return Merge(
        patch=final.model_copy(update={"edits": tuple(edits)}),
        discarded=tuple(one for step in steps for one in step.merge.discarded),
        conflicts=tuple(one for step in steps for one in step.merge.conflicts),
        method=method,
    )


def tasks_of(evolution: Evolution, state: State) -> Mapping[str, str]:
    """Trajectory id -> task id, of records without a trajectory too."""
    records = evolution.shelf.hold(state["collected"], Collected).records
    known = {record.trajectory_id: record.task_id for record in records}
    return known | evolution.runs(state).tasks


def _scopes(evolution: Evolution, state: State) -> dict[str, str]:
    """Text of a lesson -> when it applies, by the analysts' records."""
    records = evolution.shelf.hold(state["collected"], Collected).records
    return {item.line: item.generalization for record in records for item in record.items}


def _citations(evolution: Evolution, state: State) -> Citations:
    """What every lesson quotes, by the analysts' records."""
    records = evolution.shelf.hold(state["collected"], Collected).records
    return {
        (record.trajectory_id, item.line): item.evidence
        for record in records
        for item in record.items
    }


def _dealt(evolution: Evolution, state: State) -> list[list[Patch]]:
    patches = list(evolution.shelf.hold(state["levels"][-1], Patches).patches)
    first = len(state["levels"]) == 1
    if evolution.exemplar or not patches:
        return []
    if evolution.merger is None:
        return [patches] if first else []
    if len(patches) == 1:
        return []
    if state["stuck"]:
        return [patches]
    return [part for batch in batches(patches, evolution.options.merge_batch)
            for part in _fitting(batch)]  # fmt: skip


def _fitting(batch: list[Patch]) -> list[list[Patch]]:
    """The batch, halved until each part fits a prompt."""
    size = sum(len(edit.content) + len(edit.old_text) for one in batch for edit in one.edits)
    if size <= PROMPT_CHARACTERS or len(batch) < 2:
        return [batch]
    middle = len(batch) // 2
    return [*_fitting(batch[:middle]), *_fitting(batch[middle:])]
