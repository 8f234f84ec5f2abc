"""Attempts in the workers of a fleet: the driver hands them out and gets back what they leave.

The driver stays the only writer of the run folder. A task's row travels with its attempt, the
skill and the files of the tasks once to every machine; item record and trajectory come back once.
An attempt whose worker dies begins again in another one, and its calls that were answered are
answered from the run's cache.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from harness.agents.types import AgentRun, SkillMode
from harness.core import Task, Trajectory, Usage, Value, tracing
from harness.evals import (
    Attempts,
    EvalPlan,
    Finished,
    ItemRecord,
    LoadedSuite,
    RemoteRun,
    Suite,
    attempt_id,
    gateway_of,
    unfinished,
)
from harness.fleet import (
    CallService,
    Channel,
    Executor,
    Fleet,
    Methods,
    Retelling,
    SharedModelSpec,
    Tree,
    Work,
    WorkersLost,
    budget_terms,
    open_fleet,
    open_shared_model,
    part,
    relay_service,
    shared_spec,
    telling,
)
from harness.models import LiveLimits, SampleLimits

if TYPE_CHECKING:
    from harness.models import ChatModel

ENTRY = "harness.fleet.attempts:attempts_here"


class AttemptsSpec(Value):
    """What a worker needs to make attempts.

    Attributes:
        suite: settings; tasks come one by one.
        base: folder that the tasks' files start at; the worker's own where it got a copy.
        agent: spec, with the folder that its files start at, and whether its code may run here.
        work: where the worker makes the folder for its work folders; None: on its own disk.
        events: whether the driver wants the events.
        watched: whether anybody watches the driver.
        content: whether who watches looks at what was said.
    """

    suite: Suite
    base: Path
    agent: str
    agent_base: Path
    agent_trusted: bool
    trust: bool
    sandbox: str
    skill_mode: SkillMode | None
    seed: int
    limits: SampleLimits
    model: SharedModelSpec
    work: Path | None
    events: bool
    watched: bool
    content: bool


@asynccontextmanager
async def open_attempts(executor: Executor, run: RemoteRun) -> AsyncGenerator[RemoteAttempts]:
    """Attempts of a run in workers, while a block runs."""
    plan, settings = run.plan, run.settings
    spec = AttemptsSpec(
        suite=plan.suite.suite,
        base=plan.suite.base.absolute(),
        agent=plan.agent.spec,
        agent_base=run.agent_base.absolute(),
        agent_trusted=run.agent_trusted,
        trust=settings.trust,
        sandbox=settings.sandbox,
        skill_mode=plan.skill_mode,
        seed=plan.seed,
        limits=plan.sample_limits,
        model=shared_spec(
            run.model, settings.base_url, run.budget, settings.concurrency, executor.host
        ),
        work=run.out.absolute() / "work" if executor.shares_disk else None,
        events=run.on_event is not None,
        watched=tracing.watched(),
        content=tracing.content_wanted(),
    )
    trees = {"base": Tree(plan.suite.base, plan.suite.sent)}
    if plan.skill is not None:
        trees["skill"] = Tree(plan.skill)
    shared, retelling = CallService(run.calls, run.budget), Retelling(wanted=spec.watched)

    async def event(value: dict[str, Any]) -> None:
        if run.on_event is not None:
            run.on_event(value)

    def services(worker: Channel) -> Methods:
        told = retelling.of(worker)
        relay = relay_service(run.model, told.context)
        return {**relay, **shared.methods(worker), **told.methods(), "event": event}

    work = Work(ENTRY, spec.model_dump(mode="json"), trees)
    async with open_fleet(executor, work, services) as fleet:
        budget = run.budget
        budget.changed = lambda: fleet.tell_all("budget", budget_terms(budget))
        yield RemoteAttempts(fleet, plan, run.model, retelling)


class RemoteAttempts:
    """Makes attempts as :class:`harness.evals.attempts.Attempts` does, in a fleet.

    Attributes:
        limits: of every attempt, in every worker.
    """

    def __init__(
        self, fleet: Fleet, plan: EvalPlan, model: ChatModel, retelling: Retelling
    ) -> None:
        self._fleet, self._agent, self._model = fleet, plan.agent.spec, model
        self._retelling = retelling
        self.limits = LiveLimits(
            plan.limits, lambda now: fleet.tell_all("limits", now.model_dump(mode="json"))
        )

    def resize(self, concurrency: int) -> None:
        """Let so many model calls be in flight, at most: of each worker, and of the driver."""
        self._model.resize(concurrency)
        self._fleet.tell_all("resize", concurrency)

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt, in the worker that has the least to do."""
        name = attempt_id(task, epoch)
        facts = {"sample": name, "task": task.id, "epoch": epoch, "model": self._model.spec}
        with tracing.operation("invoke_agent", self._agent, **facts) as watched:
            value = {"task": task.model_dump(mode="json"), "epoch": epoch}
            try:
                with self._retelling.part() as number:
                    found = await self._fleet.call("attempt", {**value, "part": number})
            except WorkersLost as error:
                watched.add(outcome="invalid", score=0.0)
                return unfinished((task, epoch), str(error)), None
            item = ItemRecord.model_validate(found["item"])
            watched.add(outcome=item.outcome, score=item.value)
        return item, AgentRun(
            answer=found["answer"],
            trajectory=Trajectory.model_validate(found["trajectory"]),
            usage=Usage.model_validate(found["usage"]),
            invalid=found["invalid"],
        )


