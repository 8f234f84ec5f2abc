"""A memory instead of a skill: each task gets the lessons of the earlier task most like it.

After ReasoningBank (arXiv 2509.25140), with the memory items of the evolution's own analysts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.core import Task, render
from harness.evals import LoadedSuite
from harness.evolve.baselines.types import Baseline, Ground
from harness.evolve.types import AnalystRecord
from harness.rag.retrieve import Encoder, FlatIndex, open_encoder


def memory(ground: Ground) -> Baseline:
    """The records by the prompts of their tasks.

    In deepening the seed skill stays, as before the evolution; in creation there is no skill.

    Raises:
        BadInput: if the encoder or FAISS is not installed.
    """
    encoder = open_encoder(ground.encoder)
    index = FlatIndex(encoder.dimension)
    prompts = ground.prompts
    known = [one for one in ground.records if one.task_id in prompts]
    index.add(
        [str(number) for number in range(len(known))],
        encoder.encode([prompts[one.task_id] for one in known]),
    )
    lost = [one.trajectory_id for one in ground.records if one.task_id not in prompts]

    def remembered(suite: LoadedSuite) -> LoadedSuite:
        tasks = with_memories(suite.tasks, known, index, encoder, ground.nearest)
        return suite.model_copy(update={"tasks": tasks})

    return Baseline(
        name="memory",
        skill=ground.start if ground.done.evolution.options.skill else None,
        memories=remembered,
        shared_tokens=ground.done.collected.usage.tokens,
        losses=tuple(f"{one}: no trajectory, so its task is unknown" for one in lost),
        note=f"top {ground.nearest} of {len(known)} records by {encoder.name}",
    )


def with_memories(
    tasks: Sequence[Task],
    records: Sequence[AnalystRecord],
    index: FlatIndex,
    encoder: Encoder,
    nearest: int,
) -> tuple[Task, ...]:
    """The tasks, each with the lessons of the `nearest` records of other tasks in its prompt.

    Args:
        tasks: new tasks; the index is searched by their prompts.
        records: number `i` lies in the index under the name `str(i)`.
        index: of the prompts of the records' tasks.
        encoder: that of the index.
        nearest: records a task.
    """
    if not records or not tasks:
        return tuple(tasks)
    # As many more as can belong to the task itself, which are left out.
    own = max(Counter(one.task_id for one in records).values())
    found = index.search(encoder.encode([task.prompt for task in tasks]), nearest + own)
    return tuple(
        _with_block(
            task,
            [records[int(name)] for name, _ in hits if records[int(name)].task_id != task.id],
            nearest,
        )
        for task, hits in zip(tasks, found, strict=True)
    )


def _with_block(task: Task, records: Sequence[AnalystRecord], nearest: int) -> Task:
    items = [item for one in records[:nearest] for item in one.items]
    if not items:
        return task
    block = render("memory_block", items=items)
    return task.model_copy(update={"prompt": f"{task.prompt}\n\n{block}"})
