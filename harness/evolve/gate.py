"""Gate: is a skill better on tasks that no analyst saw, paired task by task?

Tasks are run in batches, and no more of them than it takes to decide.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from harness import evals
from harness.core import BadInput, Usage, grouped
from harness.evals import ItemRecord, compare_paired
from harness.evals.report import Measure
from harness.evolve.evolution import Evolution, State, detached
from harness.evolve.report import RESULT
from harness.evolve.settings import EvolveOptions
from harness.evolve.types import Collected, Draft, EvolveResult, GateResult, Sifted
from harness.skills import read_value
from harness.stats import Decision, SequentialPlan, cluster_names, decide

UNLIKELY = 0.05
SEED = 41
"""Of the order in which tasks are run."""
IDLE = (
    "the skill changed no result, and more tasks would hardly show one: see in an attempt whether "
    "the agent reads the skill, and what its check demands"
)
EvaluateTasks = Callable[[tuple[str, ...]], Awaitable[list[ItemRecord]]]


def task_order(
    tasks: Iterable[str], seed: int, groups: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Task ids in a random order that depends on the ids and the seed alone, not on a file.

    Those of a group follow one another.
    """

    def key(name: str) -> bytes:
        return hashlib.sha256(f"{seed}\n{name}".encode()).digest()

    names = groups or {}
    return tuple(sorted(tasks, key=lambda task: (key(names.get(task, task)), key(task), task)))


def group_sizes(order: Sequence[str], groups: Mapping[str, str] | None = None) -> tuple[int, ...]:
    """Number of tasks of each group in the order in which they are run; nothing without groups."""
    names = cluster_names(order, groups or {})
    return tuple(len(list(members)) for _, members in groupby(names))


def gate_plan(
    tasks: Sequence[str], options: EvolveOptions, groups: Mapping[str, str] | None = None
) -> SequentialPlan:
    """Return the plan of a gate on these tasks."""
    return SequentialPlan(
        tasks=len(tasks),
        groups=group_sizes(task_order(tasks, SEED, groups), groups),
        discordance=options.expected_discordance,
        epochs=max(1, options.epochs),
    )


def nothing_learned(evolution: Evolution, state: State) -> str:
    """Explain why nothing was learned: what was tried, what was not, and what would help."""
    runs = evolution.runs(state).runs
    judged = [run.outcome for run in runs if run.outcome in ("pass", "fail")]
    if judged and "pass" not in judged and evolution.options.analyst != "answers":
        return f"none of the {len(judged)} judged attempts passed"
    if not evolution.options.lessons:
        return evolution.final(state).reasoning
    collected = evolution.store.hold(state["collected"], Collected)
    lessons = sum(len(record.items) for record in collected.records)
    if not lessons:
        lost = Counter(loss.reason for loss in collected.losses).most_common(1)
        why = f", most often: {lost[0][0]}" if lost else ""
        return f"no analyst brought a lesson from {len(runs)} runs{why} (report.json has them all)"
    sifted = evolution.store.get(state["claims"], Sifted).discarded
    final = evolution.store.hold(state["final"], Draft).discarded
    rows = (*sifted, *evolution.merged(state).discarded, *final)
    reasons = Counter(row.reason for row in rows if not row.rule).most_common(1)
    return (
        f"{lessons} lessons from {len(collected.records)} of {len(runs)} runs, and none entered "
        f"the skill{''.join(f', most often: {reason}' for reason, _ in reasons)} (discarded.json "
        "says why of each)"
    )


