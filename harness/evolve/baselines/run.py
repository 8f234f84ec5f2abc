"""All baselines beside one evolution, on the same tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from harness.core import BadInput, Usage, Value
from harness.evals import ItemRecord, LoadedSuite, compare_paired
from harness.evolve.report import Finished
from harness.evolve.settings import NAMES, BaselineName
from harness.evolve.types import AnalystRecord
from harness.models import Model
from harness.skills import Skill, write_skill

# Baselines that ask the model themselves.
ASKING: tuple[BaselineName, ...] = ("parametric", "sequential-1", "sequential-4")
Evaluate = Callable[[str, Path | None, LoadedSuite], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs a suite under a baseline's name, with a skill directory or with none."""


@dataclass(frozen=True)
class Baseline:
    """Result of one baseline.

    Attributes:
        name: of the baseline.
        skill: the skill to run with; None to run without one.
        memories: a suite -> the suite with what is remembered in the prompts of its tasks; None
            for a baseline of a skill alone.
        usage: calls made for this baseline alone.
        seconds: wall time of making it, without the shared records.
        shared_tokens: tokens of the analysts whose records it took over.
        losses: why replies or edits could not be used.
        note: what a reader of its number must know.
    """

    name: BaselineName
    skill: Skill | None = None
    memories: Callable[[LoadedSuite], LoadedSuite] | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    shared_tokens: int = 0
    losses: tuple[str, ...] = ()
    note: str = ""


class BaselineRow(Value):
    """One baseline against the evolved skill, paired by task.

    Attributes:
        name: of the baseline.
        pass_rate: over its valid attempts; None if none was valid.
        tasks: tasks with a valid attempt on both sides.
        groups: groups of them; None where tasks have none.
        difference: pass rate of the evolved skill minus that of the baseline, over `tasks`.
        ci95: 95 % interval of the difference.
        p: two-sided p-value of the difference; not corrected for the number of baselines.
        calls: model calls that made the baseline, without the attempts at tasks.
        tokens: of those calls.
        seconds: wall time of making it.
        shared_tokens: tokens of the evolution's analysts, whose work it took over.
        attempt_tokens: tokens of the attempts at tasks.
        skill: digest of the skill; None without one.
        losses: why replies or edits could not be used.
        note: what a reader of its number must know.
    """

    name: BaselineName
    pass_rate: float | None
    tasks: int
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    calls: int
    tokens: int
    seconds: float
    shared_tokens: int
    attempt_tokens: int
    skill: str | None
    losses: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Ground:
    """Start of every baseline: the finished evolution.

    Attributes:
        done: the evolution, its artifact store open.
        model: writes skills and edits; None where no baseline asks one.
        seed: of every random choice.
    """

    done: Finished
    model: Model | None = None
    seed: int = 0

    @property
    def start(self) -> Skill:
        """The seed skill."""
        return self.done.seed

    @property
    def records(self) -> tuple[AnalystRecord, ...]:
        """The analysts' records, in their order."""
        return self.done.collected.records

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Task id -> what was asked, of the trajectories in their order."""
        runs = self.done.runs.runs
        trajectories = self.done.evolution.store.load(runs)
        return {run.task_id: t.prompt for run, t in zip(runs, trajectories, strict=True)}

    def needed(self, name: str) -> Model:
        """The model.

        Raises:
            BadInput: if there is none.
        """
        if self.model is None:
            raise BadInput(f"the baseline {name!r} asks a model: give --model")
        return self.model


async def make(name: BaselineName, ground: Ground) -> Baseline:
    """Make one baseline from a finished evolution.

    Raises:
        BadInput: if it needs a model or an encoder that is not there.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    from harness.evolve.baselines import taught, written

    started = time.monotonic()
    match name:
        case "none":
            baseline = Baseline(name=name, note="no skill")
        case "seed":
            note = "where the evolution started"
            baseline = Baseline(name=name, skill=ground.start, note=note)
        case "parametric":
            baseline = await written.parametric(ground)
        case "sequential-1" | "sequential-4":
            baseline = await written.sequential(ground, name)
        case "random-half":
            baseline = await taught.random_half(ground)
        case "memory":
            baseline = taught.memory(ground)
    return replace(baseline, seconds=time.monotonic() - started)


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
        ground: the finished evolution, with its artifact store open.
        suite: the suite of the gate.
        evaluate: runs a suite under a baseline's name with a skill directory, or with none.
        evolved: attempts of the evolved skill. Of a sequential gate that stopped early they
            favour the skill: give attempts at all tasks where there is a budget for them.

    Raises:
        BadInput: for an unknown name, a missing model or encoder (before any call), or if
            no task of the suite was attempted with the evolved skill.
        Unreachable, LimitReached: from a model; answered calls stay in its request cache.
    """
    from harness.evolve.baselines.taught import ENCODER, open_encoder

    for name in names:
        if name not in NAMES:
            raise BadInput(f"expected baselines of {', '.join(NAMES)}, got {name!r}")
        if name in ASKING:
            ground.needed(name)
        if name == "memory":
            open_encoder(ENCODER)
    attempted = {item.task_id for item in evolved}
    tasks = tuple(task for task in suite.tasks if task.id in attempted)
    if not tasks:
        raise BadInput(f"the evolved skill was run on no task of {suite.suite.name!r}")
    compared = suite.model_copy(update={"tasks": tasks})
    rows: list[BaselineRow] = []
    for name in names:
        baseline = await make(name, ground)
        folder = None
        if baseline.skill is not None:
            out = ground.done.evolution.options.out
            folder = out / "baselines" / baseline.name / baseline.skill.name
            write_skill(baseline.skill, folder)
        given_suite = baseline.memories(compared) if baseline.memories else compared
        items = await evaluate(name, folder, given_suite)
        passed = [item.outcome == "pass" for item in items if item.outcome != "invalid"]
        pairs = compare_paired(items, evolved)
        rows.append(
            BaselineRow(
                name=baseline.name,
                pass_rate=sum(passed) / len(passed) if passed else None,
                tasks=pairs.tasks,
                groups=pairs.groups,
                difference=pairs.difference,
                ci95=pairs.ci95,
                p=pairs.p,
                calls=baseline.usage.calls,
                tokens=baseline.usage.tokens,
                seconds=baseline.seconds,
                shared_tokens=baseline.shared_tokens,
                attempt_tokens=sum((item.usage for item in items), Usage()).tokens,
                skill=baseline.skill.digest if baseline.skill else None,
                losses=baseline.losses,
                note=baseline.note,
            )
        )
    return rows
