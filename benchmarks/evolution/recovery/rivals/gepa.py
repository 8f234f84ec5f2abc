"""GEPA 0.1.4 (`gepa.optimize`, https://github.com/gepa-ai/gepa) on an arena.

The package's: sampling of minibatches (3 attempts), Pareto selection of the parent, acceptance
(strictly better on the minibatch), evaluation on all of the validation half, choice of the best.
Its merge is off, as it ships: it swaps whole components, and a skill is one component.

Ours: the adapter. An evaluation is `arena.attempt`; the reflection is one `arena.lessons` for each
failed attempt of the minibatch, and the new text is the old one and, as bullets, the lessons that
it does not say yet in any words (`arena.meaning` makes no mistake), so that GEPA reads with the
same analyst, and its errors, as every other method. The arena's budget stops the run; GEPA's own
count of evaluations, which takes repeated ones again, only guards against a run that no longer
makes any new call.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from benchmarks.evolution.recovery.arena import Arena, BudgetSpent, Tried
from harness.core import Task

PART = "skill"
REPEATS = 10


class SkillAdapter:
    """GEPA's adapter protocol (`gepa.core.adapter.GEPAAdapter`) for an arena."""

    def __init__(self, arena: Arena, batch_type: Any) -> None:
        self.arena = arena
        self.batch_type = batch_type

    def evaluate(
        self, batch: list[Task], candidate: dict[str, str], capture_traces: bool = False
    ) -> Any:
        """Attempts at a batch: 1.0 for one that passed."""
        attempts = [self.arena.attempt(candidate[PART], task) for task in batch]
        return self.batch_type(
            outputs=[attempt.answer for attempt in attempts],
            scores=[float(attempt.passed) for attempt in attempts],
            trajectories=attempts if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The failed attempts, for every component (there is one)."""
        failed = [{"attempt": attempt} for attempt in eval_batch.trajectories if not attempt.passed]
        return dict.fromkeys(components_to_update, failed)

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Old text, and the lessons of the failed attempts that it does not have yet."""
        lines = {self.arena.meaning(line): line for line in candidate[PART].splitlines()}
        for record in reflective_dataset[PART]:
            failed: Tried = record["attempt"]
            for lesson in self.arena.lessons(failed):
                lines.setdefault(self.arena.meaning(lesson), f"- {lesson}")
        return {PART: "\n".join(lines.values())}


class _Silent:
    def log(self, message: str) -> None:
        """Drop a line of the log."""


def learn(arena: Arena) -> str:
    """The best skill by GEPA's own choice: mean score on the validation half of the train tasks.

    Raises:
        ImportError: GEPA is not installed.
    """
    try:
        optimize: Any = import_module("gepa").optimize
        batch_type: Any = import_module("gepa.core.adapter").EvaluationBatch
    except ImportError as error:
        raise ImportError("GEPA is not installed: pip install gepa==0.1.4") from error

    def spent(state: object) -> bool:
        return arena.calls >= arena.budget

    tasks = random.Random(arena.seed).sample(arena.train, len(arena.train))
    half = len(tasks) // 2
    try:
        result = optimize(
            seed_candidate={PART: ""},
            trainset=tasks[:half],
            valset=tasks[half:],
            adapter=SkillAdapter(arena, batch_type),
            max_metric_calls=REPEATS * arena.budget,
            # A call beyond the budget raises inside GEPA, which then asks here before it goes on.
            stop_callbacks=spent,
            raise_on_exception=False,
            cache_evaluation=True,
            logger=_Silent(),
            seed=arena.seed,
        )
    except BudgetSpent:  # within the first evaluation: nothing beside the empty skill yet
        return ""
    return str(result.best_candidate[PART])
