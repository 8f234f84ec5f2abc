"""Running a suite: from settings to a finished run folder.

Attempts run side by side; one writer keeps what they leave behind. A finished attempt is an item
record in the run directory; resuming skips it, unless it was invalid. An attempt that a kill
interrupted starts again in a fresh work folder, and every model call that had been answered is
answered again from the request cache, so nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.agents import Agent, open_agent
from harness.core import BadInput, Unreachable, Usage, digest_tree, loops, tracing, write_atomic
from harness.core.plugins import plugins
from harness.core.rundir import RunWriter, finished_report, mark_finished, new_run_id, request_of
from harness.evals.attempts import (
    Attempts,
    FamilyOf,
    gateway_of,
    guard_facts,
    kept_work,
    open_guard,
)
from harness.evals.control import controlled
from harness.evals.judged import JUDGED
from harness.evals.plan import EvalPlan, attempt_id, read_parts, records_digest, tasks_digest
from harness.evals.pool import Attempter, EventHook, Pool, RemoteRun, Tally
from harness.evals.report import (
    EvalReport,
    ItemRecord,
    finished_items,
    records,
    summarise,
)
from harness.evals.reuse import CALLS, Step, adopt_spent, begin, removed_if_refused
from harness.evals.settings import (
    DEFAULT_MODEL,
    EvalSettings,
    agent_model_spec,
    agent_spec,
    budget_of,
)
from harness.evals.suite import LoadedSuite, load_suite
from harness.models import (
    Budget,
    CallStore,
    ChatModel,
    Layer,
    Sampling,
    open_model,
    parse_roles,
)
from harness.sandbox import Sandbox
from harness.tasks import JudgeSettings, ModelJudge, try_checks
from harness.tasks import family as builtin_family

ProgressHook = Callable[[str, Tally], None]
PlanHook = Callable[[list[Step]], None]
SYNC_S = 0.25
"""Seconds between two syncs of finished attempts."""
BEAT_S = 2.0
"""Seconds after which progress is shown where no attempt has finished."""
_NO_USAGE = Usage()


def run_evaluation(
    settings: EvalSettings,
    *,
    on_progress: ProgressHook | None = None,
    on_event: EventHook | None = None,
    on_plan: PlanHook | None = None,
    suite: LoadedSuite | None = None,
) -> list[EvalReport]:
    """Run the eval, `suite` if it is loaded; two reports with `baseline`, without the skill first.

    Raises:
        BadInput: for a suite, skill, agent or spec that cannot be used; before any call.
        LimitReached: when a budget is spent; finished attempts are kept.
        Unreachable: if no attempt reached the model.
    """
    return loops.run(run_evaluation_async(settings, on_progress, on_event, on_plan, suite=suite))


async def run_evaluation_async(
    settings: EvalSettings,
    on_progress: ProgressHook | None = None,
    on_event: EventHook | None = None,
    on_plan: PlanHook | None = None,
    agent: Agent | None = None,
    suite: LoadedSuite | None = None,
) -> list[EvalReport]:
    """Run an evaluation in a running event loop; `agent` replaces the one that settings name."""
    suite = suite or suite_of(settings)
    out = settings.resume or settings.out or Path("runs") / new_run_id("eval")
    arms: list[tuple[Path, Path | None]] = [(out, settings.skill)]
    if settings.baseline and settings.skill is not None:
        arms.insert(0, (out.with_name(out.name + "-baseline"), None))
    begun = [folder for folder, _ in arms if (folder / "run.json").is_file()]
    spec = agent.spec if agent else settings.agent
    request = request_of(
        settings,
        skill_content=settings.skill and digest_tree(settings.skill),
        **{"tasks or agent's code": tasks_digest(suite, agent=spec, limit=settings.limit)},
    )
    resume = settings.resume is not None
    held = records_digest(begun)
    if rows := finished_report(out, request, resume=resume, begun=bool(begun), records=held):
        return [
            EvalReport.model_validate({**row, "run": folder.name})  # somebody may have moved it
            for row, (folder, _) in zip(rows, arms, strict=True)
        ]
    budget = budget_of(settings)
    for folder in begun:
        adopt_spent(folder, budget)
    evaluator = Evaluator(settings, suite, budget, agent)
    reports = [await evaluator.run(*arm, on_progress, on_event, on_plan) for arm in arms]
    invalid = sum(report.invalid for report in reports)
    held = records_digest(folder for folder, _ in arms)
    return mark_finished(out, request, reports, invalid=invalid, records=held)


class Evaluator:
    """Runs a suite with one model and agent, with any skill. Used by `eval` and by the gate.

    Args:
        settings: how.
        suite: what.
        budget: of all its runs together; default: each has the one that the settings name.
        agent: in place of the one that the settings or the suite name.
    """

    def __init__(
        self,
        settings: EvalSettings,
        suite: LoadedSuite,
        budget: Budget | None = None,
        agent: Agent | None = None,
    ) -> None:
        from harness.sandbox import select

        self._settings, self._suite, self._budget = settings, suite, budget
        self._sandbox: Sandbox | None = select(settings.sandbox)
        by_user = settings.agent is not None
        self._agent_base = Path.cwd() if by_user else suite.root
        self._agent_trusted = by_user or settings.trust
        if agent is not None and settings.open_executor() is not None:
            raise BadInput("a function runs on this machine only: give a file, py:FILE.py:FUNCTION")
        self._agent: Agent = agent or open_agent(
            agent_spec(settings, suite), base=self._agent_base, trusted=self._agent_trusted
        )

    def plan(self, skill: Path | None) -> EvalPlan:
        """Return the plan of a run with `skill`.

        Raises:
            BadInput: if there is no such skill, it would not reach the agent, two attempts would
                have one id, or a task cannot be judged.
        """
        settings = self._settings
        if skill is not None and not (skill / "SKILL.md").is_file():
            raise BadInput(
                f"expected a skill directory with SKILL.md, found none at {str(skill)!r}"
            )
        plan = EvalPlan(
            suite=self._suite,
            agent=self._agent,
            skill=skill,
            skill_mode=settings.skill_mode,
            epochs=settings.epochs,
            seed=settings.seed,
            limit=settings.limit,
            sample_limits=settings.sample_limits,
            guard=guard_facts(settings, self._agent.spec),
        )
        tasks = self._suite.tasks[: settings.limit]
        try_checks(tasks, self._suite.base, self._sandbox, trusted=settings.trust_checks)
        names = Counter(attempt_id(*attempt) for attempt in plan.attempts())
        if names.total() > len(names):
            name = names.most_common(1)[0][0]
            raise BadInput(f"two attempts would have the id {name!r}: rename that task")
        return plan

    async def run(
        self,
        out: Path,
        skill: Path | None,
        on_progress: ProgressHook | None = None,
        on_event: EventHook | None = None,
        on_plan: PlanHook | None = None,
    ) -> EvalReport:
        """Run the suite with `skill` in the run folder `out`.

        Raises:
            BadInput: for what cannot be run; then it leaves no folder that holds nothing.
            Unreachable: if every attempt was invalid because the endpoint did not answer.
        """
        settings, label = self._settings, out.name
        plan, budget = self.plan(skill), self._budget or budget_of(settings)
        earlier = settings.earlier
        if earlier is not None and skill != settings.skill:  # a baseline has its own, or none
            earlier = earlier.with_name(earlier.name + "-baseline")
            earlier = earlier if (earlier / "run.json").is_file() else None
        with removed_if_refused(out), CallStore(out / CALLS) as calls:
            async with AsyncExitStack() as models:
                model = await models.enter_async_context(
                    aclosing(open_agent_model(settings, calls, budget=budget))
                )
                judge = open_judge(settings, self._suite, calls, budget)
                if judge is not None:
                    models.push_async_callback(judge.model.aclose)
                    plan = replace(plan, judge=judge.facts())
                layer = open_guard(settings, calls, budget, models)
                family: FamilyOf = partial(
                    builtin_family,
                    sandbox=self._sandbox,
                    trusted=settings.trust_checks,
                    judge=judge,
                )
                steps = begin(
                    plan, model, out, reference=settings.suite, base_url=settings.base_url,
                    calls=calls, budget=budget, family=family, earlier=earlier,
                    accept=settings.accept,
                )  # fmt: skip
                if steps and on_plan is not None:
                    on_plan(steps)
                remote, executor = None, settings.open_executor()
                if executor is not None:
                    work = RemoteRun(
                        plan, out, model, settings, self._agent_base, self._agent_trusted, on_event
                    )
                    remote = executor.attempts(work)
                report = await run_eval(
                    plan,
                    out,
                    model=model,
                    sandbox=self._sandbox,
                    family=family,
                    concurrency=settings.concurrency,
                    on_progress=(lambda tally: on_progress(label, tally)) if on_progress else None,
                    on_event=on_event,
                    budget=budget,
                    remote=remote,
                    layer=layer,
                )
        if report.items and report.invalid == report.items:
            reasons = {item.reason for item in records(out)}
            if all("unreachable" in reason.lower() for reason in reasons):
                raise Unreachable(min(reasons))
        return report


async def run_eval(
    plan: EvalPlan,
    out: Path,
    *,
    model: ChatModel,
    sandbox: Sandbox | None = None,
    family: FamilyOf = builtin_family,
    concurrency: int = 16,
    on_progress: Callable[[Tally], None] | None = None,
    on_event: EventHook | None = None,
    budget: Budget | None = None,
    remote: AbstractAsyncContextManager[Attempter] | None = None,
    layer: Layer | None = None,
) -> EvalReport:
    """Run, or resume, an eval run in the folder `out`.

    While it runs, :mod:`harness.evals.control` takes requests from other processes; they may
    change `budget`, too. `remote` makes the attempts in place of this process; `layer` stands in
    front of the model of an agent that is not ours.

    Raises:
        LimitReached: when a budget is spent; finished attempts are kept.
        BadInput: if `out` holds another run, or another process writes it.
    """
    started, lock = time.monotonic(), plan.lock(model)
    async with AsyncExitStack() as stack:
        run = stack.enter_context(RunWriter(out, lock))
        plan.keep_skill(out, lock["skill"])
        items: dict[str, ItemRecord] = {}
        tally = Tally(total=plan.total)
        for item in finished_items(run):
            if item.outcome != "invalid":
                tally.count(item)
                items[item.id] = _slim(item)
        attempter: Attempter
        if remote is None:
            gateway = await stack.enter_async_context(gateway_of(plan, model, layer))
            attempter = Attempts(plan, out, model, sandbox, family, on_event, gateway)
        else:
            attempter = await stack.enter_async_context(remote)
        attributes = {"suite": plan.suite.suite.name, "planned": tally.total, "kept": len(items)}
        stack.enter_context(tracing.operation("run", out.name, **attributes))
        waiting = [attempt for attempt in plan.attempts() if attempt_id(*attempt) not in items]
        pool = Pool(attempter, waiting, concurrency)
        control = controlled(out, pool, tally, budget, priced=model.price is not None)
        await stack.enter_async_context(control)
        await collect(pool, run, items, tally, on_progress)
    seconds = time.monotonic() - started
    rows = read_parts(out)  # none where nothing was begun by settings
    alike = rows[-1].alike if rows else (0, 0)
    return summarise(lock, out.name, list(items.values()), seconds, tally.usage, alike)


async def collect(
    pool: Pool,
    run: RunWriter,
    items: dict[str, ItemRecord],
    tally: Tally,
    on_progress: Callable[[Tally], None] | None,
) -> None:
    """Write down the attempts of a pool as they finish, and count them.

    They reach the disk together, four times a second at most, beside the event loop; the last ones
    when the run is closed. Progress is shown as they finish, and every two seconds while none does.
    """

    def show() -> None:
        if on_progress is not None:
            running = pool.running
            tally.running, tally.longest_s = len(running), max(running.values(), default=0.0)
            on_progress(tally)

    synced = time.monotonic()
    async with loops.every(BEAT_S, show), aclosing(pool.results()) as results:
        async for item, attempt in results:
            if attempt is not None:
                trajectory = attempt.trajectory.model_dump(mode="json", exclude_none=True)
                if work := trajectory.get("extra", {}).get("harness", {}).pop("work", ""):
                    write_atomic(kept_work(run.path, item.id), work)
                run.append_trajectory(trajectory)
            run.append_item(item.model_dump(mode="json"))
            if time.monotonic() - synced > SYNC_S:
                await asyncio.to_thread(run.sync)
                synced = time.monotonic()
            if (before := items.get(item.id)) is not None:
                tally.take_back(before)
            items[item.id] = _slim(item)
            tally.count(item)
            show()


def _slim(item: ItemRecord) -> ItemRecord:
    """Keep only the parts of an item that the report needs: 100,000 of them are held in memory."""
    usage = item.usage if item.outcome == "invalid" else _NO_USAGE  # that may be tried again
    detail: dict[str, JsonValue] = {JUDGED: item.detail[JUDGED]} if JUDGED in item.detail else {}
    blanks: dict[str, Any] = {"reason": "", "answer": None, "usage": usage, "detail": detail}
    return item.model_copy(update=blanks)


def open_agent_model(
    settings: EvalSettings, calls: CallStore, *, budget: Budget | None = None
) -> ChatModel:
    """The agent's model, with a request cache and a budget; the caller closes both."""
    return open_model(
        agent_model_spec(settings.models),
        base_url=settings.base_url,
        calls=calls,
        budget=budget or budget_of(settings),
        sampling=Sampling(),
        concurrency=settings.concurrency,
        role="agent",
    )


