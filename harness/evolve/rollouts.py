"""Runs of suites inside an evolution: for its analysts, its selection, its gate and afterwards."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

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
from harness.evolve.evolution import Event, ignore_event
from harness.evolve.selection import CANDIDATES, most_trials
from harness.evolve.settings import EvolveSettings
from harness.models import Budget, Spend

# Settings that an eval run shares with the evolution.
SHARED = (
    "agent", "limit", "epochs", "models", "base_url", "concurrency", "seed", "sandbox", "trust",
    "executor", "workers", "worker_resources",
)  # fmt: skip


def tally_event(label: str, tally: Tally) -> Event:
    """The state of an eval run as an event of the evolution."""
    state = f"{tally.failed} failed, {tally.invalid} invalid, {tally.usage.tokens:,} tokens"
    return Event(stage=label, done=tally.done, total=tally.total, message=state)


def split_of(settings: EvolveSettings, reference: str, split: Split) -> LoadedSuite:
    """The named split; a suite of one task file is taken whole where nothing else needs it."""
    suite = load_suite(reference)
    needs_no_split = reference != settings.suite or settings.gate == "none"
    return suite if suite.split is None and needs_no_split else load_suite(reference, split)


def train_suite(settings: EvolveSettings) -> LoadedSuite | None:
    """The tasks that the analysts learn from, where they are known."""
    if settings.tasks:
        return load_suite(settings.tasks)
    return split_of(settings, settings.suite, "train") if settings.suite else None


def gate_suite(settings: EvolveSettings) -> LoadedSuite | None:
    """The tasks of the gate."""
    reference = settings.suite if settings.gate == "auto" else settings.gate
    if settings.gate == "none" or reference is None:
        return None
    return split_of(settings, reference, "selection")


def selection_plan(settings: EvolveSettings, tasks: int) -> str:
    """What a selection will run, in one sentence."""
    most = most_trials(settings.select, CANDIDATES[settings.select])
    return (
        f"{settings.select}: at most {most} sets of lessons on {tasks} trial tasks, "
        f"{most * tasks * settings.epochs} attempts"
    )


@dataclass
class SuiteRuns:
    """Runs suites below `<out>/runs` with what is left of the evolution's budget.

    Finished attempts are kept when a run is started again.

    Attributes:
        settings: of the evolution.
        budget: of the evolution, which the runs are booked on.
        gated: tasks of the gate, if it is one.
        progress: called with every event.
    """

    settings: EvolveSettings
    budget: Budget
    gated: LoadedSuite | None = None
    progress: Callable[[Event], None] = ignore_event
    _looks: Counter[str] = field(default_factory=Counter[str])

    async def attempts(
        self, suite: LoadedSuite, folder: Path, skill: Path | None, user: str | None = None
    ) -> list[ItemRecord]:
        """Run a suite in `folder`, by the model `user` if it is another than the evolution's."""
        budget, spent = self.budget, self.budget.spent
        remaining = {
            "budget_usd": None if budget.usd is None else max(0.0, budget.usd - spent.usd),
            "budget_tokens": None
            if budget.tokens is None
            else max(0, budget.tokens - spent.tokens),
            "budget_calls": None if budget.calls is None else max(0, budget.calls - spent.calls),
        }
        shared = {name: getattr(self.settings, name) for name in SHARED}
        if user is not None:
            shared["models"] = (user,)
        chosen = EvalSettings.model_validate({"suite": suite.suite.name, **shared, **remaining})
        await Evaluator(chosen, suite).run(
            folder, skill, lambda label, tally: self.progress(tally_event(label, tally))
        )
        items = records(folder)
        used = sum((item.usage for item in items), Usage())
        budget.spent += Spend(usd=used.cost_usd or 0.0, tokens=used.tokens, calls=used.calls)
        return items

    @cached_property
    def train(self) -> LoadedSuite:
        """The train split of the evolution's suite."""
        return split_of(self.settings, self.settings.suite or "", "train")

    async def rollouts(self) -> tuple[Path, Usage]:
        """Attempts at the train split, for the analysts."""
        settings = self.settings
        folder = settings.out / "runs" / "train"
        message = f"{len(self.train.tasks[: settings.limit])} tasks"
        self.progress(Event(stage="train", message=message))
        items = await self.attempts(self.train, folder, settings.skill)
        return folder, sum((item.usage for item in items), Usage())

    async def trial(self, skill: Path | None, label: str) -> list[ItemRecord]:
        """A set of lessons on a seeded sample of the tasks that the analysts learned from."""
        folder = self.settings.out / "runs" / "selection" / label
        return await self.attempts(self.trial_suite, folder, skill)

    @cached_property
    def trial_suite(self) -> LoadedSuite:
        """The trial tasks of a selection.

        Raises:
            BadInput: if no suite is named.
        """
        settings, suite = self.settings, train_suite(self.settings)
        if suite is None:
            raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
        tasks = suite.tasks[: settings.limit]
        count = min(settings.select_tasks, len(tasks))
        chosen = random.Random(settings.select_seed).sample(tasks, count)
        return suite.model_copy(update={"tasks": tuple(chosen)})

    async def evaluate(self, skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        """Tasks of the gate, with the evolved skill, its seed or none."""
        assert self.gated is not None, "a gate has tasks"
        evolved = skill is not None and skill.is_relative_to(self.settings.out / "skill")
        name = "gate-after" if evolved else "gate-before"
        self._looks[name] += 1
        folder = self.settings.out / "runs" / name / f"look-{self._looks[name]:02d}"
        chosen = tuple(task for task in self.gated.tasks if task.id in set(tasks))
        return await self.attempts(self.gated.model_copy(update={"tasks": chosen}), folder, skill)

    async def baseline(self, name: str, skill: Path | None, suite: LoadedSuite) -> list[ItemRecord]:
        """A suite with a baseline."""
        return await self.attempts(suite, self.settings.out / "runs" / "baselines" / name, skill)

    async def transfer(
        self, user: str, folder: Path, skill: Path | None, suite: LoadedSuite
    ) -> list[ItemRecord]:
        """A suite by another model."""
        return await self.attempts(suite, folder, skill, user)