@asynccontextmanager
async def attempts_here(
    channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
) -> AsyncGenerator[Methods]:
    """What a worker of a fleet does for an eval run."""
    from harness.agents import open_agent
    from harness.sandbox import select
    from harness.tasks import family

    told = AttemptsSpec.model_validate(spec)
    base = trees.get("base", told.base)
    suite = LoadedSuite(suite=told.suite, split=None, tasks=(), base=base, root=base)
    plan = EvalPlan(
        suite=suite,
        agent=open_agent(told.agent, base=told.agent_base, trusted=told.agent_trusted),
        skill=trees.get("skill"),
        skill_mode=told.skill_mode,
        seed=told.seed,
        sample_limits=told.limits,
    )
    sandbox = select(told.sandbox)
    model, told_of_model = open_shared_model(channel, told.model)

    def on_event(event: dict[str, Any]) -> None:
        channel.tell("event", json.loads(json.dumps(event, default=str)))

    if told.work is not None:
        told.work.mkdir(parents=True, exist_ok=True)
    # Of this worker alone: an attempt that is begun again elsewhere may not lose its folder here.
    telling_it = telling(channel, content=told.content) if told.watched else nullcontext()
    with tempfile.TemporaryDirectory(prefix="worker-", dir=told.work) as folder, telling_it:
        async with gateway_of(plan, model) as gateway:
            attempts = Attempts(
                plan, Path(folder), model, sandbox,
                lambda task: family(task, sandbox=None if told.trust else sandbox),
                on_event if told.events else None, gateway,
            )  # fmt: skip

            turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

            async def attempt(value: dict[str, Any]) -> dict[str, Any]:
                task = Task.model_validate(value["task"])
                turn = turns.setdefault(attempt_id(task, value["epoch"]), asyncio.Lock())
                async with turn:  # one that was cancelled clears its folder first
                    with part(value["part"]):
                        item, run = await attempts.run(task, value["epoch"])
                assert run is not None  # only cancelled attempts have none, and those raise
                return {
                    "item": item.model_dump(mode="json"),
                    "answer": run.answer,
                    "trajectory": run.trajectory.model_dump(mode="json", exclude_none=True),
                    "usage": run.usage.model_dump(mode="json"),
                    "invalid": run.invalid,
                }

            async def limits(value: dict[str, Any]) -> None:
                attempts.limits.now = SampleLimits.model_validate(value)

            try:
                yield {"attempt": attempt, "limits": limits, **told_of_model}
            finally:
                await model.aclose()
