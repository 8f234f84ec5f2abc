"""One attempt at a task: a fresh work folder, the agent, the score."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from harness.agents import AgentContext, AgentRun, Sample, SkillMode, is_foreign
from harness.core import (
    BadInput,
    Score,
    Task,
    UnfitFile,
    digest,
    digest_file,
    invalid,
    private_folder,
    read_work_file,
    remove_tree,
    tracing,
    work_files,
)
from harness.core.plugins import load
from harness.evals.plan import EvalPlan, attempt_id
from harness.evals.pool import EventHook, Finished
from harness.evals.report import ItemRecord
from harness.evals.settings import EvalSettings
from harness.evals.suite import Suite
from harness.models import (
    Budget,
    CallStore,
    Layer,
    LimitedModel,
    LiveLimits,
    Model,
    open_model,
)
from harness.sandbox import Sandbox
from harness.tasks import (
    COMPARISONS,
    SCORERS,
    Family,
    answer_schema,
    default_check,
    expected_text,
    output_file,
)

if TYPE_CHECKING:
    from harness.models import Gateway


FamilyOf = Callable[[Task], Family]
BY_ANSWER = frozenset({*COMPARISONS, *SCORERS, "math", "search", "longdoc", "vqa"})
"""Checks that look at the answer alone, not at what was left in the work folder."""
KEPT, KEPT_BYTES, ENTRY_BYTES = "kept", 10_000_000, 500
"""Folder of a run with what attempts left; bytes that are kept of one, and what an entry counts."""
STREAM_TRIES = 6  # of an attempt whose agent was handed streams that failed behind their first word


class BrokenStream(Exception):
    """An attempt that says nothing about its agent, and may when it is made again."""


class Attempts:
    """Makes attempts in this process.

    Attributes:
        limits: of every attempt; a change holds from the next call on, also of attempts under way.
        slots: calls that the model answers at one time: more attempts would wait for it while
            their time runs. None where that is not known.
    """

    def __init__(
        self,
        plan: EvalPlan,
        out: Path,
        model: Model,
        sandbox: Sandbox | None,
        family: FamilyOf,
        on_event: EventHook | None,
        gateway: Gateway | None,
    ) -> None:
        self._plan, self._model, self._gateway = plan, model, gateway
        self._out = out.absolute()  # agents run in their work folder: a relative path would lie
        self._sandbox, self._family, self._on_event = sandbox, family, on_event
        self.limits = LiveLimits(plan.limits)
        self.slots: int | None = getattr(model, "slots", None)

    def resize(self, concurrency: int) -> None:
        """Allow that many model calls in flight from now on."""
        if (resize := getattr(self._model, "resize", None)) is not None:
            resize(concurrency)

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt in a fresh work folder, which is removed once it is scored.

        A stream that failed behind its first word cannot be tried again: its client has the word.
        The attempt is made again in its place; calls that were answered are answered as they were.
        """
        name = attempt_id(task, epoch)
        folder = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
        workdir = self._out / "work" / f"{folder}-{digest(name)[:8]}"
        by_answer = regradable(task, self._plan.agent.spec, self._plan.suite.suite.tools)
        started = time.monotonic()
        attributes = {"sample": name, "task": task.id, "epoch": epoch, "model": self._model.spec}
        with tracing.operation("invoke_agent", self._plan.agent.spec, **attributes) as operation:
            tries = 0
            while True:
                tries += 1
                try:
                    remove_tree(workdir)
                    private_folder(workdir.parent)
                    workdir.mkdir(mode=0o700)
                    attempt, score = await self._attempt(task, name, epoch, workdir, tries)
                    work = "" if by_answer else packed_work(workdir)
                    break
                except BrokenStream:
                    tracing.note(
                        "retry", attempt=tries, error="BrokenStream", spec=attributes["model"]
                    )
                finally:
                    remove_tree(workdir)
            operation.add(outcome=score.outcome, score=score.value)
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
            group=task.group,
            detail=score.detail,
        )
        # Analysts look for the judgement in the trajectory.
        extra = dict(attempt.trajectory.extra or {})
        extra["harness"] = {
            **attempt.trajectory.harness,
            "task_id": task.id,
            "task": {"prompt": task.prompt, "expected": expected_text(task), **task.meta},
            "outcome": score.outcome,
            "score": score.value,
            "reason": score.reason,
            "answer": attempt.answer,
            "work": work,  # the writer takes it out
        }
        trajectory = attempt.trajectory.model_copy(update={"extra": extra})
        return item, replace(attempt, trajectory=trajectory)

    async def _attempt(
        self, task: Task, name: str, epoch: int, workdir: Path, tries: int
    ) -> tuple[AgentRun, Score]:
        plan = self._plan
        base, family = plan.suite.base, self._family(task)
        model = LimitedModel(self._model, self.limits)
        prompt = await asyncio.to_thread(family.prepare, task, base, workdir)
        sample = Sample(name, task.id, prompt, workdir, answer_schema(task))
        context = attempt_context(
            plan.suite.suite,
            task,
            model,
            seed=plan.seed + epoch,
            skill=plan.skill,
            skill_mode=plan.skill_mode,
        )
        context = replace(context, sandbox=self._sandbox, on_event=self._on_event)
        seed = attempt_seed(plan.seed + epoch, task.id)
        attempt = await self._run_agent(sample, context, seed, tries)
        if attempt.invalid is not None:
            return attempt, invalid(attempt.invalid)
        scored = partial(family.score, task, base, workdir, attempt.answer)
        if plan.suite.suite.judge is None:
            return attempt, await asyncio.to_thread(scored)
        # A check that asks a model waits for the event loop, and a client's first request for a
        # thread of the loop, which has few: if checks held them all, neither would go on.
        return attempt, await run_sync(scored, abandon_on_cancel=True, limiter=CapacityLimiter(1))

    async def _run_agent(
        self, sample: Sample, context: AgentContext, seed: int, tries: int
    ) -> AgentRun:
        """Run the agent; a foreign one gets an endpoint, where its calls are seen and counted."""
        agent = self._plan.agent
        if self._gateway is None:
            return await agent.run(sample, context)
        now = self.limits.now
        if (seconds := now.working or now.seconds) is not None:
            limits = {"wall_s": seconds, "cpu_s": math.ceil(seconds)}
            context = replace(context, limits=context.limits.model_copy(update=limits))
        key, variables = self._gateway.open_account(context.model, seed)
        try:
            attempt = await agent.run(sample, replace(context, endpoint=variables))
        finally:
            account = self._gateway.close_account(key)
        if account.limit is not None:
            raise account.limit
        if account.broken and tries < STREAM_TRIES:
            raise BrokenStream(str(account.ended))
        if account.ended is not None:
            # Its last words are in its trajectory: as an answer they might be judged later.
            attempt = replace(attempt, answer=None, invalid=str(account.ended))
        elif attempt.invalid is not None and account.refusal not in attempt.invalid:
            # Many clients say no more than "HTTP Error 400".
            attempt = replace(attempt, invalid=f"{account.refusal}; {attempt.invalid}")
        from harness.agents import observed  # needs what only agents of others need

        return observed(attempt, sample, context, account.exchanges)


