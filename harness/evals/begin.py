"""The beginning of a run: what it is made of is written down, what still holds is taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.rundir import RunWriter
from harness.evals.carry import FamilyOf, take_over
from harness.evals.digests import parts_of, read_parts, write_parts
from harness.evals.reuse import Step, plan_reuse
from harness.models.budget import Budget, Spend
from harness.models.calls import CallStore

if TYPE_CHECKING:
    from harness.evals.plan import EvalPlan
    from harness.models.types import Model

CALLS = "calls.sqlite"


def begin(
    plan: EvalPlan,
    model: Model,
    out: Path,
    *,
    reference: str,
    calls: CallStore,
    budget: Budget,
    family: FamilyOf,
    earlier: Path | None = None,
    accept: Sequence[str] = (),
) -> list[Step]:
    """Prepare the run folder `out`; what is done for every attempt, where there is an earlier run.

    Answers of the earlier run come along: what is run again pays only for requests that have
    changed. They count against no budget of this run.

    Args:
        plan: the run.
        model: answers.
        out: its folder.
        reference: how the suite was named.
        calls: the run's calls.
        budget: the run's budget.
        family: judges a task.
        earlier: run whose attempts may be taken over.
        accept: parts that may differ.
    """
    parts = parts_of(plan, model.spec, reference)
    carried, fresh = _carried(out), Spend()
    steps: list[Step] = []
    if earlier is not None:
        steps = plan_reuse(plan, parts, earlier, accept)
        if carried is None:
            before = calls.spend()
            carried = _carry_calls(earlier, calls)
            fresh = calls.spend() - before  # came after the budget had looked into the store
    carried = carried or Spend()
    budget.adopt(_before(out), fresh - carried)
    lock, amount = plan.lock(model), (carried.usd, carried.tokens, carried.calls)
    write_parts(out, parts.model_copy(update={"carried": amount}), lock)
    if earlier is not None:
        with RunWriter(out, lock) as run:
            take_over(plan, steps, earlier, run, family)
    return steps


def adopt_spent(out: Path, budget: Budget) -> None:
    """Count what a run folder has spent so far, if there is one, against a budget."""
    if not (out / CALLS).is_file():
        return
    with CallStore(out / CALLS) as calls:
        budget.adopt(calls.name, calls.spend())
    if (carried := _carried(out)) is not None:
        budget.adopt(_before(out), Spend() - carried)


def _before(out: Path) -> str:
    return f"{out.resolve()} before it began"


def _carried(out: Path) -> Spend | None:
    """What the answers that a run began with had cost; None if it has not begun."""
    return next((Spend(*row.carried) for row in read_parts(out)), None)


def _carry_calls(earlier: Path, calls: CallStore) -> Spend:
    """Copy the answered calls of a run; what they cost then."""
    if not (earlier / CALLS).is_file():
        return Spend()
    with CallStore(earlier / CALLS) as source:
        answered = source.answered()
    calls.put(answered)
    return sum(
        (Spend(one.usage.cost_usd or 0.0, one.usage.tokens, one.usage.calls) for one in answered),
        Spend(),
    )


def counted(steps: Sequence[Step]) -> str:
    """How many attempts are reused, graded again and run again, and the reasons, for people."""
    actions = Counter(step.action for step in steps)
    lines = [", ".join(f"{name} {actions[name]}" for name in ("REUSE", "REGRADE", "RERUN"))]
    reasons = Counter((step.action, step.why) for step in steps if step.action != "REUSE")
    lines += [f"  {action} {count}: {why}" for (action, why), count in reasons.most_common(8)]
    return "\n".join(lines)