async def gate(evolution: Evolution, none: str) -> tuple[GateResult, Usage]:
    """The evolved skill against its seed; without tasks it is not gated.

    Args:
        evolution: that made the skill.
        none: why nothing was learned, so that there is nothing to gate; "" if something was.
    """
    evaluate, plan, used = evolution.evaluate, evolution.plan, Usage()

    async def run(skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        nonlocal used
        assert evaluate is not None, "a plan needs something to run tasks with"
        items = await detached(evaluate(skill, tasks))
        used = sum((item.usage for item in items), used)
        return items

    if none or plan is None:
        reason = "no gate was asked for: whether the skill helps is unknown"
        if none:
            reason = f"nothing was learned: {none}"
        return GateResult(verdict="not gated", reason=reason), used
    verdict = await sequential_gate(
        lambda tasks: run(evolution.options.skill, tasks),
        lambda tasks: run(evolution.skill_dir, tasks),
        evolution.gate_tasks,
        plan,
        groups=evolution.gate_groups,
        margin=evolution.options.margin,
        tell=lambda message: evolution.tell("gate", message),
    )
    return verdict, used


async def sequential_gate(
    evaluate_before: EvaluateTasks,
    evaluate_after: EvaluateTasks,
    tasks: Iterable[str],
    plan: SequentialPlan,
    *,
    groups: Mapping[str, str] | None = None,
    seed: int = SEED,
    margin: float = 0.0,
    tell: Callable[[str], None] = lambda message: None,
) -> GateResult:
    """Run both conditions batch by batch until the plan can decide, and no longer.

    Args:
        evaluate_before: runs the given tasks with the seed skill and returns their records.
        evaluate_after: runs the given tasks with the candidate. Each is called at most once a
            look, with the tasks that the look adds; records of other tasks are ignored.
        tasks: ids of the tasks at hand; as many as the plan has.
        plan: fixed before the first result; `plan.candidates` counts every candidate of the round.
        groups: task -> its group: those of :func:`group_sizes` that the plan has.
        seed: of the order in which tasks are run.
        margin: smallest plain difference that is accepted.
        tell: called after each look with the decision, what it rests on and what was invalid.

    Raises:
        BadInput: if a task comes twice, or their number is not the plan's.
    """
    order = task_order(tasks, seed, groups)
    if len(set(order)) != len(order) or len(order) != plan.tasks:
        raise BadInput(
            f"expected {plan.tasks} different tasks as planned, got {len(order)} "
            f"({len(set(order))} different): make the plan for the tasks that the gate runs"
        )
    if plan.groups != group_sizes(order, groups):
        raise BadInput("expected the groups as planned: make the plan for the tasks that are run")
    before: list[ItemRecord] = []
    after: list[ItemRecord] = []
    start, decision, counts = 0, None, ""
    for look, end in enumerate(plan.look_sizes):
        batch = order[start:end]
        before += [item for item in await evaluate_before(batch) if item.task_id in batch]
        after += [item for item in await evaluate_after(batch) if item.task_id in batch]
        decision = decide(plan, look, task_changes(order[:end], before, after))
        start, counts = end, _counts(plan, decision, end, _invalid(before), _invalid(after))
        tell(f"look {look + 1}: {decision.verdict}, {counts}")
        if decision.verdict != "need more":
            break
    assert decision is not None, "a plan has at least one look"
    pairs = compare_paired(*both_valid(before, after))
    verdict = {"accept": "accepted", "reject": "refused"}.get(decision.verdict, "not gated")
    if verdict == "accepted" and (decision.difference or 0.0) <= margin:
        verdict = "refused"
    changed = f", {len(pairs.fixed)} fixed, {len(pairs.broken)} broken" if pairs.tasks else ""
    more, share = 0, 0.0
    # As many unchanged results contradict the share of changes that was planned with.
    idle = not (pairs.fixed or pairs.broken) and (1 - plan.discordance) ** pairs.tasks < UNLIKELY
    if verdict == "not gated" and not idle:
        # What would have been needed with the gain and the share of changes that were seen.
        lift = min(0.999, max(plan.lift, decision.difference or 0.0))
        share = max(pairs.discordance or plan.discordance, lift)
        actual = plan.at(lift=lift, discordance=share)
        more = max(1, actual.required - decision.tasks)
    return GateResult.model_validate(
        {
            "verdict": verdict,
            "before": pairs.before,
            "after": pairs.after,
            "difference": decision.difference,
            "p": min(1.0, decision.p * plan.candidates),
            "ci95": decision.ci95,
            "detectable": plan.detectable,
            "tasks": decision.tasks,
            "groups": pairs.groups,
            "more_tasks": more,
            "fixed": pairs.fixed,
            "broken": pairs.broken,
            "reason": _reason(plan, decision, counts + changed, margin, more, share, pairs.groups),
            "adjusted": decision.adjusted,
            "planned": plan.tasks,
            "run": start,
            "invalid_before": _invalid(before),
            "invalid_after": _invalid(after),
            "looks": decision.look + 1,
            "stopped": decision.why,
            "candidates": plan.candidates,
            "plan": str(plan),
        }
    )


def task_changes(
    order: Sequence[str], before: Iterable[ItemRecord], after: Iterable[ItemRecord]
) -> list[float | None]:
    """Mean change of each task over the epochs that are valid on both sides; None without any."""
    changes = grouped(
        (first.task_id, (second.outcome == "pass") - (first.outcome == "pass"))
        for first, second in zip(*both_valid(before, after), strict=True)
    )
    return [sum(changes[task]) / len(changes[task]) if task in changes else None for task in order]


def both_valid(
    before: Iterable[ItemRecord], after: Iterable[ItemRecord]
) -> tuple[list[ItemRecord], list[ItemRecord]]:
    """Attempts that are valid on both sides, so that each epoch meets its own seed."""
    first, second = (
        {(item.task_id, item.epoch): item for item in side if item.outcome != "invalid"}
        for side in (before, after)
    )
    common = sorted(first.keys() & second.keys())
    return [first[key] for key in common], [second[key] for key in common]


def _invalid(items: Iterable[ItemRecord]) -> int:
    return sum(item.outcome == "invalid" for item in items)


def _counts(plan: SequentialPlan, decision: Decision, run: int, before: int, after: int) -> str:
    """Say what a decision rests on, and the invalid attempts, which it does not rest on."""
    invalid = f"{before} before, {after} after" if before or after else "none"
    plural = "" if decision.tasks == 1 else "s"
    return (
        f"{decision.tasks} valid task{plural} ({run} of {plan.tasks} run; "
        f"invalid attempts: {invalid})"
    )


def _reason(
    plan: SequentialPlan,
    decision: Decision,
    counts: str,
    margin: float,
    more: int,
    share: float,
    groups: int | None,
) -> str:
    """The verdict in one sentence."""
    useful = f"a gain of {100 * plan.lift:.0f} points"
    seen = decision.difference is not None and decision.difference > plan.lift
    gain = "show a gain like this" if seen else f"find {useful}"
    plural = "" if more == 1 else "s"
    needed = f"about {more} more task{plural} would be needed to {gain} ({plan.power:.0%} power, "
    needed += f"if {share:.0%} of the results change)"
    if decision.difference is None:
        return f"no task is valid on both sides: {counts}; {needed}"
    points = corrected = f"{100 * decision.difference:+.1f}"
    if decision.adjusted is not None and len(plan.look_sizes) > 1:
        corrected = f"{100 * decision.adjusted:+.1f}"
    early = "" if corrected == points else f" ({corrected} corrected for stopping early)"
    points += f" points{early}"
    if decision.ci95 is not None:
        points += f" [{100 * decision.ci95[0]:+.1f}, {100 * decision.ci95[1]:+.1f}]"
    points += f" on {counts}"
    if groups is not None:
        points += f" of {groups} groups"
    if decision.verdict == "not gated":
        return f"too few tasks to tell: {points}; {needed}" if more else f"{IDLE}: {points}"
    if decision.why == "better" and decision.difference <= margin:
        return f"better, but not above the margin of {100 * margin:.1f} points: {points}"
    meaning = {"better": "better", "worse": "worse", "futile": f"{useful} is contradicted"}
    return f"{meaning.get(decision.why, 'no significant gain')}: {points}"


def refuse_other(out: Path, identity: str) -> None:
    """Keep a gated skill from being written over by an evolution that is not the same.

    Args:
        out: folder of both.
        identity: of this evolution, see :class:`EvolveResult`.

    Raises:
        BadInput: if an earlier one was accepted or gated, and this one is another.
    """
    earlier = read_result(out)
    if earlier is None or earlier.identity in ("", identity):
        return
    if earlier.accepted or earlier.gate.looks:
        verdict = "an accepted" if earlier.accepted else "a gated"
        raise BadInput(
            f"{str(out)!r} holds {verdict} skill that was made with other settings, tasks or "
            "models: name another --out, in Python out="
        )


def read_result(out: Path) -> EvolveResult | None:
    """The result of the evolution that ended in a folder; None if none has.

    Raises:
        BadInput: if it is damaged.
    """
    path = out / RESULT
    return read_value(path, EvolveResult, "is damaged") if path.is_file() else None


def compare_paths(
    paths: Sequence[Path], measure: Measure = "outcome", metric: str | None = None
) -> list[evals.RunComparison]:
    """The comparison of every run in some paths with the first.

    Args:
        paths: as :func:`harness.evals.open_results` reads them; two sides of a gate have its
            figures.
        measure: what is compared.
        metric: which of several figures decides (lm-eval, tables).

    Raises:
        BadInput: if there are fewer than two runs, or one shares no valid task with the first.
    """
    # Comparison and readers of other tools' results are loaded here: no gate meets them.
    first, *rivals = (run for path in paths for run in evals.open_results(path, metric))
    if not rivals:
        raise BadInput("expected two or more runs, got 1")
    comparisons = [evals.compare_results(first, run, measure) for run in rivals]
    if measure == "outcome" and len(paths) == 2 == len(comparisons) + 1:
        comparisons = [compared_by_gate(comparisons[0], *paths)]
    return comparisons


def compared_by_gate(
    comparison: evals.RunComparison, before: Path, after: Path
) -> evals.RunComparison:
    """The comparison with the gate's own figures, where the runs are the two sides of a gate.

    A gate stops as soon as its results suffice; an interval for a number of tasks that was fixed
    beforehand covers the truth too seldom then.

    Args:
        comparison: of the two runs, as of any others.
        before: folder of the seed's run: `gate-before` of an evolution, or its only look.
        after: folder of the candidate's run.
    """
    sides = [path.resolve() for path in (before, after)]
    homes = [path.parent if path.name == "look-01" else path for path in sides]
    if [home.name for home in homes] != ["gate-before", "gate-after"]:
        return comparison
    out = homes[0].parent.parent
    result = read_result(out)
    if homes[0].parent != homes[1].parent or result is None:
        return comparison
    gate = result.gate
    if gate.difference is None or (homes != sides and gate.looks > 1):
        return comparison
    figures = gate.model_dump(
        include={"before", "after", "difference", "ci95", "p", "tasks", "groups", "fixed", "broken"}
    )
    before_run, after_run = ({"run": home.name} for home in homes)
    return comparison.model_copy(
        update={
            "before": comparison.before.model_copy(update=before_run),
            "after": comparison.after.model_copy(update=after_run),
            "paired": comparison.paired.model_copy(update=figures),
            "detectable": gate.detectable,
            "needed": gate.tasks + gate.more_tasks if gate.more_tasks else None,
            "sequential": True,
        }
    )