def attempt_seed(seed: int, task: str) -> int:
    """The seed of an attempt at a task: another one for each.

    With one for all tasks an engine draws the same numbers at every task, so that their results
    hang together and intervals that take tasks for independent are too narrow. (Two runs of one
    skill with SmolLM2 at temperature 0.7: 1 and 15 of 40 tasks passed.)
    """
    return int(digest([seed, task])[:8], 16) >> 1


def attempt_context(
    suite: Suite,
    task: Task,
    model: Model,
    *,
    seed: int,
    skill: Path | None = None,
    skill_mode: SkillMode | None = None,
) -> AgentContext:
    """Build the context of an attempt at `task` by the settings of its suite, without a sandbox.

    Args:
        suite: whose settings hold.
        task: those that leave a file have tools and an output file of their own.
        model: answers.
        seed: of the run and the epoch.
        skill: skill directory, or None.
        skill_mode: in place of the suite's.
    """
    output, greedy = output_file(task), suite.sampling.temperature == 0
    protocol = suite.protocol
    if protocol == "auto":
        protocol = "json" if model.constrains else "native"
    tools = suite.tools
    if tools is None:
        tools = ("python", "bash") if output else ()
    return AgentContext(
        model=model,
        skill=skill,
        skill_mode=skill_mode or suite.skill_mode,
        # Where nothing is drawn, equal requests stay equal: recorded calls answer them.
        sampling=suite.sampling.model_copy(
            update={"seed": seed if greedy else attempt_seed(seed, task.id)}
        ),
        max_turns=suite.max_turns,
        tools=tools,
        protocol=protocol,
        output_file=output,
    )


