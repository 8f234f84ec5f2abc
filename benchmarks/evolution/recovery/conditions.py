"""The methods that are compared."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from benchmarks.evolution.recovery.arena import Arena, Case
from benchmarks.evolution.recovery.rivals import gepa, skillopt
from harness.core import plugins
from harness.evolve import AnalystRecord, EvolveOptions, Signal, evolve
from harness.skills import count_tokens, load_skill
from harness.trajectories import TrajectoryStore
from lab.worlds import FREQUENT, Held, hear, stances, trajectory
from lab.worlds.grammar import Voice, finished

Learn = Callable[[Case], str | list[Held]]
"""A skill; or what each held-out task is given."""


def evolved(case: Case, signal: Signal) -> str:
    """Our evolution, as `harness evolve --patches FILE --merge deterministic` runs it: SKILL.md."""
    if signal in case.skills:
        return case.skills[signal]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with TrajectoryStore(root / "runs") as store:
            for run in case.attempts:
                store.append(trajectory(case.world, run))
        patches = root / "records.jsonl"
        patches.write_text(
            "".join(f"{json.dumps(recorded_row(record))}\n" for record in case.records)
        )
        options = EvolveOptions(
            out=root / "out", create="desk-work", trajectories=root / "runs", patches=patches,
            signal=signal, merge="deterministic",
        )  # fmt: skip
        case.skills[signal] = load_skill(Path(asyncio.run(evolve(options)).skill)).text
    return case.skills[signal]


def recorded_row(record: AnalystRecord) -> dict[str, object]:
    """A record in the form that analysts answer in."""
    return {
        "task_id": record.task_id,
        "analyst_type": record.kind,
        "root_cause" if record.kind == "error" else "success_surface": record.summary,
        "memory_items": [item.model_dump(mode="json") for item in record.items],
    }


def plain(case: Case, signal: Signal = "combined") -> str:
    """Every lesson, one under the other."""
    return bullets(item.line for record in records(case, signal) for item in record.items)


def plain_cut(case: Case, signal: Signal = "combined") -> str:
    """The first lessons of the plain list, as many as ours has tokens."""
    budget = count_tokens(evolved(case, signal))
    lines: list[str] = []
    for line in plain(case, signal).splitlines():
        if count_tokens("\n".join([*lines, line])) > budget:
            break
        lines.append(line)
    return "\n".join(lines)


def refined(case: Case, signal: Signal = "combined") -> str:
    """One skill, refined record by record, by a model that sees the skill so far.

    It drops a lesson that the skill says already, however it is worded, and one that contradicts a
    line of it; else it adds the lesson. It counts nothing.
    """
    lines: list[str] = []
    decided: set[str] = set()
    for record in records(case, signal):
        for item in record.items:
            signs = stances(case.world, item.line).keys()
            if not signs or not signs <= decided:
                lines.append(item.line)
                decided |= signs
    return bullets(lines)


def records(case: Case, signal: Signal) -> list[AnalystRecord]:
    """The records of the runs that teach."""
    return [record for record in case.records if signal in ("combined", record.kind)]


def remembered(case: Case) -> list[Held]:
    """A memory: each task gets the lessons of the train task most like it (ReasoningBank)."""
    encode = plugins.load("encoders", "lexical")().encode
    train = encode([task.task.prompt for task in case.tasks])
    held_out = encode([task.task.prompt for task in case.judge.held_out])
    nearest: list[int] = (held_out @ train.T).argmax(axis=1).tolist()
    return [
        hear(case.world, bullets(item.line for item in case.records[number].items))
        for number in nearest
    ]


def searched(case: Case, learn: Callable[[Arena], str]) -> str:
    """A published optimizer with as many calls as ours: an attempt and an analysis a train task."""
    return learn(Arena(case, budget=2 * case.train))


def truth(case: Case) -> str:
    """Write the best skill there could be: a remedy for every cause that two failed runs show."""
    world = case.world
    voice = Voice(world.words, random.Random(world.seed), world.steepness)
    causes = [sign for sign in world.signs if case.judge.seen.get(sign.name, 0) >= FREQUENT]
    return bullets(finished(voice.action(sign.right, sign.objects).base) for sign in causes)


def bullets(lessons: Iterable[str]) -> str:
    """Lessons as a list, equal ones once."""
    return "\n".join(f"- {lesson}" for lesson in dict.fromkeys(lessons))


def nothing(case: Case) -> str:
    """No skill."""
    return ""


CONDITIONS: dict[str, Learn] = {
    "none": nothing,
    "truth": truth,
    "ours": partial(evolved, signal="combined"),
    "ours-error": partial(evolved, signal="error"),
    "plain": plain,
    "plain-error": partial(plain, signal="error"),
    "plain-cut": plain_cut,
    "refined": refined,
    "refined-error": partial(refined, signal="error"),
    "memory": remembered,
    "gepa": partial(searched, learn=gepa.learn),
    "skillopt": partial(searched, learn=skillopt.learn),
}
