"""Runs of suites inside an evolution: for its analysts, its selection and its gate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

from harness.core import BadInput, Usage
from harness.evals import (
    EvalSettings,
    Evaluator,
    ItemRecord,
    LoadedSuite,
    Split,
    Tally,
    load_suite,
    records,
)
from harness.evolve.evolution import Evaluate, Event, Rollouts, Trials, tally_event
from harness.evolve.selection import CANDIDATES, most_trials
from harness.evolve.settings import EvolveSettings
from harness.models import Budget, Spend


def gate_suite(settings: EvolveSettings) -> LoadedSuite | None:
    if settings.gate == "none" or (settings.gate == "auto" and settings.suite is None):
        return None
    reference = cast("str", settings.suite) if settings.gate == "auto" else settings.gate
    return split_of(settings, reference, "selection")


def split_of(settings: EvolveSettings, reference: str, split: Split) -> LoadedSuite:
    """The named split; a suite of one task file is taken whole where nothing else needs it."""
    whole = load_suite(reference)
    needs_no_split = reference != settings.suite or settings.gate == "none"
    if whole.split is None and needs_no_split:
        return whole
    return load_suite(reference, split)


async def attempts(
    settings: EvolveSettings,
    suite: LoadedSuite,
    folder: Path,
    skill: Path | None,
    purse: Budget,
    progress: Callable[[Event], None],
) -> list[ItemRecord]:
    """Run a suite in `folder` with what is left of the budget, and book what it used."""
    shared = (
        "agent", "limit", "epochs", "models", "base_url", "concurrency", "seed", "sandbox", "trust",
        "executor", "workers", "worker_resources",
    )  # fmt: skip
    spent = purse.spent
    left = {
        "budget_usd": None if purse.usd is None else max(0.0, purse.usd - spent.usd),
        "budget_tokens": None if purse.tokens is None else max(0, purse.tokens - spent.tokens),
        "budget_calls": None if purse.calls is None else max(0, purse.calls - spent.calls),
    }
    same = {name: getattr(settings, name) for name in shared}
    chosen = EvalSettings.model_validate({"suite": suite.suite.name, **same, **left})

    def show(label: str, tally: Tally) -> None:
        progress(tally_event(label, tally))

    await Evaluator(chosen, suite).run(folder, skill, show)
    found = records(folder)
    used = sum((item.usage for item in found), Usage())
    purse.spent += Spend(usd=used.cost_usd or 0.0, tokens=used.tokens, calls=used.calls)
    return found


def rollouts(
    settings: EvolveSettings, purse: Budget, progress: Callable[[Event], None]
) -> Rollouts:
    """Attempts at the train split; finished ones are kept when it is called again."""
    train = split_of(settings, cast("str", settings.suite), "train")

    async def make() -> tuple[Path, Usage]:
        folder = settings.out / "runs" / "train"
        progress(Event(stage="train", message=f"{len(train.tasks[: settings.limit])} tasks"))
        found = await attempts(settings, train, folder, settings.skill, purse, progress)
        return folder, sum((item.usage for item in found), Usage())

    return make


def trials(settings: EvolveSettings, purse: Budget, progress: Callable[[Event], None]) -> Trials:
    """Runs a set of lessons on a seeded sample of the tasks that the analysts learned from."""
    reference = settings.tasks or settings.suite
    if reference is None:
        raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
    whole = load_suite(reference) if settings.tasks else split_of(settings, reference, "train")
    tasks = whole.tasks[: settings.limit]
    count = min(settings.select_tasks, len(tasks))
    chosen = random.Random(settings.select_seed).sample(tasks, count)
    part = whole.model_copy(update={"tasks": tuple(chosen)})
    progress(Event(stage="select", message=selection_plan(settings, count)))

    async def trial(skill: Path | None, label: str) -> list[ItemRecord]:
        folder = settings.out / "runs" / "selection" / label
        return await attempts(settings, part, folder, skill, purse, progress)

    return trial


def selection_plan(settings: EvolveSettings, tasks: int) -> str:
    most = most_trials(settings.select, CANDIDATES[settings.select])
    return (
        f"{settings.select}: at most {most} sets of lessons on {tasks} trial tasks, "
        f"{most * tasks * settings.epochs} attempts"
    )


def evaluator(
    settings: EvolveSettings,
    suite: LoadedSuite,
    purse: Budget,
    progress: Callable[[Event], None],
) -> Evaluate:
    looks: Counter[str] = Counter()

    async def evaluate(skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        evolved = skill is not None and skill.is_relative_to(settings.out / "skill")
        name = "gate-after" if evolved else "gate-before"
        looks[name] += 1
        folder = settings.out / "runs" / name / f"look-{looks[name]:02d}"
        chosen = tuple(task for task in suite.tasks if task.id in set(tasks))
        part = suite.model_copy(update={"tasks": chosen})
        return await attempts(settings, part, folder, skill, purse, progress)

    return evaluate
