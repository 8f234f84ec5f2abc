"""What a run would do and cost, without a model call: for `--dry-run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.evals.costs import estimate
from harness.evals.digests import parts_of
from harness.evals.plan import attempt_id
from harness.evals.reuse import Step, plan_reuse
from harness.evals.session import Evaluator, suite_of
from harness.evals.settings import EvalSettings, agent_model_spec
from harness.stats import detectable_lift


def plan_evaluation(settings: EvalSettings) -> dict[str, Any]:
    """What a run would do and is expected to cost, without a model call: for `--dry-run`.

    With an earlier run (`earlier`) it has the steps of its attempts, too.
    """
    suite = suite_of(settings)
    tasks = suite.tasks[: settings.limit]
    skills = [settings.skill] if settings.skill else [None]
    arms = [None, *skills] if settings.baseline and settings.skill else skills
    attempts = list(tasks) * settings.epochs
    plan: dict[str, Any] = {
        "suite": suite.suite.name,
        "split": suite.split,
        "tasks": len(tasks),
        "attempts": len(attempts) * len(arms),
        "model": agent_model_spec(settings.models),
        "agent": settings.agent or suite.suite.agent,
        "skill": str(settings.skill) if settings.skill else None,
        "calls_at_most": len(attempts) * len(arms) * suite.suite.max_turns,
        "detectable_lift": detectable_lift(len(tasks)),
    }
    if settings.earlier is not None:
        steps = plan_steps(settings)
        plan["attempts_from"] = str(settings.earlier)
        plan["steps"] = [step.model_dump(mode="json") for step in steps]
        again = {step.id for step in steps if step.action == "RERUN"}
        attempts = [
            task for epoch in range(settings.epochs) for task in tasks
            if attempt_id(task, epoch) in again
        ]  # fmt: skip
    plan["estimate"] = [
        estimate(
            suite, attempts, model=plan["model"], base_url=settings.base_url, skill=skill,
            runs=_earlier_runs(settings),
        ).model_dump(mode="json")
        for skill in arms
    ]  # fmt: skip
    return plan


def _earlier_runs(settings: EvalSettings) -> list[Path]:
    beside = settings.out.parent if settings.out else Path("runs")
    return [settings.earlier] if settings.earlier else [beside]


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
