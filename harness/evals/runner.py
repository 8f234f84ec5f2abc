"""The eval runner: attempts run side by side, one writer keeps what they leave behind.

A finished attempt is an item record in the run directory; resuming skips it, unless it was
invalid. An attempt that a kill interrupted starts again in a fresh work folder, and every model
call that had been answered is answered again from the request cache, so nothing is paid twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import Task, Usage, tracing
from harness.core.rundir import RunReader, RunWriter
from harness.evals.attempts import Attempts, gateway_of
from harness.evals.control import Knobs, controlled
from harness.evals.pass_rates import attempts_by_task, pass_rate_error, pass_rate_interval
from harness.evals.plan import EvalPlan, attempt_id
from harness.evals.pool import Pool
from harness.evals.types import EvalReport, ItemRecord
from harness.models.budget import Budget
from harness.sandbox import Sandbox
from harness.stats import repeated
from harness.tasks.types import Family

if TYPE_CHECKING:
    from harness.fleet.attempts import RemoteAttempts
    from harness.models.client import ChatModel


@dataclass
class Tally:
    """The state of a run, as progress shows it."""

    total: int
    passed: int = 0
    failed: int = 0
    invalid: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def done(self) -> int:
        """Finished attempts."""
        return self.passed + self.failed + self.invalid

    def count(self, item: ItemRecord) -> None:
        """Add one finished attempt."""
        self.passed += item.outcome == "pass"
        self.failed += item.outcome == "fail"
        self.invalid += item.outcome == "invalid"
        self.usage += item.usage

    def take_back(self, item: ItemRecord) -> None:
        """An invalid attempt that was tried again is not counted twice."""
        self.invalid -= 1
        self.usage -= item.usage


async def run_eval(
    plan: EvalPlan,
    out: Path,
    *,
    model: ChatModel,
    sandbox: Sandbox | None = None,
    family: Callable[[Task], Family] | None = None,
    concurrency: int = 16,
    on_progress: Callable[[Tally], None] | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    budget: Budget | None = None,
    elsewhere: AbstractAsyncContextManager[RemoteAttempts] | None = None,
) -> EvalReport:
    """Run, or go on with, an eval run in the folder `out`.

    While it runs, :mod:`harness.evals.control` takes requests from other processes; `budget` is
    what they may change, too. `elsewhere` makes the attempts in place of this process.

    Raises:
        LimitReached: when a budget is spent; finished attempts are kept.
        BadInput: if `out` holds a run of something else, or another process writes it.
    """
    from harness.tasks import family as builtin_family

    started = time.monotonic()
    async with AsyncExitStack() as stack:
        run = stack.enter_context(RunWriter(out, plan.lock(model)))
        items: dict[str, ItemRecord] = {}
        tally = Tally(total=len(plan.attempts()))
        for item in finished_items(run):
            if item.outcome != "invalid":
                tally.count(item)
                items[item.id] = _slim(item)
        if elsewhere is None:
            gateway = await stack.enter_async_context(gateway_of(plan, model))
            chosen = family or builtin_family
            runner = Attempts(plan, out, model, sandbox, chosen, on_event, gateway)
        else:
            runner = await stack.enter_async_context(elsewhere)
        facts = {"suite": plan.suite.suite.name, "planned": tally.total, "kept": len(items)}
        stack.enter_context(tracing.operation("run", out.name, **facts))
        todo = [pair for pair in plan.attempts() if attempt_id(*pair) not in items]
        pool = Pool(runner, todo, concurrency)
        sized = model.resize if isinstance(runner, Attempts) else runner.resize
        knobs = Knobs(sized, budget, runner.limits, priced=model.priced)
        await stack.enter_async_context(controlled(out, pool, tally, knobs))
        await collect(pool, run, items, tally, on_progress)
    seconds = time.monotonic() - started
    return summarise(plan.lock(model), out.name, list(items.values()), seconds, tally.usage)


async def collect(
    pool: Pool,
    run: RunWriter,
    items: dict[str, ItemRecord],
    tally: Tally,
    on_progress: Callable[[Tally], None] | None,
) -> None:
    """Write down the attempts of a pool as they finish, and count them."""
    async with aclosing(pool.results()) as results:
        async for item, attempt in results:
            if attempt is not None:
                run.append_trajectory(attempt.trajectory.model_dump(mode="json", exclude_none=True))
            run.append_item(item.model_dump(mode="json"))
            if (before := items.get(item.id)) is not None:
                tally.take_back(before)
            items[item.id] = _slim(item)
            tally.count(item)
            if on_progress is not None:
                on_progress(tally)


_NOTHING = Usage()


def _slim(item: ItemRecord) -> ItemRecord:
    """What the report needs of an item: 100,000 of them are held, and the rest is on the disk."""
    usage = item.usage if item.outcome == "invalid" else _NOTHING  # that may be tried again
    rest: dict[str, Any] = {"reason": "", "answer": None, "usage": usage, "detail": {}}
    return item.model_copy(update=rest)


def finished_items(run: RunReader) -> list[ItemRecord]:
    """The last record of every attempt, in the order of first finishing.

    An invalid attempt is tried again on resuming, so an id can stand in the segment twice.
    """
    found = {row["id"]: row for row in run.items()}
    return [ItemRecord.model_validate(row) for row in found.values()]


def summarise(
    lock: dict[str, Any],
    run_id: str,
    items: list[ItemRecord],
    seconds: float,
    usage: Usage | None = None,
) -> EvalReport:
    """The report of a run from its item records; `usage` where those do not hold it."""
    valid = [item for item in items if item.outcome != "invalid"]
    passes = sum(item.outcome == "pass" for item in valid)
    if usage is None:
        usage = sum((item.usage for item in items), Usage())
    return EvalReport(
        run=run_id,
        items=len(items),
        passed=passes,
        failed=len(valid) - passes,
        invalid=len(items) - len(valid),
        score=passes / len(valid) if valid else None,
        ci95=pass_rate_interval(valid),
        se=pass_rate_error(valid),
        repeated=repeated(list(attempts_by_task(valid).values()), lock.get("epochs", 1)),
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        seconds=seconds,
        model=lock["model"],
        simulated=lock["simulated"],
        suite=lock["suite"],
        skill=lock["skill_name"],
        skill_mode=lock.get("skill_mode") if lock["skill_name"] else None,
    )
