"""Transfer: a skill that one model authored, gated for the models that will use it.

The headline of Trace2Skill (arXiv 2603.25158, Table 1): author and user of a skill may be different
models, and its tasks may come from other suites than those that taught it. Each user runs each
suite twice on the same tasks and seeds, without and with the evolved skill. Every task is run: a
test that stops early would choose its moment, and its difference could not stand in a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from harness.core import Usage, Value, digest
from harness.evals import ItemRecord, LoadedSuite, compare_paired
from harness.evolve.evidence import task_prompt
from harness.evolve.outcome import Finished
from harness.evolve.runs import load
from harness.evolve.transfer_plan import ALPHA, USEFUL_LIFT, TransferPlan, untaught
from harness.models import parse_spec
from harness.stats import PairedComparison, detectable_lift, holm, required_tasks

Arm = Literal["without", "with"]
EvaluateUser = Callable[
    [str, Path, Path | None, LoadedSuite], Coroutine[Any, Any, list[ItemRecord]]
]
"""Runs a suite with a user's model in a run folder, with a skill directory or with none."""
Tell = Callable[[str], None]


class TransferRow(Value):
    """One user model on one suite; in JSON `with_skill` is called `with`.

    Attributes:
        author: models that had a hand in the skill.
        user: spec of the model that uses it.
        suite: name of the suite.
        split: of the suite.
        n: tasks with a valid attempt on both sides.
        without: pass rate over `n` with the seed skill, or with none.
        with_skill: pass rate over `n` with the evolved skill.
        difference: with - without.
        ci95: 95 % interval of the difference, bootstrap over tasks; for this row alone.
        p: two-sided, corrected for the number of comparisons (Holm 1979).
        detectable: smallest lift that `n` tasks find with 80 % power, at the discordance seen.
        invalid: attempts of both sides that could not be scored; they count in no rate.
        fixed: tasks that fail without and pass with.
        broken: tasks that pass without and fail with.
        verdict: as of the gate.
        reason: the verdict in one sentence.
        calls: model calls of both sides.
        tokens: of those calls.
        cost_usd: of those calls, None where a price is unknown.
        simulated: whether the user is a simulated model.
    """

    author: str
    user: str
    suite: str
    split: str | None
    n: int
    without: float | None
    with_skill: float | None = Field(serialization_alias="with")
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    detectable: float | None
    invalid: int
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    verdict: Literal["accepted", "refused", "not gated"]
    reason: str
    calls: int
    tokens: int
    cost_usd: float | None
    simulated: bool


async def run_transfer(
    plan: TransferPlan, done: Finished, evaluate: EvaluateUser, tell: Tell
) -> list[TransferRow]:
    """Run every comparison of the plan, and judge them together.

    Args:
        plan: what was printed before anything was spent.
        done: the finished evolution; its skill has been written.
        evaluate: runs a suite; finished attempts are kept when it is called again.
        tell: told what differs from the plan, and each result.

    Raises:
        Unreachable, LimitReached: from a user's model; finished attempts are kept.
    """
    options = done.evolution.options
    plan = _untaught(plan, done, tell)
    if not any(one.changed for one in done.applied.applied):
        tell("nothing was learned: the skill is its seed, and nothing is run")
        return judged(plan, [([], []) for _ in plan.comparisons], "nothing was learned")
    found: list[tuple[list[ItemRecord], list[ItemRecord]]] = []
    for user, suite in plan.comparisons:
        if not suite.tasks:
            found.append(([], []))
            continue
        folder = options.out / "runs" / "transfer" / _slug(user) / _slug(suite.suite.name, suite)
        before = await evaluate(user, folder / "without", options.skill, suite)
        after = await evaluate(user, folder / "with", done.evolution.skill_dir, suite)
        found.append((before, after))
    rows = judged(plan, found)
    for row in rows:
        tell(f"{row.user} on {row.suite}: {row.verdict}, {row.reason}")
    return rows


