"""Putting the rooms together for an evolution: suites, models, sandbox, gate and comparisons."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.core import BadInput, digest, loops, write_json
from harness.core.plugins import load
from harness.core.rundir import request_of
from harness.core.terminal import span
from harness.evals import budget_of, tasks_digest
from harness.evolve.analysts.single import agentic_reader
from harness.evolve.baselines import BaselineRow
from harness.evolve.evolution import Event, evolve, ignore_event
from harness.evolve.gate import read_result
from harness.evolve.report import RESULT, Finished
from harness.evolve.settings import EvolveSettings, seed_skill
from harness.evolve.suite_runs import SuiteRuns
from harness.evolve.types import EvolveResult
from harness.models import (
    Budget,
    CallStore,
    ChatModel,
    Role,
    Sampling,
    open_model,
    parse_roles,
)
from harness.sandbox import Limits, Result, select
from harness.skills import JudgedEdits, ReviewRow

INTERRUPTED = "interrupted_calls.json"
# Settings that decide which trajectories are made.
ROLLOUTS = ("suite", "agent", "limit", "epochs", "models", "seed")
# Analyst of given runs -> what its patch depends on beside them.
GIVEN = {
    "programs": ("models", "tasks", "sandbox"),
    "answers": ("tasks",),
    "exemplar": ("tasks",),
}
# Tokens of one reply of an embedded analyst or merger: three lessons and their quotes.
LOCAL_REPLY = 768
BEAT_S = 5.0
"""Seconds after which a stage that says nothing is shown to be under way."""


def run_evolution(
    settings: EvolveSettings, *, progress: Callable[[Event], None] = ignore_event
) -> EvolveResult:
    """Make or read the trajectories, evolve, gate.

    Running it again with the same `out` resumes: finished attempts and answered calls are kept. One
    that had ended is reported again, if all that was asked is the same, and nothing is written.

    Raises:
        HarnessError: as :func:`evolve`, and as an eval run does.
    """
    return loops.run(run_evolution_async(settings, progress))


async def run_evolution_async(
    settings: EvolveSettings, progress: Callable[[Event], None] = ignore_event
) -> EvolveResult:
    """Run an evolution inside a running event loop."""
    async with beating(progress) as tell:
        return await _evolve(settings, tell)


async def _evolve(settings: EvolveSettings, progress: Callable[[Event], None]) -> EvolveResult:
    if (settings.suite is None) == (settings.trajectories is None):
        raise BadInput("give either --suite S or --trajectories PATH")
    # What cannot begin is found before anything is paid for.
    settings.open_executor()
    seed, runs = seed_skill(settings), SuiteRuns(settings, budget_of(settings), progress)
    gated, train = runs.gated, runs.train
    runs.refuse_lost(seed.name)
    plan, content = (
        runs.transfer_plan,
        partial(tasks_digest, agent=settings.agent, limit=settings.limit),
    )
    tasks, users = content(runs.train, runs.taught, gated), content(*(plan.suites if plan else ()))
    request = digest(request_of(settings, content=[seed.digest, tasks, users]))
    ended = read_result(settings.out)
    if ended and ended.request == request and ended.given == settings.given_content():
        message = "it had ended; this is its result, and nothing was run (anew: another --out)"
        progress(Event(stage="resume", message=message))
        return ended
    requested, settings = settings, settings.settled(train)
    runs.settings = settings
    if not requested.epochs and settings.epochs > 1 and await runs.attempts_are_alike():
        runs.settings = settings = settings.model_copy(update={"epochs": 1})
    plan = plan and replace(plan, epochs=settings.epochs)
    kind = "" if settings.lessons else settings.analyst
    programs, examples = kind == "programs", kind in ("exemplar", "answers")
    if examples:
        runs.expected  # noqa: B018  # what is not there is said before anything is paid for
    if selects := settings.select != "all":
        message = runs.selection_plan(len(runs.trial_suite.tasks))
        progress(Event(stage="select", message=message))
    judge_edits = load("reviewers", "judge") if settings.judge is not None else None
    analyst, merger, judge_model = open_models(settings, runs.budget)
    try:
        read = None
        if settings.analyst == "agentic" and settings.patches is None and analyst is not None:
            read = agentic_reader(
                analyst,
                seed.text,
                suite=runs.taught,
                sandbox=settings.sandbox,
                folder=settings.out / "analysts",
                max_turns=settings.analyst_turns,
            )
        if settings.baselines and gated is None:
            raise BadInput("--baselines are run on the gate's tasks: give --suite, or --gate SUITE")
        if plan is not None:
            with CallStore() as calls:
                for user in plan.users:  # one that cannot be opened must not be found at the end
                    limit = Budget(usd=settings.budget_usd)
                    open_model(user, base_url=settings.base_url, calls=calls, budget=limit)
            for line in plan.lines():  # announced before anything is spent
                runs.announce(line)

        async def judge(rows: Sequence[ReviewRow]) -> JudgedEdits:
            assert judge_edits is not None
            return await judge_edits(rows, judge_model)

        async def compare(evolved: Finished) -> list[BaselineRow]:
            return await runs.compare(evolved, merger or analyst)

        def execute(
            command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
        ) -> Result:
            sandbox = select(settings.sandbox)  # chosen when the first script is run
            # Processor time limits them: what is refuted must not depend on how busy a machine is.
            limits = Limits(wall_s=240, cpu_s=20)
            return sandbox.exec(command, workdir=workdir, files=files, limits=limits)

        held_out = gated.tasks[: settings.limit] if gated else ()
        result = await evolve(
            settings,
            model=analyst,
            merger=merger,
            read=read,
            judge=judge if judge_edits else None,
            rollouts=runs.rollouts if train else runs.judged if programs else None,
            trial=runs.trial if selects else None,
            evaluate=runs.evaluate if gated else None,
            gate_tasks=tuple(task.id for task in held_out),
            gate_groups={task.id: task.group for task in held_out if task.group},
            execute=None if settings.sandbox == "none" else execute,
            write=runs.write if programs else runs.write_examples if examples else None,
            compare=compare if settings.baselines else None,
            transfer=runs.transfer if plan else None,
            inputs={
                name: getattr(settings, name)
                for name in (ROLLOUTS if train else GIVEN.get(kind, ()))
            }
            | {"content": tasks},
            progress=progress,
        )
    finally:
        for model in (analyst, merger, judge_model):
            if model is not None:
                await model.aclose()
    unsolved = result.unsolved
    if not result.edits or result.gate.after == 0:
        unsolved = runs.still_unsolved() if result.edits else runs.unsolved()
    result = result.model_copy(update={"unsolved": unsolved, "request": request})
    write_json(settings.out / RESULT, result.model_dump(mode="json"))
    list_interrupted(settings.out, progress)
    return result


def list_interrupted(out: Path, progress: Callable[[Event], None]) -> None:
    """List calls that were sent and whose answer was never stored, since the process was killed.

    Each may have been paid for; one that was needed was sent again (`repeated`).
    """
    interrupted = list[dict[str, Any]]()
    for path in sorted([*out.glob("calls.sqlite"), *out.rglob("runs/**/calls.sqlite")]):
        store = path.relative_to(out).as_posix()
        with CallStore(path) as calls:
            rows = [call.model_dump(mode="json") for call in calls.in_flight()]
        interrupted += [{"store": store, **row} for row in rows]
    if interrupted:
        write_json(out / INTERRUPTED, interrupted)
        message = f"{len(interrupted)} interrupted calls: {INTERRUPTED}"
        progress(Event(stage="done", message=message))


@asynccontextmanager
async def beating(
    progress: Callable[[Event], None],
) -> AsyncGenerator[Callable[[Event], None]]:
    """Repeats the last count of a stage, and how long it stands, while nothing else is said."""
    last, since = Event(stage=""), 0.0

    def tell(event: Event) -> None:
        nonlocal last, since
        last, since = event, time.monotonic()
        progress(event)

    def repeat() -> None:
        if last.done < last.total and (waited := time.monotonic() - since) >= BEAT_S:
            text = f"{last.message}  {span(waited)} under way".lstrip()
            progress(last.model_copy(update={"message": text}))

    async with loops.every(BEAT_S, repeat):
        yield tell


def open_models(
    settings: EvolveSettings, budget: Budget
) -> tuple[ChatModel | None, ChatModel | None, ChatModel | None]:
    """Models of analysts, merger and judge; None where the evolution needs none."""
    analysts, merges = settings.asking
    if not (analysts or merges or settings.judge):
        return None, None, None
    settings.out.mkdir(parents=True, exist_ok=True)
    judging = [f"judge={settings.judge}"] if settings.judge else []
    roles = parse_roles([*settings.models, *judging])
    calls = CallStore(settings.out / "calls.sqlite")

    def opened(role: Role) -> ChatModel:
        # A small embedded model that starts to repeat itself would go on to the end of its context.
        bound = LOCAL_REPLY if roles[role].kind == "local" else None
        return open_model(
            roles[role],
            sampling=Sampling(max_tokens=bound),
            base_url=settings.base_url,
            calls=calls,
            budget=budget,
            concurrency=settings.concurrency,
            role=role,
            hedge=True,
        )

    return (
        opened("analyst") if analysts else None,
        opened("merger") if merges else None,
        opened("judge") if settings.judge else None,
    )
