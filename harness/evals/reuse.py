"""Reuse of an earlier run: REUSE, REGRADE or RERUN for every attempt of a new one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput, Task, Value, mapping, remove_tree
from harness.core.rundir import RunReader, RunWriter
from harness.evals.attempts import FamilyOf, kept_work, regradable
from harness.evals.plan import EvalPlan, RunParts, attempt_id, parts_of, read_parts, write_parts
from harness.evals.regrade import (
    copy_records,
    judged_again,
    local_judge,
    question,
)
from harness.evals.report import ItemRecord, finished_items, open_run
from harness.models import Budget, CallStore, Model, Spend, public_url

Action = Literal["REUSE", "REGRADE", "RERUN"]
UNKNOWN = "the earlier run does not say what it was made of"
CALLS = "calls.sqlite"


class Step(Value):
    """Action for one attempt, and its reason."""

    id: str
    action: Action
    why: str


def plan_reuse(
    plan: EvalPlan, parts: RunParts, earlier: Path, accept: Iterable[str] = ()
) -> list[Step]:
    """Decide for every attempt of `plan`, in its order, if it is reused, judged again or run again.

    Args:
        plan: the new run.
        parts: what it is made of.
        earlier: folder of the run whose attempts may be taken over.
        accept: parts that may differ (`code`, `prompts`, ...), as the caller vouches for them.

    Raises:
        BadInput: if `earlier` is no eval run, or a part of `accept` does not exist.
    """
    if unknown := sorted(set(accept) - parts.shared.keys()):
        names = ", ".join(parts.shared)
        raise BadInput(f"expected a part of an attempt ({names}), got {unknown[0]!r}")
    reader, rows = open_run(earlier), read_parts(earlier)
    before: dict[str, tuple[ItemRecord, RunParts | None]] = {}
    for number, row in enumerate(reader.items()):
        held = [part for part in rows if part.first <= number]
        before[row["id"]] = ItemRecord.model_validate(row), held[-1] if held else None
    steps: list[Step] = []
    for task, epoch in plan.attempts():
        name = attempt_id(task, epoch)
        if name not in before:
            action, why = "RERUN", "no such attempt in the earlier run"
        else:
            action, why = _decide(task, plan, parts, *before[name], frozenset(accept), earlier)
        steps.append(Step(id=name, action=action, why=why))
    return steps


def _decide(
    task: Task,
    plan: EvalPlan,
    new: RunParts,
    item: ItemRecord,
    old: RunParts | None,
    accept: frozenset[str],
    earlier: Path,
) -> tuple[Action, str]:
    if item.outcome == "invalid":
        return "RERUN", f"invalid there: {item.reason}"
    if old is None or task.id not in old.samples:
        return "RERUN", UNKNOWN
    before, after = old.samples[task.id], new.samples[task.id]
    changed = [name for name, value in new.shared.items() if old.shared.get(name) != value]
    changed = [name for name in changed if name not in accept]
    changed += [
        name for name in ("sample", "files") if getattr(before, name) != getattr(after, name)
    ]
    if changed:
        why = f"other {', '.join(changed)}"
        if "settings" in changed and old.settings:
            why += f" ({', '.join(_differences(old.settings, new.settings))})"
        return "RERUN", why
    judging = {
        "answer or check": before.grading != after.grading,
        "scorer": new.scorer != old.scorer,
    }
    if not any(judging.values()):
        return "REUSE", "nothing changed"
    why = f"other {', '.join(name for name, differs in judging.items() if differs)}"
    by_answer = regradable(task, plan.agent.spec, plan.suite.suite.tools)
    if by_answer or kept_work(earlier, item.id).is_file():
        return "REGRADE", why
    return "RERUN", f"{why}; it is judged by files that were not kept"


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """`name before -> after` for every setting that differs; of a group of them, its members."""
    lines: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            lines += [f"{name}.{line}" for line in _differences(mapping(before), mapping(after))]
        else:
            lines.append(f"{name} {json.dumps(before):.60} -> {json.dumps(after):.60}")
    return lines


def begin(
    plan: EvalPlan,
    model: Model,
    out: Path,
    *,
    reference: str,
    base_url: str | None = None,
    calls: CallStore,
    budget: Budget,
    family: FamilyOf,
    earlier: Path | None = None,
    accept: Sequence[str] = (),
) -> list[Step]:
    """Prepare the run folder `out`; the steps of all attempts, where there is an earlier run.

    Answers of the earlier run come along: what is run again pays only for requests that have
    changed. They count against no budget of this run.

    Args:
        plan: the run.
        model: answers.
        out: its folder.
        reference: how the suite was named.
        base_url: of the model's endpoint, as it was typed.
        calls: the run's calls.
        budget: the run's budget.
        family: judges a task.
        earlier: run whose attempts may be taken over.
        accept: parts that may differ.

    Raises:
        BadInput: if `out` holds a run of other settings, or of higher limits of an attempt.
    """
    lock = plan.lock(model)
    if (out / "run.json").is_file():
        from harness.evals.resuming import take_raised_limits

        take_raised_limits(out, lock)
    parts = parts_of(plan, model.spec, reference)
    carried, added = _carried(out), Spend()
    steps: list[Step] = []
    if earlier is not None:
        steps = plan_reuse(plan, parts, earlier, accept)
        if carried is None and (earlier / CALLS).is_file():
            before = calls.spend()
            with CallStore(earlier / CALLS) as source:
                answered = source.answered()
            calls.put(answered)
            usages = [call.usage for call in answered]
            carried = sum(
                (Spend(usage.cost_usd or 0.0, usage.tokens, usage.calls) for usage in usages),
                Spend(),
            )
            added = calls.spend() - before  # came after the budget had looked into the store
    carried = carried or Spend()
    budget.adopt(_origin(out), added - carried)
    amount = carried.usd, carried.tokens, carried.calls
    address = public_url(base_url or "")
    write_parts(out, parts.model_copy(update={"carried": amount, "base_url": address or None}))
    if earlier is not None:
        with RunWriter(out, lock) as run:
            _take_over(plan, steps, earlier, run, family)
    return steps


@contextmanager
def removed_if_refused(run: Path) -> Generator[None]:
    """Around a run: a folder that was not there before goes if it then holds no attempt, no call.

    Raises:
        BadInput: that of the block.
    """
    new = not run.exists()
    try:
        yield
    except BadInput:
        if new:
            begun = (run / "run.json").is_file() and any(RunReader(run).items())
            with CallStore(run / CALLS) as calls:
                begun = begun or bool(calls.answered() or calls.in_flight())
            if not begun:
                remove_tree(run)
        raise


def adopt_spent(out: Path, budget: Budget) -> None:
    """Count what a run folder has spent so far, if there is one, against a budget."""
    if not (out / CALLS).is_file():
        return
    with CallStore(out / CALLS) as calls:
        budget.adopt(calls.name, calls.spend())
    if (carried := _carried(out)) is not None:
        budget.adopt(_origin(out), Spend() - carried)


def _origin(out: Path) -> str:
    return f"{out.resolve()} before it began"


def _carried(out: Path) -> Spend | None:
    """Return the cost of the answers that a run began with; None if it has not begun."""
    return next((Spend(*row.carried) for row in read_parts(out)), None)


def _take_over(
    plan: EvalPlan, steps: Iterable[Step], earlier: Path, run: RunWriter, family: FamilyOf
) -> None:
    """Write attempts that are reused or graded again into a run that does not have them yet."""
    present = {item.id for item in finished_items(run)}
    actions = {step.id: step.action for step in steps if step.id not in present}
    source = RunReader(earlier)
    items = {
        item.id: item for item in finished_items(source) if actions.get(item.id, "RERUN") != "RERUN"
    }
    tasks = {attempt_id(task, epoch): task for task, epoch in plan.attempts()}
    regraded = [item for item in items.values() if actions[item.id] == "REGRADE"]
    questions = [question(tasks[item.id], item, earlier) for item in regraded]
    for number, score in local_judge(plan.suite.base, family)(questions):
        items[regraded[number].id] = judged_again(regraded[number], score)
    copy_records(source, items, run)


def counted(steps: Sequence[Step]) -> str:
    """Count the attempts reused, judged again and run again, with the reasons, for people."""
    actions = Counter(step.action for step in steps)
    lines = [", ".join(f"{name} {actions[name]}" for name in ("REUSE", "REGRADE", "RERUN"))]
    reasons = Counter((step.action, step.why) for step in steps if step.action != "REUSE")
    lines += [f"  {action} {count}: {why}" for (action, why), count in reasons.most_common(8)]
    return "\n".join(lines)