def open_judge(
    settings: EvalSettings, suite: LoadedSuite, calls: CallStore, budget: Budget
) -> ModelJudge | None:
    """The model that judges a suite, if a check asks one; its model is to be closed.

    It is the one of `--model judge=SPEC`, else the suite's, else that of all roles.

    Raises:
        BadInput: where workers make the attempts, or for a calibration of another judge.
    """
    if not any(task.check in plugins("judges") for task in suite.tasks):
        return None
    if settings.open_executor() is not None:
        raise BadInput("checks that ask a model run on this machine: leave --executor out")
    judging = (suite.suite.judge or JudgeSettings()).loaded(suite.root, trusted=suite.trusted)
    roles = [*([f"judge={judging.model}"] if judging.model else []), *settings.models]
    model = open_model(
        parse_roles(roles or [DEFAULT_MODEL])["judge"],
        base_url=settings.base_url,
        calls=calls,
        budget=budget,
        concurrency=settings.concurrency,
        role="judge",
    )
    return ModelJudge(model, judging)


def suite_of(settings: EvalSettings) -> LoadedSuite:
    """The suite that the settings name, or the one task of it."""
    suite = load_suite(settings.suite, settings.split, trusted=settings.trust)
    if settings.sample is None:
        return suite
    tasks = tuple(task for task in suite.tasks if task.id == settings.sample)
    if not tasks:
        raise BadInput(f"suite {suite.suite.name!r} has no task {settings.sample!r}")
    return suite.model_copy(update={"tasks": tasks})
