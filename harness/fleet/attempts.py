"""Attempts in the workers of a fleet: the driver hands them out and gets back what they leave.

The driver stays the only writer of the run folder. A task's row travels with its attempt, the
skill and the files of the tasks once to every machine; item record and trajectory come back once.
Workers ask the driver's model over their connection: one cache, one budget, and no key leaves the
driver. An attempt whose worker dies begins again in another one, and its calls that were answered
are answered from the run's cache.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar, copy_context
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from pydantic import BaseModel, JsonValue

from harness.agents import AgentRun, SkillMode
from harness.core import Task, Trajectory, Usage, Value, temporary_work_folder, tracing
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
from harness.fleet.channel import Channel, Handler, Methods
from harness.fleet.driver import Fleet, WorkersLost, open_fleet
from harness.fleet.types import Executor, Tree, Work
from harness.models import LiveLimits, Message, Model, Price, Reply, SampleLimits, Sampling

ENTRY = "harness.fleet.attempts:make_attempts"
_ATTEMPT: ContextVar[int | None] = ContextVar("attempt", default=None)
"""In a worker: the driver's number of the attempt that is being made."""


class AttemptsSpec(Value):
    """Everything a worker needs to make attempts.

    Attributes:
        suite: settings; tasks come one by one.
        base: folder that the tasks' files start at; the worker's own where it got a copy.
        agent: spec, with the folder that its files start at, and whether its code may run here.
        model: spec of the driver's model.
        simulated: whether a simulated model answers.
        constrains: whether its server holds replies to a JSON schema.
        price: of its tokens, as far as it is known.
        work: where the worker makes the folder for its work folders; None: on its own disk.
        events: whether the driver wants the events.
        traced: whether the driver is traced.
        content: whether who traces it looks at what was said.
    """

    suite: Suite
    base: Path
    agent: str
    agent_base: Path
    agent_trusted: bool
    trust_checks: bool
    sandbox: str
    skill_mode: SkillMode | None
    seed: int
    limits: SampleLimits
    model: str
    simulated: bool
    constrains: bool
    price: Price | None
    work: Path | None
    events: bool
    traced: bool
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
        trust_checks=settings.trust_checks,
        sandbox=settings.sandbox,
        skill_mode=plan.skill_mode,
        seed=plan.seed,
        limits=plan.sample_limits,
        model=run.model.spec,
        simulated=run.model.simulated,
        constrains=run.model.constrains,
        price=run.model.price,
        work=run.out.absolute() / "work" if executor.shares_disk else None,
        events=run.on_event is not None,
        traced=tracing.watched(),
        content=tracing.content_wanted(),
    )
    trees = {"base": Tree(plan.suite.base, plan.suite.sent)}
    if plan.skill is not None:
        trees["skill"] = Tree(plan.skill)
    contexts: dict[int, Context] = {}

    async def event(value: dict[str, Any]) -> None:
        if run.on_event is not None:
            run.on_event(value)

    async def warned(value: dict[str, Any]) -> None:
        logging.getLogger(value["logger"]).log(value["level"], "%s", value["message"])

    services = {"complete": answer_calls(run.model, contexts), "event": event, "warned": warned}
    work = Work(ENTRY, spec.model_dump(mode="json"), trees)
    async with open_fleet(executor, work, services) as fleet:
        yield RemoteAttempts(fleet, run, contexts)


def answer_calls(model: Model, contexts: Mapping[int, Context]) -> Handler:
    """Answer a worker's model calls with the driver's own model.

    Args:
        model: of the driver, with the cache and the budget of the run.
        contexts: of the attempts under way, by number; a call is traced within its attempt.
    """

    async def complete(value: dict[str, Any]) -> dict[str, Any]:
        sampling, context = value["sampling"], contexts.get(value["attempt"])
        call = model.complete(
            value["messages"],
            tools=value["tools"],
            sampling=sampling and Sampling.model_validate(sampling),
            response_format=value["response_format"],
        )
        # A copy: calls that overlap would leave each other's variables in a shared one.
        reply = await asyncio.create_task(call, context=context and context.copy())
        return reply.model_dump(mode="json")

    return complete


