"""The methods that are compared: ours, with parts taken away, and simple ones beside it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from benchmarks.evolution.recovery.arena import Arena, Attempt
from benchmarks.evolution.recovery.rivals import gepa, skillopt
from harness.core import AgentInfo, Step, Task, Trajectory
from harness.evolve import EvolveOptions, evolve
from harness.evolve.analysts.single import write_patch
from harness.evolve.merge.similarity import tfidf_similarities
from harness.evolve.types import AnalystRecord, MemoryItem
from harness.models import open_model
from harness.skills import apply_patch, load_skill, new_skill
from harness.trajectories import TrajectoryStore

PerTask = Callable[[Task], str]
Learn = Callable[[Arena], str | PerTask]


def nothing(arena: Arena) -> str:
    """No skill."""
    return ""


def evolved(
    arena: Arena,
    *,
    merge: Literal["model", "deterministic"] = "deterministic",
    share: float = 1.0,
    contrast: bool = True,
) -> str:
    """Our evolution, as `harness evolve --signal error` runs it; the text of SKILL.md.

    Args:
        merge: who merges.
        share: part of the failed runs that is used (the random half).
        contrast: whether runs that passed are at hand; no analyst reads them.
    """
    attempts = [arena.attempt("", task) for task in arena.train]
    failed = [attempt for attempt in attempts if not attempt.passed]
    passed = [attempt for attempt in attempts if attempt.passed and contrast]
    if share < 1.0:
        failed = random.Random(arena.seed).sample(failed, round(share * len(failed)))
    spec = f"simulated/orders-analyst?error={arena.error}&seed={arena.seed}"
    model = open_model(spec, role="analyst", concurrency=128)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with TrajectoryStore(root / "runs") as store:
            for attempt in [*failed, *passed]:
                store.append(_trajectory(attempt))
        options = EvolveOptions(
            out=root / "out", create="order-desk", trajectories=root / "runs", signal="error",
            merge=merge,
        )  # fmt: skip
        result = asyncio.run(evolve(options, model=model))
        arena.calls += result.calls
        return load_skill(Path(result.skill)).text


def _trajectory(attempt: Attempt) -> Trajectory:
    """An attempt as the eval runner stores it."""
    reasoning = attempt.log.partition("REASONING ")[2].partition("\n")[0]
    final_step = Step(
        step_id=2, source="agent", message=attempt.answer, reasoning_content=reasoning
    )
    facts: dict[str, JsonValue] = {
        "task_id": attempt.task.id, "outcome": "pass" if attempt.passed else "fail",
        "answer": attempt.answer, "simulated": True, "task": {"prompt": attempt.task.prompt},
    }  # fmt: skip
    return Trajectory(
        trajectory_id=attempt.task.id,
        agent=AgentInfo(name="order-desk", version="1"),
        steps=(Step(step_id=1, source="user", message=attempt.task.prompt), final_step),
        extra={"harness": facts},
    )


def failures(arena: Arena) -> list[Attempt]:
    """The attempts without a skill that failed."""
    attempts = [arena.attempt("", task) for task in arena.train]
    return [attempt for attempt in attempts if not attempt.passed]


def all_lessons(arena: Arena) -> str:
    """Every lesson of every failed run, one under the other."""
    return bullets(lesson for lessons in _lessons(arena) for lesson in lessons)


def one_lesson(arena: Arena) -> str:
    """One lesson drawn at random."""
    lessons_in_order = [lesson for lessons in _lessons(arena) for lesson in lessons]
    return (
        bullets(random.Random(arena.seed).sample(lessons_in_order, 1)) if lessons_in_order else ""
    )


def _lessons(arena: Arena) -> list[list[str]]:
    return [arena.lessons(attempt) for attempt in failures(arena)]


def sequential(arena: Arena, batch: int) -> str:
    """One skill, refined record by record (B = `batch`): no support is ever counted.

    The model is shown the skill so far and the next records; a step that fails keeps the skill.
    """
    spec = f"simulated/orders-analyst?error={arena.error}&seed={arena.seed}"
    model = open_model(spec, role="analyst", concurrency=1)
    lessons_by_attempt = _lessons(arena)

    async def refine() -> str:
        skill = new_skill("order-desk", "Rules for order desk.", "\n# Order desk\n\n## Rules\n")
        for start in range(0, len(lessons_by_attempt), batch):
            items = [
                lesson
                for lessons in lessons_by_attempt[start : start + batch]
                for lesson in lessons
            ]
            record = AnalystRecord(
                kind="error",
                trajectory_id=f"step-{start}",
                task_id=f"step-{start}",
                items=tuple(MemoryItem(title="Rule", lesson=lesson) for lesson in items),
            )
            arena.calls += 1
            step = await write_patch(record, start, model, skill.text)
            if step.patch is not None:
                skill = apply_patch(skill, step.patch).skill
        return skill.text

    return asyncio.run(refine())


def nearest_memory(arena: Arena) -> PerTask:
    """ReasoningBank's retrieval, k = 1: each task gets the lessons of the most similar failure."""
    failed = failures(arena)
    lessons = [arena.lessons(attempt) for attempt in failed]
    questions = [_question(attempt.task.prompt) for attempt in failed]

    @cache
    def nearest(question: str) -> int:
        return int(tfidf_similarities([*questions, question])[-1, :-1].argmax())

    return lambda task: bullets(lessons[nearest(_question(task.prompt))])


def _question(prompt: str) -> str:
    return prompt.rpartition("Question: ")[2]


def own_knowledge(arena: Arena) -> str:
    """The parametric draft: what the model says that no log has taught it."""
    assert arena.analyst.analyst is not None
    arena.calls += 1
    idle = arena.analyst.analyst.idle
    return bullets(random.Random(arena.seed).sample(idle, 8))


def bullets(lessons: Iterable[str]) -> str:
    """Lessons as a list, equal ones once."""
    return "\n".join(f"- {lesson}" for lesson in dict.fromkeys(lessons))


CONDITIONS: dict[str, Learn] = {
    "none": nothing,
    "ours": evolved,
    "ours, merged by model": lambda arena: evolved(arena, merge="model"),
    "ours, no passed runs": lambda arena: evolved(arena, contrast=False),
    "ours, random half": lambda arena: evolved(arena, share=0.5),
    "sequential, B = 1": lambda arena: sequential(arena, 1),
    "sequential, B = 4": lambda arena: sequential(arena, 4),
    "retrieved memory": nearest_memory,
    "own knowledge": own_knowledge,
    "all lessons": all_lessons,
    "one lesson": one_lesson,
}
RIVALS: dict[str, Learn] = {"gepa": gepa.learn, "skillopt": skillopt.learn}
"""The packages from PyPI, on the same agent and analyst; see recovery/rivals."""