@asynccontextmanager
async def gateway_of(
    plan: EvalPlan, model: Model, layer: Layer | None = None
) -> AsyncGenerator[Gateway | None]:
    """The gateway that an agent in processes of its own needs, while a block runs; else None."""
    if not is_foreign(plan.agent.spec):
        yield None
        return
    from harness.models import open_gateway

    async with open_gateway(model, layer) as gateway:
        yield gateway


def guard_facts(settings: EvalSettings, agent: str) -> str:
    """Describe a guard for the lock; "" without one.

    Raises:
        BadInput: where no gateway of this process stands between the agent and its model.
    """
    if settings.guard is None:
        return ""
    if not is_foreign(agent):
        raise BadInput(
            f"--guard stands at the gateway, which {agent!r} does not pass: expected an agent of "
            "your own (--agent); graphs of ours take harness.judge.guards as nodes"
        )
    if settings.open_executor() is not None:
        raise BadInput("a guard runs on this machine: leave --executor out")
    file = Path(settings.guard)
    return f"{settings.guard} {digest_file(file)[:16]}" if file.is_file() else settings.guard


def open_guard(
    settings: EvalSettings, calls: CallStore, budget: Budget, stack: AsyncExitStack
) -> Layer | None:
    """The layer of `--guard`; its calls are in the run's call store and count for its budget.

    Raises:
        BadInput: if the wing is not there, or the setting cannot be read.
    """
    if settings.guard is None:
        return None

    def opened(spec: str) -> Model:
        model = open_model(
            spec, base_url=settings.base_url, calls=calls, budget=budget,
            concurrency=settings.concurrency, role="judge",
        )  # fmt: skip
        stack.push_async_callback(model.aclose)
        return model

    return load("layers", "guard")(settings.guard, opened)


def packed_work(workdir: Path) -> str:
    """Return the ordinary files of a work folder as text; "" where they are too large to keep."""
    import zstandard

    files, room = dict[str, tuple[str, bool]](), KEPT_BYTES
    try:
        for name in work_files(workdir):
            content = read_work_file(workdir, name, room - ENTRY_BYTES)
            room -= len(content) + ENTRY_BYTES
            files[name] = b64encode(content).decode(), os.access(workdir / name, os.X_OK)
    except (UnfitFile, OSError):
        return ""
    return b64encode(zstandard.compress(json.dumps(files).encode())).decode()


def kept_work(run: Path, attempt: str) -> Path:
    """Return the file of a run with what an attempt left in its work folder."""
    return run / KEPT / digest(attempt)


def regradable(task: Task, agent: str, tools: tuple[str, ...] | None) -> bool:
    """Return True if an attempt can be judged again from its answer alone.

    That is so where the check looks at nothing else, and where the agent is one of our graphs
    without tools, which leaves the work folder as it was.

    Args:
        task: what was attempted.
        agent: spec of the agent.
        tools: those that the suite names.
    """
    check = task.check or (default_check(task) if task.answer is not None else "")
    built_in = agent.startswith("graph:") and ".py" not in agent
    return check in BY_ANSWER or (built_in and not output_file(task) and not tools)