class RemoteAttempts:
    """Makes attempts as :class:`harness.evals.Attempts` does, in a fleet.

    Attributes:
        limits: of every attempt, in every worker.
    """

    def __init__(self, fleet: Fleet, run: RemoteRun, contexts: dict[int, Context]) -> None:
        self._fleet, self._agent, self._model = fleet, run.plan.agent.spec, run.model
        self._contexts, self._numbers = contexts, count(1)
        self.resize = run.model.resize
        self.limits = LiveLimits(
            run.plan.limits, lambda now: fleet.tell_all("limits", now.model_dump(mode="json"))
        )

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt, in the worker that has the least to do."""
        name, number, started_ns = attempt_id(task, epoch), next(self._numbers), time.time_ns()
        facts = {"sample": name, "task": task.id, "epoch": epoch, "model": self._model.spec}
        with tracing.operation("invoke_agent", self._agent, **facts) as operation:
            value = {"task": task.model_dump(mode="json"), "epoch": epoch, "number": number}
            self._contexts[number] = copy_context()
            try:
                reply = await self._fleet.call("attempt", value)
            except WorkersLost as error:
                operation.add(outcome="invalid", score=0.0)
                return unfinished((task, epoch), str(error)), None
            finally:
                del self._contexts[number]
            for row in reply["tools"]:
                trace_tool(row, started_ns)
            item = ItemRecord.model_validate(reply["item"])
            operation.add(outcome=item.outcome, score=item.value)
        return item, AgentRun(
            answer=reply["answer"],
            trajectory=Trajectory.model_validate(reply["trajectory"]),
            usage=Usage.model_validate(reply["usage"]),
            invalid=reply["invalid"],
        )


class WorkerError(Exception):
    """Failure of an operation of a worker; only the name of its class is known here."""


def trace_tool(row: dict[str, Any], started_ns: int) -> None:
    """Trace a tool call of a worker, as :class:`ToolCalls` kept it, in the attempt under way.

    Its times are by the worker's clock, which may be another machine's: they are moved into the
    attempt, which began at `started_ns`, and not into the future.
    """
    if not tracing.watched():
        return
    began, ended = (min(max(row[key], started_ns), time.time_ns()) for key in ("began", "ended"))
    call = tracing.Operation(
        "execute_tool", row["name"], row["facts"], tracing.current(), began_ns=began
    )
    with suppress(WorkerError), call:
        call.say(**row["content"])
        call.seconds, call.ended_ns = row["seconds"], ended
        if row["error"] is not None:
            error = row["error"]
            raise type(error.rpartition(".")[2], (WorkerError,), {"__qualname__": error})


class RemoteModel:
    """A worker's way to the driver's model.

    Args:
        channel: to the driver.
        spec: of the model.
        simulated: whether a simulated model answers.
        constrains: whether its server holds replies to a JSON schema.
        price: of its tokens, as far as it is known.
    """

    def __init__(
        self,
        channel: Channel,
        spec: str,
        simulated: bool,
        constrains: bool = False,
        price: Price | None = None,
    ) -> None:
        self.spec, self.simulated, self.constrains = spec, simulated, constrains
        self.price = price
        self._channel = channel

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.Model.complete`."""
        request = {
            "messages": messages,
            "tools": tools,
            "sampling": sampling and sampling.model_dump(mode="json"),
            "response_format": response_format,
            "attempt": _ATTEMPT.get(),
        }
        return Reply.model_validate(await self._channel.ask("complete", request))