def _untaught(plan: TransferPlan, done: Finished, tell: Tell) -> TransferPlan:
    """The plan without tasks of the evolution's trajectories, which are known only now."""
    ids = {task.id for suite in plan.suites for task in suite.tasks}
    runs = [run for run in done.runs.runs if run.task_id in ids]
    taught = {
        run.task_id: task_prompt(one)
        for run, one in zip(runs, load(runs, done.evolution.shelf), strict=True)
    }
    left = replace(plan, suites=tuple(untaught(suite, taught) for suite in plan.suites))
    dropped = sum(len(suite.tasks) for suite in plan.suites) - sum(
        len(suite.tasks) for suite in left.suites
    )
    if dropped:
        tell(f"{dropped} tasks taught this skill and are left out; the plan is now:")
        for line in left.lines():
            tell(line)
    return left


def _slug(name: str, suite: LoadedSuite | None = None) -> str:
    """A folder name; of a suite it depends on its tasks, so that other tasks are another run."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[-60:]
    return f"{safe}-{(suite.digest if suite else digest(name))[:8]}"


def judged(
    plan: TransferPlan,
    found: Sequence[tuple[Sequence[ItemRecord], Sequence[ItemRecord]]],
    reason: str = "",
) -> list[TransferRow]:
    """Rows of all comparisons, judged together.

    Args:
        plan: the comparisons.
        found: attempts without and with the skill, of each; both empty where it was not run.
        reason: why none was run.
    """
    pairs = [compare_paired(*_both_valid(before, after)) for before, after in found]
    corrected = holm([1.0 if pair.p is None else pair.p for pair in pairs])
    rows: list[TransferRow] = []
    for (user, suite), sides, pair, p in zip(
        plan.comparisons, found, pairs, corrected, strict=True
    ):
        items = [item for side in sides for item in side]
        usage = sum((item.usage for item in items), Usage())
        change = max(pair.discordance or 0.0, USEFUL_LIFT)
        seen = detectable_lift(pair.tasks, change, alpha=plan.level)
        verdict, why = _verdict(plan, pair, p, seen)
        if not suite.tasks:
            why = "all tasks of this suite taught the skill"
        rows.append(
            TransferRow(
                author=plan.author,
                user=user,
                suite=suite.suite.name,
                split=suite.split,
                n=pair.tasks,
                without=pair.before,
                with_skill=pair.after,
                difference=pair.difference,
                ci95=pair.ci95,
                p=None if pair.p is None else p,
                detectable=seen,
                invalid=sum(item.outcome == "invalid" for item in items),
                fixed=pair.fixed,
                broken=pair.broken,
                verdict=verdict,
                reason=reason or why,
                calls=usage.calls,
                tokens=usage.tokens,
                cost_usd=usage.cost_usd,
                simulated=parse_spec(user).kind == "simulated",
            )
        )
    return rows


def _both_valid(
    before: Iterable[ItemRecord], after: Iterable[ItemRecord]
) -> tuple[list[ItemRecord], list[ItemRecord]]:
    """Attempts that are valid on both sides, so that each epoch meets its own seed."""
    first, second = (
        {(one.task_id, one.epoch): one for one in side if one.outcome != "invalid"}
        for side in (before, after)
    )
    common = sorted(first.keys() & second.keys())
    return [first[key] for key in common], [second[key] for key in common]


def _verdict(
    plan: TransferPlan, pair: PairedComparison, p: float, detectable: float | None
) -> tuple[Literal["accepted", "refused", "not gated"], str]:
    """The gate's rule for a fixed number of tasks, at the level that the comparisons share."""
    if pair.difference is None:
        return "not gated", "no task is valid on both sides"
    points = f"{100 * pair.difference:+.1f} points (p = {p:.3g}, {pair.tasks} tasks)"
    if p < ALPHA and pair.difference > plan.margin:
        return "accepted", f"better by {points}"
    if p < ALPHA:
        what = "worse" if pair.difference < 0 else f"not above {100 * plan.margin:.1f} points"
        return "refused", f"{what}: {points}"
    if detectable is None or detectable > USEFUL_LIFT:
        change = max(pair.discordance or 0.0, plan.discordance)
        more = required_tasks(USEFUL_LIFT, change, alpha=plan.level) - pair.tasks
        return "not gated", f"too few tasks to tell: {points}; {max(1, more)} more would see ten"
    return "refused", f"no significant gain: {points}"
