"""`harness eval --dry-run`: what would be done and cost, without a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.cli.shared import dollars, emit

if TYPE_CHECKING:
    from harness.evals import EvalSettings

MOST = 40


def show_plan(settings: EvalSettings, as_json: bool) -> None:
    """Print what a run would do, and attempt by attempt what holds of an earlier run."""
    from harness.evals import plan_evaluation

    plan = plan_evaluation(settings)
    told = {key: value for key, value in plan.items() if key not in ("steps", "estimate")}
    lines = [f"{key}: {value}" for key, value in told.items()]
    if "steps" in plan:
        lines += _steps(plan["steps"])
    lines += [line for one in plan["estimate"] for line in estimate_lines(one)]
    emit(plan, as_json, "\n".join(lines))


def estimate_lines(one: dict[str, Any]) -> list[str]:
    """What is expected, and what that rests on."""
    most = (
        f", at the dearest attempt's {dollars(one['most_usd'])}"
        if one["most_usd"] is not None
        else ""
    )
    return [
        f"expected: {one['calls']:,} calls, {one['prompt_tokens']:,} + "
        f"{one['completion_tokens']:,} tokens, cost {dollars(one['cost_usd'])}{most}",
        f"  from {one['basis']}",
        f"  price {one['price']}",
    ]


def _steps(steps: list[dict[str, str]]) -> list[str]:
    from harness.evals import Step
    from harness.evals.reuse import counted

    rows = [f"  {one['action']:8}{one['id']}  {one['why']}" for one in steps[:MOST]]
    more = len(steps) - MOST
    return [
        counted([Step.model_validate(one) for one in steps]),
        *rows,
        *([f"  ... {more} more (--json has all)"] if more > 0 else []),
    ]
