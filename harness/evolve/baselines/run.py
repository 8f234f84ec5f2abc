"""All baselines beside one evolution, on the same tasks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.core import BadInput, Usage
from harness.evals import ItemRecord, LoadedSuite, compare_paired
from harness.evolve.baselines.memory import memory
from harness.evolve.baselines.parametric import parametric
from harness.evolve.baselines.random_half import random_half
from harness.evolve.baselines.sequential import sequential
from harness.evolve.baselines.types import (
    NAMES,
    Baseline,
    BaselineName,
    BaselineRow,
    Evaluate,
    Ground,
)
from harness.rag.retrieve import open_encoder
from harness.skills import write_skill

ASKING: tuple[BaselineName, ...] = ("parametric", "sequential-1", "sequential-4")
"""Baselines that ask the model themselves."""


async def make(name: BaselineName, ground: Ground) -> Baseline:
    """Make one baseline from a finished evolution.

    Raises:
        BadInput: if it needs a model, an encoder or an index that is not there.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    started = time.monotonic()
    match name:
        case "none":
            found = Baseline(name=name, note="no skill")
        case "seed":
            found = Baseline(name=name, skill=ground.start, note="where the evolution started")
        case "parametric":
            found = await parametric(ground)
        case "sequential-1" | "sequential-4":
            found = await sequential(ground, name)
        case "random-half":
            found = await random_half(ground)
        case "memory":
            found = memory(ground)
    return replace(found, seconds=time.monotonic() - started)


async def run_baselines(
    names: Sequence[BaselineName],
    ground: Ground,
    *,
    suite: LoadedSuite,
    evaluate: Evaluate,
    evolved: Sequence[ItemRecord],
) -> list[BaselineRow]:
    """Make each baseline and run it on the tasks that the evolved skill was run on.

    Baselines are made one after the other, so that their seconds can be compared.

    Args:
        names: which baselines.
        ground: the finished evolution, with its shelf open.
        suite: the suite of the gate.
        evaluate: runs a suite under a baseline's name with a skill directory, or with none.
        evolved: attempts of the evolved skill. Of a sequential gate that stopped early they
            favour the skill: give attempts at all tasks where there is a budget for them.

    Raises:
        BadInput: for an unknown name, a missing model, encoder or index (before any call), or if
            no task of the suite was attempted with the evolved skill.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    _check(names, ground)
    attempted = {item.task_id for item in evolved}
    tasks = tuple(task for task in suite.tasks if task.id in attempted)
    if not tasks:
        raise BadInput(f"the evolved skill was run on no task of {suite.suite.name!r}")
    chosen = suite.model_copy(update={"tasks": tasks})
    rows: list[BaselineRow] = []
    for name in names:
        found = await make(name, ground)
        folder = _written(found, ground.done.evolution.options.out)
        asked = found.memories(chosen) if found.memories else chosen
        rows.append(_row(found, await evaluate(name, folder, asked), evolved))
    return rows


def _check(names: Sequence[BaselineName], ground: Ground) -> None:
    for name in names:
        if name not in NAMES:
            raise BadInput(f"expected baselines of {', '.join(NAMES)}, got {name!r}")
        if name in ASKING:
            ground.needed(name)
    if "memory" in names:
        from harness.rag.retrieve import FlatIndex

        FlatIndex(open_encoder(ground.encoder).dimension)


def _written(found: Baseline, out: Path) -> Path | None:
    """The baseline's skill on disk, in a folder of its name."""
    if found.skill is None:
        return None
    folder = out / "baselines" / found.name / found.skill.name
    write_skill(found.skill, folder)
    return folder


def _row(
    found: Baseline, items: Sequence[ItemRecord], evolved: Sequence[ItemRecord]
) -> BaselineRow:
    valid = [item for item in items if item.outcome != "invalid"]
    passes = sum(item.outcome == "pass" for item in valid)
    pairs = compare_paired(items, evolved)
    return BaselineRow(
        name=found.name,
        pass_rate=passes / len(valid) if valid else None,
        tasks=pairs.tasks,
        difference=pairs.difference,
        ci95=pairs.ci95,
        p=pairs.p,
        calls=found.usage.calls,
        tokens=found.usage.tokens,
        seconds=found.seconds,
        shared_tokens=found.shared_tokens,
        attempt_tokens=sum((item.usage for item in items), Usage()).tokens,
        skill=found.skill.digest if found.skill else None,
        losses=found.losses,
        note=found.note,
    )