class ToolCalls(tracing.Watcher):
    """Keeps the tool calls of a worker's attempts, for the driver's traces.

    Args:
        content: whether arguments and results are kept, too.
    """

    def __init__(self, *, content: bool) -> None:
        self.content = content
        self._calls: defaultdict[int | None, list[dict[str, Any]]] = defaultdict(list)
        self._began: dict[int, int] = {}

    def began(self, operation: tracing.Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind == "execute_tool":
            self._began[operation.number] = time.time_ns()

    def ended(self, operation: tracing.Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if (began := self._began.pop(operation.number, None)) is None:
            return
        error = operation.error
        content = {
            key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
            for key, value in (operation.content if self.content else {}).items()
        }
        self._calls[_ATTEMPT.get()].append(
            {
                "name": operation.name,
                "facts": operation.facts,
                "content": content,
                "began": began,
                "ended": time.time_ns(),
                "seconds": operation.seconds,
                "error": None if error is None else type(error).__qualname__,
            }
        )

    def of(self, attempt: int | None) -> list[dict[str, Any]]:
        """Return the entries of an attempt, which are then forgotten."""
        return self._calls.pop(attempt, [])


@contextmanager
def _send_warnings(channel: Channel) -> Generator[None]:
    """Send the warnings of our modules to the driver, until the block ends; from threads, too."""
    loop = asyncio.get_running_loop()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = {
                "logger": record.name,
                "level": record.levelno,
                "message": record.getMessage(),
            }
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(channel.tell, "warned", message)

    logger, handler = logging.getLogger("harness"), Handler(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@asynccontextmanager
async def make_attempts(
    channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
) -> AsyncGenerator[Methods]:
    """Serve as a worker of a fleet in an eval run."""
    from harness.agents import open_agent
    from harness.sandbox import select
    from harness.tasks import family

    settings = AttemptsSpec.model_validate(spec)
    base = trees.get("base", settings.base)
    plan = EvalPlan(
        suite=LoadedSuite(suite=settings.suite, split=None, tasks=(), base=base, root=base),
        agent=open_agent(settings.agent, base=settings.agent_base, trusted=settings.agent_trusted),
        skill=trees.get("skill"),
        skill_mode=settings.skill_mode,
        seed=settings.seed,
        sample_limits=settings.limits,
    )
    sandbox = select(settings.sandbox)
    model = RemoteModel(
        channel, settings.model, settings.simulated, settings.constrains, settings.price
    )

    def on_event(event: dict[str, Any]) -> None:
        channel.tell("event", json.loads(json.dumps(event, default=str)))

    if settings.work is not None:
        settings.work.mkdir(parents=True, exist_ok=True)
    tools = ToolCalls(content=settings.content)
    # Of this worker alone: an attempt that begins again elsewhere may not lose its folder here.
    with (
        temporary_work_folder("worker-", settings.work) as folder,
        tracing.watching(tools) if settings.traced else nullcontext(),
        _send_warnings(channel),
    ):
        async with gateway_of(plan, model) as gateway:
            attempts = Attempts(
                plan, folder, model, sandbox,
                partial(family, sandbox=sandbox, trusted=settings.trust_checks),
                on_event if settings.events else None, gateway,
            )  # fmt: skip
            turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

            async def attempt(value: dict[str, Any]) -> dict[str, Any]:
                task, number = Task.model_validate(value["task"]), value["number"]
                _ATTEMPT.set(number)
                turn = turns.setdefault(attempt_id(task, value["epoch"]), asyncio.Lock())
                async with turn:  # one that was cancelled clears its folder first
                    item, run = await attempts.run(task, value["epoch"])
                assert run is not None  # only cancelled attempts have none, and those raise
                return {
                    "item": item.model_dump(mode="json"),
                    "answer": run.answer,
                    "trajectory": run.trajectory.model_dump(mode="json", exclude_none=True),
                    "usage": run.usage.model_dump(mode="json"),
                    "invalid": run.invalid,
                    "tools": tools.of(number),
                }

            async def limits(value: dict[str, Any]) -> None:
                attempts.limits.now = SampleLimits.model_validate(value)

            yield {"attempt": attempt, "limits": limits}
