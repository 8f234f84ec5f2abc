"""The eval runner: attempts run side by side, one writer keeps what they leave behind.

A finished attempt is an item record in the run directory; resuming skips it, unless it was
invalid. An attempt that a kill interrupted starts again in a fresh work folder, and every model
call that had been answered is answered again from the request cache, so nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agents.types import Agent, AgentContext, AgentRun, Sample, SkillMode
from harness.core import LimitReached, Score, Task, Usage, digest, digest_tree, invalid
from harness.core.rundir import RunReader, RunWriter
from harness.evals.statistics import pass_rate_interval
from harness.evals.suite import LoadedSuite
from harness.evals.types import EvalReport, ItemRecord
from harness.models.types import Model
from harness.sandbox.types import Sandbox
from harness.tasks.types import Family

if TYPE_CHECKING:
    from harness.models.gateway import Gateway

SPREADSHEET_OUTPUT = "output.xlsx"
"""The file that a spreadsheet agent must leave in its work folder."""


@dataclass(frozen=True)
class EvalPlan:
    """What an eval run depends on.

    Attributes:
        suite: the loaded suite.
        agent: the agent; its spec is part of the lock.
        skill: skill directory, or None.
        epochs: attempts per task; each has its own seed (`seed` + epoch).
        seed: random seed, sent with every call.
        limit: take the first tasks only.
    """

    suite: LoadedSuite
    agent: Agent
    skill: Path | None = None
    skill_mode: SkillMode | None = None
    epochs: int = 1
    seed: int = 41
    limit: int | None = None

    def attempts(self) -> list[tuple[Task, int]]:
        """Every (task, epoch) of the run, epochs outermost."""
        tasks = self.suite.tasks[: self.limit]
        return [(task, epoch) for epoch in range(self.epochs) for task in tasks]

    def lock(self, model: Model) -> dict[str, Any]:
        """What `run.json` records; a run resumes only if it is unchanged."""
        import harness

        return {
            "kind": "eval",
            "suite": self.suite.suite.name,
            "split": self.suite.split,
            "tasks": self.suite.digest,
            "skill": digest_tree(self.skill) if self.skill else None,
            "skill_name": self.skill.name if self.skill else None,
            "skill_mode": self.skill_mode or self.suite.suite.skill_mode,
            "agent": self.agent.spec,
            "model": model.spec,
            "simulated": model.simulated,
            "prompts": _prompts_digest(),
            "epochs": self.epochs,
            "seed": self.seed,
            "limit": self.limit,
            "version": harness.__version__,
        }


def _prompts_digest() -> str:
    from harness.core import assets

    return digest_tree(assets.root() / "prompts")


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


async def run_eval(
    plan: EvalPlan,
    out: Path,
    *,
    model: Model,
    sandbox: Sandbox | None = None,
    family: Callable[[Task], Family] | None = None,
    concurrency: int = 16,
    on_progress: Callable[[Tally], None] | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> EvalReport:
    """Run, or go on with, an eval run in the folder `out`.

    Raises:
        LimitReached: when a budget is spent; finished attempts are kept.
        BadInput: if `out` holds a run of something else, or another process writes it.
    """
    from harness.tasks import family as builtin_family

    started = time.monotonic()
    async with AsyncExitStack() as stack:
        run = stack.enter_context(RunWriter(out, plan.lock(model)))
        items = {item.id: item for item in finished_items(run) if item.outcome != "invalid"}
        tally = Tally(total=len(plan.attempts()))
        for item in items.values():
            tally.count(item)
        gateway = await stack.enter_async_context(_gateway(plan, model))
        runner = _Attempts(plan, out, model, sandbox, family or builtin_family, on_event, gateway)
        todo = [pair for pair in plan.attempts() if attempt_id(*pair) not in items]
        async for item, attempt in _side_by_side(runner, todo, concurrency):
            if attempt is not None:
                run.append_trajectory(attempt.trajectory.model_dump(mode="json", exclude_none=True))
            run.append_item(item.model_dump(mode="json"))
            items[item.id] = item
            tally.count(item)
            if on_progress is not None:
                on_progress(tally)
    seconds = time.monotonic() - started
    return summarise(plan.lock(model), out.name, list(items.values()), seconds)


def finished_items(run: RunReader) -> list[ItemRecord]:
    """The last record of every attempt, in the order of first finishing.

    An invalid attempt is tried again on resuming, so an id can stand in the segment twice.
    """
    found = {row["id"]: row for row in run.items()}
    return [ItemRecord.model_validate(row) for row in found.values()]


def attempt_id(task: Task, epoch: int) -> str:
    """Id of an attempt: the task's id, with `@epoch` from the second one on."""
    return task.id if epoch == 0 else f"{task.id}@{epoch}"


def summarise(
    lock: dict[str, Any], run_id: str, items: list[ItemRecord], seconds: float
) -> EvalReport:
    """The report of a run from its item records."""
    valid = [item for item in items if item.outcome != "invalid"]
    passes = sum(item.outcome == "pass" for item in valid)
    usage = sum((item.usage for item in items), Usage())
    return EvalReport(
        run=run_id,
        items=len(items),
        passed=passes,
        failed=len(valid) - passes,
        invalid=len(items) - len(valid),
        score=passes / len(valid) if valid else None,
        ci95=pass_rate_interval(valid),
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        seconds=seconds,
        model=lock["model"],
        simulated=lock["simulated"],
        suite=lock["suite"],
        skill=lock["skill_name"],
    )


