"""What a run would do and cost, without a model call: for `--dry-run`."""

from __future__ import annotations

from typing import Any

from harness.core import BadInput
from harness.evals.parts import parts_of
from harness.evals.reuse import Step, plan_reuse
from harness.evals.session import Evaluator, suite_of
from harness.evals.settings import EvalSettings, agent_model_spec
from harness.evals.statistics import detectable_lift


def plan_evaluation(settings: EvalSettings) -> dict[str, Any]:
    """What a run would do, without a model call: for `--dry-run`."""
    suite = suite_of(settings)
    tasks = len(suite.tasks[: settings.limit])
    arms = 2 if settings.baseline and settings.skill else 1
    return {
        "suite": suite.suite.name,
        "split": suite.split,
        "tasks": tasks,
        "attempts": tasks * settings.epochs * arms,
        "model": agent_model_spec(settings.models),
        "agent": settings.agent or suite.suite.agent,
        "skill": str(settings.skill) if settings.skill else None,
        "calls_at_most": tasks * settings.epochs * arms * suite.suite.max_turns,
        "detectable_lift": detectable_lift(tasks),
    }


def plan_steps(settings: EvalSettings) -> list[Step]:
    """What would be done for every attempt, with the earlier run that `settings` names; no call.

    Raises:
        BadInput: if no earlier run is named, or one that cannot be used.
    """
    if settings.earlier is None:
        raise BadInput("expected an earlier run (--from), got none")
    plan = Evaluator(settings, suite_of(settings)).plan(settings.skill)
    parts = parts_of(plan, agent_model_spec(settings.models), settings.suite)
    return plan_reuse(plan, parts, settings.earlier, settings.accept)
