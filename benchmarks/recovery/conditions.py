"""The methods that are compared: ours, with parts taken away, and simple ones beside it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from harness.core import AgentInfo, Step, Trajectory
from harness.evolve import EvolveOptions, evolve
from harness.models import open_model
from harness.skills import load_skill
from harness.trajectories import TrajectoryStore
from recovery.arena import Arena, Attempt

Learn = Callable[[Arena], str]


def nothing(arena: Arena) -> str:
    """No skill."""
    return ""


def evolved(
    arena: Arena, *, merge: Literal["model", "deterministic"] = "deterministic", share: float = 1.0
) -> str:
    """Our evolution, as `harness evolve --signal error` runs it; the text of SKILL.md.

    Args:
        share: part of the failed runs that is used (the random half).
    """
    attempts = [arena.attempt("", task) for task in arena.train]
    failed = [one for one in attempts if not one.passed]
    if share < 1.0:
        failed = random.Random(arena.seed).sample(failed, round(share * len(failed)))
    spec = f"simulated/orders-analyst?error={arena.error}&seed={arena.seed}"
    model = open_model(spec, role="analyst", concurrency=128)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with TrajectoryStore(root / "runs") as store:
            for one in failed:
                store.append(_trajectory(one))
        options = EvolveOptions(
            out=root / "out", create="order-desk", trajectories=root / "runs", signal="error",
            merge=merge,
        )  # fmt: skip
        result = asyncio.run(evolve(options, model=model))
        arena.calls += len(failed) * (2 if merge == "model" else 1)
        return load_skill(Path(result.skill)).text


def _trajectory(one: Attempt) -> Trajectory:
    """An attempt as the eval runner stores it."""
    reasoning = one.log.partition("REASONING ")[2].partition("\n")[0]
    said = Step(step_id=2, source="agent", message=one.answer, reasoning_content=reasoning)
    facts = {
        "task_id": one.task.id, "outcome": "fail", "answer": one.answer, "simulated": True,
        "task": {"prompt": one.task.prompt},
    }  # fmt: skip
    return Trajectory(
        trajectory_id=one.task.id,
        agent=AgentInfo(name="order-desk", version="1"),
        steps=(Step(step_id=1, source="user", message=one.task.prompt), said),
        extra={"harness": facts},
    )


def all_lessons(arena: Arena) -> str:
    """Every lesson of every failed run, one under the other."""
    return bullets(lesson for lessons in _lessons(arena) for lesson in lessons)


def one_lesson(arena: Arena) -> str:
    """One lesson drawn at random."""
    found = [lesson for lessons in _lessons(arena) for lesson in lessons]
    return bullets(random.Random(arena.seed).sample(found, 1)) if found else ""


def _lessons(arena: Arena) -> list[list[str]]:
    failed = [one for task in arena.train if not (one := arena.attempt("", task)).passed]
    return [arena.lessons(one) for one in failed]


def bullets(lessons: Iterable[str]) -> str:
    """Lessons as a list, equal ones once."""
    return "\n".join(f"- {lesson}" for lesson in dict.fromkeys(lessons))


CONDITIONS: dict[str, Learn] = {
    "none": nothing,
    "ours": evolved,
    "ours, merged by model": lambda arena: evolved(arena, merge="model"),
    "ours, random half": lambda arena: evolved(arena, share=0.5),
    "all lessons": all_lessons,
    "one lesson": one_lesson,
}
