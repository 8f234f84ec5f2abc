"""The first stages: trajectories, and a fleet of analysts over them (Trace2Skill section 2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.core import BadInput, Patch, Usage, Value
from harness.evolve.analysts.exemplar import exemplar_patch
from harness.evolve.analysts.records import RecordedPatches, to_patch
from harness.evolve.analysts.single import Reading, teaches, write_patch
from harness.evolve.evidence import outcome, task_id
from harness.evolve.evolution import Event, Evolution, State, Update, detached
from harness.evolve.formats.records import read_any_records
from harness.evolve.runs import load, take_in
from harness.evolve.types import AnalystRecord, Loss

WAVE = 1024
"""Analysts per superstep: many more than run at one time, few enough for small checkpoints."""


class Collected(Value):
    """What the analysts brought back together.

    Attributes:
        records: in the order of the trajectories.
        losses: what was dropped.
        usage: of all analysts.
        recorded: what a file of recorded records gave, if there was one.
    """

    records: tuple[AnalystRecord, ...] = ()
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()
    recorded: RecordedPatches | None = None


class Patches(Value):
    """The patches of one level of the merge; level 0 is one a record."""

    patches: tuple[Patch, ...] = ()


async def rollouts(evolution: Evolution, state: State) -> Update:
    """Make the trajectories, or read those that are given, and put them on the shelf."""
    from harness.trajectories import open_trajectories

    path, used = evolution.options.trajectories, Usage()
    if evolution.rollouts is not None:
        path, used = await detached(evolution.rollouts())
    if path is None:
        raise BadInput("no trajectories: give --trajectories PATH, or --suite to make some")
    runs = take_in(open_trajectories(path), evolution.shelf)
    fleet = [
        number
        for number, run in enumerate(runs.runs)
        if evolution.read is not None and teaches(run.outcome, evolution.options.signal)
    ]
    evolution.progress(Event(stage="rollouts", message=f"{len(runs.runs)} trajectories"))
    return {
        "runs": evolution.shelf.put(runs),
        "fleet": fleet,
        "sent": 0,
        "spent": [used.model_dump(mode="json")],
    }


def send_wave(evolution: Evolution, state: State) -> Update:
    """Let the next analysts start."""
    evolution.total = len(state["fleet"])
    evolution.done = len(state["readings"])
    return {"sent": min(state["sent"] + WAVE, len(state["fleet"]))}


def wave(state: State) -> Sequence[int]:
    """Numbers of the trajectories whose analysts are to start now."""
    started = (state["sent"] - 1) // WAVE * WAVE if state["sent"] else 0
    units = state["fleet"][started : state["sent"]]
    return units if len(state["readings"]) < state["sent"] else ()


async def read_one(evolution: Evolution, state: State, number: int) -> Update:
    """One analyst reads one trajectory and writes its patch.

    Both calls stand in one node: a patch needs its own record only, and no other analyst's.
    """
    assert evolution.read is not None, "a fleet needs a reader"
    run = evolution.runs(state).runs[number]
    (trajectory,) = load([run], evolution.shelf)
    kind = teaches(run.outcome, evolution.options.signal)
    assert kind is not None, "the fleet holds runs that teach"
    found = await detached(evolution.read(trajectory, kind))
    if found.record is not None:
        record, losses = await _sifted(evolution, state, found.record)
        found = found.model_copy(update={"record": record, "losses": (*found.losses, *losses)})
    if found.record is not None and evolution.mapper is not None:
        mapped = await write_patch(found.record, number + 1, evolution.mapper, evolution.seed.text)
        found = Reading(
            record=found.record,
            patch=mapped.patch,
            losses=(*found.losses, *mapped.losses),
            usage=found.usage + mapped.usage,
        )
    evolution.read_so_far()
    return {"readings": [[number, evolution.shelf.put(found)]]}


async def _sifted(
    evolution: Evolution, state: State, record: AnalystRecord
) -> tuple[AnalystRecord | None, tuple[Loss, ...]]:
    """The record without lessons whose evidence passed runs show more often.

    In threads, since other replies must not wait; in none where there is nothing to compare with.
    """
    contrast = evolution.sample or await asyncio.to_thread(evolution.contrast, state)
    return await asyncio.to_thread(contrast.sift, record) if contrast.passed else (record, ())


def collect(evolution: Evolution, state: State) -> Update:
    """The records of all analysts, and one patch a record."""
    options = evolution.options
    if evolution.exemplar:
        runs = evolution.runs(state).runs
        taught = load([r for r in runs if teaches(r.outcome, options.signal)], evolution.shelf)
        found, patches = Collected(), [exemplar_patch(list(taught), options.examples)]
    elif options.patches is not None:
        found = _recorded(evolution, state)
        patches = [to_patch(one, index) for index, one in enumerate(found.records, start=1)]
    else:
        found, patches = _read(evolution, state)
    evolution.progress(Event(stage="map", message=f"{len(patches)} patches"))
    return {
        "collected": evolution.shelf.put(found),
        "levels": [evolution.shelf.put(Patches(patches=tuple(patches)))],
    }


def _read(evolution: Evolution, state: State) -> tuple[Collected, list[Patch]]:
    rows: list[list[Any]] = sorted(state["readings"], key=lambda row: row[0])
    readings = [evolution.shelf.get(str(key), Reading) for _, key in rows]
    told = [one for one in readings if one.record is not None]
    patches = [
        one.patch or to_patch(one.record, index)
        for index, one in enumerate(told, start=1)
        if one.record is not None
    ]
    found = Collected(
        records=tuple(one.record for one in told if one.record is not None),
        losses=tuple(loss for one in readings for loss in one.losses),
        usage=sum((one.usage for one in readings), Usage()),
    )
    return found, patches


def _recorded(evolution: Evolution, state: State) -> Collected:
    options = evolution.options
    assert options.patches is not None, "recorded records come from a file"
    outcomes = {
        task_id(one): (one.trajectory_id, outcome(one))
        for one in evolution.runs(state).load(evolution.shelf)
    }
    found = read_any_records(options.patches, outcomes, keep_unmatched=options.keep_unmatched)
    wanted = ("error", "success") if options.signal == "combined" else (options.signal,)
    return Collected(
        records=tuple(one for one in found.records if one.kind in wanted),
        losses=found.losses,
        recorded=found.model_copy(update={"records": ()}),
    )
