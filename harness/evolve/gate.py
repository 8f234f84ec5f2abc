"""Whether a skill is better, on tasks that no analyst saw, paired task by task.

Tasks are run in batches, and no more of them than it takes to decide.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence

from harness.core import BadInput
from harness.evals import ItemRecord, compare_paired
from harness.evolve.types import EvolveOptions, GateResult
from harness.stats import Decision, SequentialPlan, decide

EvaluateTasks = Callable[[tuple[str, ...]], Awaitable[list[ItemRecord]]]
Tell = Callable[[int, int, Decision], None]


def gate_plan(options: EvolveOptions, tasks: int, candidates: int = 1) -> SequentialPlan:
    """How a gate on `tasks` tasks will decide; printed before anything is spent."""
    return SequentialPlan(
        tasks=tasks, discordance=options.expected_discordance, candidates=candidates
    )


def task_order(tasks: Iterable[str], seed: int) -> tuple[str, ...]:
    """Task ids in a random order that depends on the ids and the seed alone, not on a file."""
    keyed = sorted((hashlib.sha256(f"{seed}\n{task}".encode()).digest(), task) for task in tasks)
    return tuple(task for _, task in keyed)


async def sequential_gate(
    evaluate_before: EvaluateTasks,
    evaluate_after: EvaluateTasks,
    tasks: Iterable[str],
    plan: SequentialPlan,
    *,
    seed: int = 41,
    margin: float = 0.0,
    tell: Tell = lambda done, total, decision: None,
) -> GateResult:
    """Run both conditions batch by batch until the plan can decide, and no longer.

    Args:
        evaluate_before: runs the given tasks with the seed skill and returns their records.
        evaluate_after: runs the given tasks with the candidate. Each is called at most once a
            look, with the tasks that the look adds; records of other tasks are ignored.
        tasks: ids of the tasks at hand; as many as the plan has.
        plan: fixed before the first result; `plan.candidates` counts every candidate of the round.
        seed: of the order in which tasks are run.
        margin: smallest plain difference that is accepted.
        tell: called behind each look with tasks run, tasks at hand and the decision.

    Raises:
        BadInput: if a task comes twice, or their number is not the plan's.
    """
    order = task_order(tasks, seed)
    if len(set(order)) != len(order) or len(order) != plan.tasks:
        raise BadInput(
            f"expected {plan.tasks} different tasks as planned, got {len(order)} "
            f"({len(set(order))} different): make the plan for the tasks that the gate runs"
        )
    before: list[ItemRecord] = []
    after: list[ItemRecord] = []
    start, decision = 0, None
    for look, end in enumerate(plan.look_sizes):
        batch = order[start:end]
        before += _of(batch, await evaluate_before(batch))
        after += _of(batch, await evaluate_after(batch))
        decision = decide(plan, look, task_changes(order[:end], before, after))
        tell(end, plan.tasks, decision)
        start = end
        if decision.verdict != "need more":
            break
    assert decision is not None, "a plan has at least one look"
    return _sequential_result(plan, decision, before, after, start, margin)


def task_changes(
    order: Sequence[str], before: Iterable[ItemRecord], after: Iterable[ItemRecord]
) -> list[float | None]:
    """Mean change of each task over the epochs that are valid on both sides; None without any."""
    first, second = _valid(before), _valid(after)
    found: dict[str, list[int]] = defaultdict(list)
    for key in first.keys() & second.keys():
        passed = (second[key].outcome == "pass") - (first[key].outcome == "pass")
        found[key[0]].append(passed)
    return [sum(found[task]) / len(found[task]) if task in found else None for task in order]


def _of(batch: Sequence[str], items: Iterable[ItemRecord]) -> list[ItemRecord]:
    wanted = set(batch)
    return [item for item in items if item.task_id in wanted]


def _sequential_result(
    plan: SequentialPlan,
    decision: Decision,
    before: Iterable[ItemRecord],
    after: Iterable[ItemRecord],
    run: int,
    margin: float,
) -> GateResult:
    first, second = _valid(before), _valid(after)
    pairs = sorted(first.keys() & second.keys())
    found = compare_paired([first[key] for key in pairs], [second[key] for key in pairs])
    lift = decision.difference or 0.0
    verdict = {"accept": "accepted", "reject": "refused"}.get(decision.verdict, "not gated")
    if verdict == "accepted" and lift <= margin:
        verdict = "refused"
    more = 0
    if verdict == "not gated":
        # What would have been needed with the share of results that really changes.
        actual = plan.at(discordance=max(found.discordance or plan.discordance, plan.lift))
        more = max(1, actual.required - decision.tasks)
    return GateResult.model_validate(
        {
            "verdict": verdict,
            "before": found.before,
            "after": found.after,
            "difference": decision.difference,
            "p": min(1.0, decision.p * plan.candidates),
            "ci95": decision.ci95,
            "detectable": plan.detectable,
            "tasks": decision.tasks,
            "more_tasks": more,
            "fixed": found.fixed,
            "broken": found.broken,
            "reason": _sequential_reason(plan, decision, run, margin, more),
            "adjusted": decision.adjusted,
            "planned": plan.tasks,
            "run": run,
            "looks": decision.look + 1,
            "stopped": decision.why,
            "candidates": plan.candidates,
            "plan": str(plan),
        }
    )


def _sequential_reason(
    plan: SequentialPlan, decision: Decision, run: int, margin: float, more: int
) -> str:
    if decision.difference is None:
        return f"no task is valid on both sides; {more} more would see {100 * plan.lift:.0f} points"
    points = f"{100 * decision.difference:+.1f} points"
    if decision.adjusted is not None:
        points += f" ({100 * decision.adjusted:+.1f} corrected for stopping early)"
    points += f" after {run} of {plan.tasks} tasks"
    useful = f"{100 * plan.lift:.0f} points"
    if decision.verdict == "not gated":
        return f"too few tasks to tell: {points}; {more} more would see {useful}"
    if decision.why == "better" and decision.difference <= margin:
        return f"better, but not above the margin of {100 * margin:.1f} points: {points}"
    meaning = {
        "better": "better",
        "worse": "worse",
        "futile": f"a gain of {useful} is contradicted",
    }
    return f"{meaning.get(decision.why, 'no significant gain')}: {points}"


def _valid(items: Iterable[ItemRecord]) -> dict[tuple[str, int], ItemRecord]:
    return {(item.task_id, item.epoch): item for item in items if item.outcome != "invalid"}
