"""`harness eval --dry-run`: what would be done, without a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.cli.shared import emit

if TYPE_CHECKING:
    from harness.evals.reuse import Step
    from harness.evals.settings import EvalSettings

MOST = 40


def show_plan(settings: EvalSettings, as_json: bool) -> None:
    """Print what a run would do, and attempt by attempt what holds of an earlier run."""
    from harness.evals.begin import counted
    from harness.evals.dryrun import plan_evaluation, plan_steps

    plan: dict[str, Any] = plan_evaluation(settings)
    lines = [f"{key}: {value}" for key, value in plan.items()]
    if settings.earlier is not None:
        steps = plan_steps(settings)
        plan["attempts_from"] = str(settings.earlier)
        plan["steps"] = [step.model_dump(mode="json") for step in steps]
        lines += [f"from {settings.earlier}: {counted(steps)}", *_rows(steps)]
    emit(plan, as_json, "\n".join(lines))


def _rows(steps: list[Step]) -> list[str]:
    rows = [f"  {step.action:8}{step.id}  {step.why}" for step in steps[:MOST]]
    more = len(steps) - MOST
    return [*rows, *([f"  ... {more} more (--json has all)"] if more > 0 else [])]
