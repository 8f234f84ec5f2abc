"""Attempts in workers: the driver hands them out, and gets back what they leave.

The driver stays the only writer of the run folder. A task travels with its attempt, the skill and
the files of the tasks once to every machine; item record and trajectory come back once. An attempt
whose worker dies begins again in another one, and its calls that were answered are answered from
the run's cache.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.agents import AgentRun, open_agent
from harness.core import HarnessError, Task, temporary_work_folder, tracing
from harness.evals import (
    Attempts,
    EvalPlan,
    Finished,
    ItemRecord,
    JudgingSpec,
    RemoteRun,
    attempt_id,
    faulty,
    gateway_of,
    unfinished,
)
from harness.fleet.calls import (
    UNDERWAY,
    CallServer,
    RemoteModel,
    Report,
    ToolCalls,
    Underway,
    Warnings,
    open_calls,
)
from harness.fleet.executors import WorkerExecutor
from harness.fleet.trees import Tree
from harness.fleet.workers import Ask, WorkersLost
from harness.models import Endpoint, LiveLimits, Price, SampleLimits

MOST_CALLS = 10_000
"""Calls of a worker to the driver at one time: the driver's model knows how many go on."""
_LIFE = AsyncExitStack()
"""Open for as long as a worker lives."""


@dataclass(frozen=True)
class AttemptsSpec:
    """Everything a worker needs to make attempts.

    Attributes:
        plan: of the run, without its tasks, which come one by one.
        agent: its spec, the folder that its files start at, and whether its code may run here.
        judging: sandbox and trust of the run.
        endpoint: where the driver answers.
        model: its spec, whether it is simulated and constrains replies, and its price.
        out: the run folder where the worker sees it; None: it works on its own disk.
        events: whether the driver wants the events.
        traced: whether the driver is traced.
        content: whether who traces it looks at what was said.
    """

    plan: EvalPlan
    agent: tuple[str, Path, bool]
    judging: JudgingSpec
    endpoint: Endpoint
    model: tuple[str, bool, bool, Price | None]
    out: Path | None
    events: bool
    traced: bool
    content: bool


@dataclass(frozen=True)
class AttemptRequest:
    """An attempt that a worker is asked for.

    Attributes:
        number: by which the driver knows it.
        limits: that hold now.
    """

    task: Task
    epoch: int
    number: int
    limits: SampleLimits


@dataclass(frozen=True)
class AttemptResult:
    """The result of an attempt in a worker.

    Attributes:
        reports: that it had not sent before.
    """

    item: ItemRecord
    run: AgentRun | None
    reports: list[Report]


@asynccontextmanager
async def open_attempts(executor: WorkerExecutor, run: RemoteRun) -> AsyncGenerator[RemoteAttempts]:
    """Attempts of a run in workers, while a block runs."""
    plan, model = run.plan, run.model
    bare = plan.suite.model_copy(update={"tasks": ()})
    trees = {"base": Tree(plan.suite.base, plan.suite.sent)}
    if plan.skill is not None:
        trees["skill"] = Tree(plan.skill)
    async with open_calls(run, executor.host) as server:
        spec = AttemptsSpec(
            plan=replace(plan, suite=bare, agent=None, skill=None),
            agent=(plan.agent.spec, run.agent_base.absolute(), run.agent_trusted),
            judging=JudgingSpec(
                sandbox=run.settings.sandbox, trust_checks=run.settings.trust_checks
            ),
            endpoint=server.endpoint,
            model=(model.spec, model.simulated, model.constrains, model.price),
            out=run.out.absolute() if executor.shares_disk else None,
            events=run.on_event is not None,
            traced=tracing.watched(),
            content=tracing.content_wanted(),
        )  # fmt: skip
        async with executor.open("harness.fleet.attempts:make_attempts", spec, trees) as ask:
            yield RemoteAttempts(run, server, ask, executor.slots)


class RemoteAttempts:
    """Makes attempts as :class:`harness.evals.Attempts` does, in workers.

    Attributes:
        limits: of every attempt, in every worker.
        slots: attempts at a time, at most; None is any number.
    """

    def __init__(self, run: RemoteRun, server: CallServer, ask: Ask, slots: int | None) -> None:
        self._agent, self._model = run.plan.agent.spec, run.model
        self._server, self._ask = server, ask
        self.limits, self.resize = server.limits, run.model.resize
        self.slots = min(filter(None, (slots, run.model.slots)), default=None)

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt, in some worker."""
        attributes = {"sample": attempt_id(task, epoch), "task": task.id, "epoch": epoch}
        with (
            tracing.operation(
                "invoke_agent", self._agent, **attributes, model=self._model.spec
            ) as operation,
            self._server.attempt() as number,
        ):
            try:
                request = AttemptRequest(task, epoch, number, self.limits.now)
                result: AttemptResult = await self._ask(request)
            except WorkersLost as error:
                operation.add(outcome="invalid", score=0.0)
                return unfinished((task, epoch), f"{error}; --resume tries it again"), None
            self._server.take(number, result.reports)
            operation.add(outcome=result.item.outcome, score=result.item.value)
        return result.item, result.run


async def make_attempts(spec: AttemptsSpec, trees: Mapping[str, Path]) -> Ask:
    """In a worker: the function that makes an attempt."""
    from harness.sandbox import select

    name, agent_base, trusted = spec.agent
    suite = spec.plan.suite.model_copy(update={"base": trees["base"], "root": trees["base"]})
    plan = replace(
        spec.plan,
        suite=suite,
        agent=open_agent(name, base=agent_base, trusted=trusted),
        skill=trees.get("skill"),
    )
    # A call that is sent again, because its connection was lost, is answered once.
    client = spec.endpoint.client(MOST_CALLS).with_options(max_retries=5)
    sandbox, model = select(spec.judging.sandbox), RemoteModel(client, *spec.model)
    judge = spec.judging.family_of()
    logging.getLogger("harness").addHandler(Warnings(logging.WARNING))
    if spec.traced:
        _LIFE.enter_context(tracing.watching(ToolCalls(content=spec.content)))
    gateway = await _LIFE.enter_async_context(gateway_of(plan, model))

    async def attempt(request: AttemptRequest) -> AttemptResult:
        under = Underway(request.number, LiveLimits(request.limits))
        UNDERWAY.set(under)

        def on_event(event: dict[str, Any]) -> None:
            under.report("event", event)

        opened = temporary_work_folder("worker-") if spec.out is None else nullcontext(spec.out)
        with opened as folder:
            attempts = Attempts(
                plan, folder, model, sandbox, judge, on_event if spec.events else None, gateway
            )
            attempts.limits = under.limits
            try:
                item, run = await attempts.run(request.task, request.epoch)
            except HarnessError:
                raise
            except Exception as error:  # noqa: BLE001  # as in the driver's own attempts
                item, run = faulty((request.task, request.epoch), error), None
        return AttemptResult(item, run, under.take_reports())

    return attempt