class _Attempts:
    """Runs single attempts; holds what they share."""

    def __init__(
        self,
        plan: EvalPlan,
        out: Path,
        model: Model,
        sandbox: Sandbox | None,
        family: Callable[[Task], Family],
        on_event: Callable[[dict[str, Any]], None] | None,
        gateway: Gateway | None,
    ) -> None:
        self._plan, self._model, self._gateway = plan, model, gateway
        self._out = out.absolute()  # agents run in their work folder: a relative path would lie
        self._sandbox, self._family, self._on_event = sandbox, family, on_event

    async def run(self, task: Task, epoch: int) -> tuple[ItemRecord, AgentRun | None]:
        """One attempt in a fresh work folder, which is removed when it was scored."""
        name = attempt_id(task, epoch)
        folder = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
        workdir = self._out / "work" / f"{folder}-{digest(name)[:8]}"
        shutil.rmtree(workdir, ignore_errors=True)
        workdir.mkdir(parents=True)
        started = time.monotonic()
        try:
            attempt, score = await self._attempt(task, name, epoch, workdir)
        finally:
            shutil.rmtree(workdir, ignore_errors=True)
        usage = attempt.usage.model_copy(update={"seconds": time.monotonic() - started})
        item = ItemRecord(
            id=name,
            task_id=task.id,
            epoch=epoch,
            outcome=score.outcome,
            value=score.value,
            reason=score.reason,
            answer=attempt.answer,
            usage=usage,
            stratum=str(task.meta.get("stratum", "")),
            detail=score.detail,
        )
        return item, _with_score(attempt, task, score)

    async def _attempt(
        self, task: Task, name: str, epoch: int, workdir: Path
    ) -> tuple[AgentRun, Score]:
        base, settings = self._plan.suite.base, self._plan.suite.suite
        family = self._family(task)
        prompt = await asyncio.to_thread(family.prepare, task, base, workdir)
        sample = Sample(id=name, task_id=task.id, prompt=prompt, workdir=workdir)
        sampling = settings.sampling.model_copy(update={"seed": self._plan.seed + epoch})
        spreadsheet = task.check == "spreadsheet"
        tools = settings.tools
        if tools is None:
            tools = ("python", "bash") if spreadsheet else ()
        context = AgentContext(
            model=self._model,
            sandbox=self._sandbox,
            skill=self._plan.skill,
            skill_mode=self._plan.skill_mode or settings.skill_mode,
            sampling=sampling,
            max_turns=settings.max_turns,
            on_event=self._on_event,
            tools=tools,
            protocol=settings.protocol,
            output_file=SPREADSHEET_OUTPUT if spreadsheet else "",
        )
        attempt = await self._run_agent(sample, context)
        if attempt.invalid is not None:
            return attempt, invalid(attempt.invalid)
        score = await asyncio.to_thread(family.score, task, base, workdir, attempt.answer)
        return attempt, score

    async def _run_agent(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Run the agent; a foreign one gets an endpoint, and its calls are counted there."""
        agent = self._plan.agent
        if self._gateway is None:
            return await agent.run(sample, context)
        key, variables = self._gateway.open_account()
        try:
            attempt = await agent.run(sample, replace(context, endpoint=variables))
        finally:
            account = self._gateway.close_account(key)
        if account.limit is not None:
            raise account.limit
        return replace(attempt, usage=attempt.usage + account.usage)


@asynccontextmanager
async def _gateway(plan: EvalPlan, model: Model) -> AsyncGenerator[Gateway | None]:
    if not plan.agent.spec.startswith("cmd:"):
        yield None
        return
    from harness.models.gateway import open_gateway

    async with open_gateway(model, plan.seed) as gateway:
        yield gateway


def _with_score(attempt: AgentRun, task: Task, score: Score) -> AgentRun:
    """The attempt with its judgement written into the trajectory, where analysts look for it."""
    extra = dict(attempt.trajectory.extra or {})
    extra["harness"] = {
        **attempt.trajectory.harness,
        "task_id": task.id,
        "task": {"prompt": task.prompt, **task.meta},
        "outcome": score.outcome,
        "score": score.value,
        "reason": score.reason,
        "answer": attempt.answer,
    }
    trajectory = attempt.trajectory.model_copy(update={"extra": extra})
    return AgentRun(attempt.answer, trajectory, attempt.usage, attempt.invalid)


async def _side_by_side(
    runner: _Attempts, attempts: list[tuple[Task, int]], concurrency: int
) -> AsyncIterator[tuple[ItemRecord, AgentRun | None]]:
    """Yield attempts as they finish, at most `concurrency` at a time.

    A budget that is spent ends the run only after the attempts in flight were given the chance
    to finish: what they have paid for is kept.
    """
    waiting = iter(attempts)
    limit: LimitReached | None = None
    async with _cancelling() as running:
        while True:
            while limit is None and len(running) < concurrency:
                pair = next(waiting, None)
                if pair is None:
                    break
                running.add(asyncio.create_task(runner.run(*pair)))
            if not running:
                break
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            running.difference_update(done)
            for finished in done:
                try:
                    yield finished.result()
                except LimitReached as error:
                    limit = error
    if limit is not None:
        raise limit


@asynccontextmanager
async def _cancelling() -> AsyncGenerator[set[asyncio.Task[tuple[ItemRecord, AgentRun | None]]]]:
    """A set of tasks that are cancelled when the block is left early."""
    running: set[asyncio.Task[tuple[ItemRecord, AgentRun | None]]] = set()
    try:
        yield running
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
