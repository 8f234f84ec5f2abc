"""Baselines of what the analysts found: half of the patches, and a memory instead of a skill."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.core import Patch, Task, Usage, assets, plugins, render
from harness.evals import LoadedSuite
from harness.evolve.artifacts import ArtifactStore
from harness.evolve.baselines.run import Baseline, Ground
from harness.evolve.evolution import SUPERSTEPS, ignore_event
from harness.evolve.types import AnalystRecord, Draft, MergeStep, Patches, Sifted
from harness.skills import ApplyResult, apply_patch

# How the memory finds similar tasks, and earlier tasks that it gives a new one (ReasoningBank: 1).
ENCODER, NEAREST = "lexical", 1


def open_encoder(name: str) -> Any:
    """The encoder of that name: `encode(texts)` gives vectors of shape (n, dimension).

    Raises:
        BadInput: if it is not installed.
    """
    return plugins.load("encoders", name)()


def memory(ground: Ground) -> Baseline:
    """A memory instead of a skill: each task gets the lessons of the earlier task most like it.

    After ReasoningBank (arXiv 2509.25140), with the memory items of the evolution's own analysts.
    In deepening the seed skill stays, as before the evolution; in creation there is no skill.

    Raises:
        BadInput: if the encoder is not installed.
    """
    encoder = open_encoder(ENCODER)
    records = [record for record in ground.records if record.task_id in ground.prompts]
    missing = [record for record in ground.records if record.task_id not in ground.prompts]
    vectors = encoder.encode([ground.prompts[record.task_id] for record in records])

    def remembered(suite: LoadedSuite) -> LoadedSuite:
        tasks = with_memories(suite.tasks, records, vectors, encoder, NEAREST)
        return suite.model_copy(update={"tasks": tasks})

    return Baseline(
        name="memory",
        skill=ground.start if ground.done.evolution.options.skill else None,
        memories=remembered,
        shared_tokens=ground.done.collected.usage.tokens,
        losses=tuple(
            f"{record.trajectory_id}: no trajectory, so its task is unknown" for record in missing
        ),
        note=f"top {NEAREST} of {len(records)} records by {encoder.name}",
    )


def with_memories(
    tasks: Sequence[Task],
    records: Sequence[AnalystRecord],
    vectors: Any,
    encoder: Any,
    nearest: int,
) -> tuple[Task, ...]:
    """The tasks, each with the lessons of the `nearest` records of other tasks in its prompt.

    Args:
        tasks: new tasks; the records are searched by their prompts.
        records: of earlier tasks.
        vectors: of the prompts of the records' tasks, shape (n, dimension).
        encoder: that made them.
        nearest: records a task.
    """
    if not records or not tasks:
        return tuple(tasks)
    similarities = encoder.encode([task.prompt for task in tasks]) @ vectors.T
    reminded: list[Task] = []
    for task, row in zip(tasks, similarities.round(6).tolist(), strict=True):
        ranked = sorted(range(len(records)), key=lambda n: (-row[n], n))
        foreign = [records[n] for n in ranked if records[n].task_id != task.id]
        items = [item for record in foreign[:nearest] for item in record.items]
        prompt = f"{task.prompt}\n\n{render('memory_block', items=items)}" if items else task.prompt
        reminded.append(task.model_copy(update={"prompt": prompt}))
    return tuple(reminded)


async def random_half(ground: Ground) -> Baseline:
    """The skill of a seeded half (rounded up) of the patches, by the evolution's own stages.

    Raises:
        Unreachable, LimitReached: from the merger.
    """
    evolved = ground.done
    patches = evolved.levels[0]
    count = (len(patches) + 1) // 2
    numbers = sorted(random.Random(ground.seed).sample(range(len(patches)), count))
    result, steps, used = await merged_skill(ground, [patches[number] for number in numbers])
    return Baseline(
        name="random-half",
        skill=result.skill,
        usage=used,
        shared_tokens=evolved.collected.usage.tokens * count // max(1, len(patches)),
        losses=(
            *(loss.reason for step in steps for loss in step.losses),
            *(reason for _, reason in result.withheld),
        ),
        note=f"{count} of {len(patches)} patches",
    )


async def merged_skill(
    ground: Ground, patches: Sequence[Patch]
) -> tuple[ApplyResult, list[MergeStep], Usage]:
    """The skill that the evolution would have made of these patches, in a store in memory.

    Raises:
        Unreachable, LimitReached: from the merger.
    """
    evolved, store = ground.done, ArtifactStore()
    options = evolved.evolution.options.model_copy(update={"select": "all"})
    again = replace(
        evolved.evolution, options=options, store=store, kept=evolved.evolution.store,
        progress=ignore_event,
    )  # fmt: skip
    start = {
        "runs": store.put(evolved.runs),
        "collected": store.put(evolved.collected),
        "claims": store.put(Sifted(checked=evolved.claims)),
        "levels": [store.put(Patches(patches=tuple(patches)))],
    }
    graph: Any = assets.load_object("graphs/trace2skill.py:build_merge", assets.root())()
    try:
        config: Any = {"recursion_limit": SUPERSTEPS}
        state = await graph.compile().ainvoke(start, config, context=again)
        result = apply_patch(ground.start, store.get(state["final"], Draft).patch)
        steps = again.steps(state)
    finally:
        store.close()
    spent = [Usage.model_validate(usage) for usage in state["spent"]]
    return result, steps, sum((step.usage for step in steps), sum(spent, Usage()))
