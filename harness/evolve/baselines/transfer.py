"""Transfer: a skill that one model authored, gated for the models that will use it.

The headline of Trace2Skill (arXiv 2603.25158, Table 1): author and user of a skill may be different
models, and its tasks may come from other suites than those that taught it. Each user runs each
suite twice on the same tasks and seeds, without and with the evolved skill. Every task is run: a
test that stops early would choose its moment, and its difference could not stand in a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from harness.core import BadInput, Usage, Value, digest
from harness.evals import ItemRecord, LoadedSuite, compare_paired
from harness.evolve.gate import both_valid
from harness.evolve.report import Finished
from harness.models import parse_spec
from harness.stats import detectable_lift, holm, required_tasks

# Error that all comparisons share (two-sided).
ALPHA = 0.05
# A task set that cannot see ten points says nothing by finding nothing.
USEFUL_LIFT = 0.10
EvaluateUser = Callable[
    [LoadedSuite, Path, Path | None, str], Coroutine[Any, Any, list[ItemRecord]]
]
"""Runs a suite in a run folder, with a skill directory or with none, by a user's model."""


class TransferRow(Value):
    """One user model on one suite; in JSON `with_skill` is called `with`.

    Attributes:
        author: models that had a hand in the skill.
        user: spec of the model that uses it.
        suite: name of the suite.
        split: of the suite.
        n: tasks with a valid attempt on both sides.
        groups: groups of them; None where tasks have none.
        without: pass rate over `n` with the seed skill, or with none.
        with_skill: pass rate over `n` with the evolved skill.
        difference: with - without.
        ci95: 95 % interval of the difference, over tasks, or groups; for this row alone.
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
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
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


@dataclass(frozen=True)
class TransferPlan:
    """Plan of the comparisons, made before anything is spent.

    Attributes:
        author: models that have a hand in the skill.
        users: specs of the models that will use it.
        suites: each with exactly the tasks that are run.
        epochs: attempts per task and side.
        discordance: expected share of results that change.
        margin: smallest difference that is accepted.
    """

    author: str
    users: tuple[str, ...]
    suites: tuple[LoadedSuite, ...]
    epochs: int = 1
    discordance: float = 0.25
    margin: float = 0.0

    @property
    def comparisons(self) -> list[tuple[str, LoadedSuite]]:
        """Every (user, suite), users outermost."""
        return [(user, suite) for user in self.users for suite in self.suites]

    @property
    def level(self) -> float:
        """Error that the first of the comparisons may make (two-sided)."""
        return ALPHA / max(1, len(self.comparisons))

    def lines(self) -> list[str]:
        """The plan in sentences: one a comparison, and the sum."""
        sentences: list[str] = []
        total, count = 0, len(self.comparisons)
        for user, suite in self.comparisons:
            tasks = len(suite.tasks)
            attempts = 2 * tasks * self.epochs
            calls = attempts * suite.suite.max_turns
            total += calls
            lift = detectable_lift(tasks, self.discordance, alpha=self.level)
            sees = (
                "no lift can be detected" if lift is None else f"detects {100 * lift:+.1f} points"
            )
            needed = required_tasks(USEFUL_LIFT, self.discordance, alpha=self.level)
            name = f"{suite.suite.name} ({suite.split})" if suite.split else suite.suite.name
            sentences.append(
                f"{user} on {name}: {tasks} tasks, {attempts} attempts, at most {calls:,} calls; "
                f"{sees} with 80% power if {self.discordance:.0%} of the results change"
                + (f"; ten points need {needed} tasks" if needed > tasks else "")
            )
        shared = f"comparisons share an error of {ALPHA:.0%}"
        error = shared if count > 1 else f"comparison, error {ALPHA:.0%}"
        return [*sentences, f"{count} {error}; at most {total:,} calls for transfer"]


def untaught(suite: LoadedSuite, taught: Mapping[str, str]) -> LoadedSuite:
    """The suite without tasks of the same id and prompt as one that taught; maybe without any."""
    tasks = tuple(task for task in suite.tasks if taught.get(task.id) != task.prompt)
    return suite.model_copy(update={"tasks": tasks})


def held_out(suite: LoadedSuite, taught: Mapping[str, str], limit: int | None) -> LoadedSuite:
    """The suite without tasks that taught, its first `limit` tasks.

    Args:
        suite: the suite.
        taught: prompts of the tasks that teach, by id.
        limit: tasks at most; None for all.

    Raises:
        BadInput: if none is left.
    """
    tasks = untaught(suite, taught).tasks
    if not tasks:
        raise BadInput(
            f"--transfer {suite.suite.name!r}: all of its {len(suite.tasks)} tasks are among those "
            "that teach; give a suite with tasks of its own"
        )
    return suite.model_copy(update={"tasks": tasks[:limit]})


async def run_transfer(
    plan: TransferPlan, evolved: Finished, evaluate: EvaluateUser, tell: Callable[[str], None]
) -> list[TransferRow]:
    """Run every comparison of the plan, and judge them together.

    Args:
        plan: what was printed before anything was spent.
        done: the finished evolution; its skill has been written.
        evaluate: runs a suite; finished attempts are kept when it is called again.
        tell: called with what differs from the plan, and with each result.

    Raises:
        Unreachable, LimitReached: from a user's model; finished attempts are kept.
    """
    evolution, planned = evolved.evolution, plan
    # Tasks of the evolution's trajectories are known only now.
    ids = {task.id for suite in plan.suites for task in suite.tasks}
    runs = [run for run in evolved.runs.runs if run.task_id in ids]
    trajectories = evolution.store.load(runs)
    prompts = {r.task_id: t.prompt for r, t in zip(runs, trajectories, strict=True)}
    plan = replace(plan, suites=tuple(untaught(suite, prompts) for suite in plan.suites))
    counts = [sum(len(suite.tasks) for suite in some.suites) for some in (planned, plan)]
    if counts[0] > counts[1]:
        dropped = counts[0] - counts[1]
        tell(f"{dropped} tasks taught this skill and are left out; the plan is now:")
        for line in plan.lines():
            tell(line)
    if not any(edit.changed for edit in evolved.applied.applied):
        tell("nothing was learned: the skill is its seed, and nothing is run")
        return judged(plan, [([], []) for _ in plan.comparisons], "nothing was learned")

    def slug(name: str, key: str) -> str:
        return f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[-60:]}-{key[:8]}"

    sides: list[tuple[list[ItemRecord], list[ItemRecord]]] = []
    for user, suite in plan.comparisons:
        # The folder of a suite depends on its tasks, so that other tasks are another run.
        folder = evolution.options.out / "runs" / "transfer" / slug(user, digest(user))
        folder /= slug(suite.suite.name, suite.digest)
        before: list[ItemRecord] = []
        after: list[ItemRecord] = []
        if suite.tasks:
            before = await evaluate(suite, folder / "without", evolution.options.skill, user)
            after = await evaluate(suite, folder / "with", evolution.skill_dir, user)
        sides.append((before, after))
    rows = judged(plan, sides)
    for row in rows:
        tell(f"{row.user} on {row.suite}: {row.verdict}, {row.reason}")
    return rows


def judged(
    plan: TransferPlan,
    sides: Sequence[tuple[Sequence[ItemRecord], Sequence[ItemRecord]]],
    reason: str = "",
) -> list[TransferRow]:
    """Rows of all comparisons, judged together.

    Args:
        plan: the comparisons.
        sides: attempts without and with the skill, of each; both empty where it was not run.
        reason: why none was run.
    """
    pairs = [compare_paired(*both_valid(before, after)) for before, after in sides]
    corrected = holm([1.0 if pair.p is None else pair.p for pair in pairs])
    rows: list[TransferRow] = []
    for number, (user, suite) in enumerate(plan.comparisons):
        pair, p, items = pairs[number], corrected[number], [*sides[number][0], *sides[number][1]]
        usage = sum((item.usage for item in items), Usage())
        change = max(pair.discordance or 0.0, USEFUL_LIFT)
        detectable = detectable_lift(pair.tasks, change, alpha=plan.level)
        # The gate's rule for a fixed number of tasks, at the level that the comparisons share.
        verdict: Literal["accepted", "refused", "not gated"] = "refused"
        points, groups = "", f" in {pair.groups} groups" if pair.groups else ""
        if pair.difference is not None:
            points = (
                f"{100 * pair.difference:+.1f} points (p = {p:.3g}, {pair.tasks} tasks{groups})"
            )
        if not suite.tasks:
            verdict, why = "not gated", "all tasks of this suite taught the skill"
        elif pair.difference is None:
            verdict, why = "not gated", "no task is valid on both sides"
        elif p < ALPHA and pair.difference > plan.margin:
            verdict, why = "accepted", f"better by {points}"
        elif p < ALPHA and pair.difference < 0:
            why = f"worse: {points}"
        elif p < ALPHA:
            why = f"not above {100 * plan.margin:.1f} points: {points}"
        elif detectable is None or detectable > USEFUL_LIFT:
            discordance = max(pair.discordance or 0.0, plan.discordance)
            more = required_tasks(USEFUL_LIFT, discordance, alpha=plan.level) - pair.tasks
            verdict = "not gated"
            why = f"too few tasks to tell: {points}; {max(1, more)} more would see ten"
        else:
            why = f"no significant gain: {points}"
        rows.append(
            TransferRow(
                author=plan.author,
                user=user,
                suite=suite.suite.name,
                split=suite.split,
                n=pair.tasks,
                groups=pair.groups,
                without=pair.before,
                with_skill=pair.after,
                difference=pair.difference,
                ci95=pair.ci95,
                p=None if pair.p is None else p,
                detectable=detectable,
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
