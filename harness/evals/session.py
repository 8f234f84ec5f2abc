"""Putting the rooms together for an eval: from settings to a finished run folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.agents.types import Agent, SkillMode
from harness.core import BadInput, Unreachable, Value
from harness.core.rundir import RunReader, new_run_id
from harness.evals.begin import begin
from harness.evals.parts import parts_of
from harness.evals.plan import EvalPlan
from harness.evals.pool import Attempter
from harness.evals.reuse import Step, plan_reuse
from harness.evals.runner import Tally, finished_items, run_eval
from harness.evals.statistics import detectable_lift
from harness.evals.suite import LoadedSuite, Split, load_suite
from harness.evals.types import EvalReport, ItemRecord
from harness.models.budget import Budget
from harness.models.calls import CallStore
from harness.models.limited import SampleLimits
from harness.models.types import Sampling
from harness.sandbox.types import Sandbox

if TYPE_CHECKING:
    from harness.models import ChatModel

DEFAULT_MODEL = "local/smollm2-135m"


class SuiteSettings(Value):
    """What everything that runs a suite takes, with the command line's defaults.

    Attributes:
        suite: path or name of a suite.
        limit: take the first tasks only.
        sandbox: a rung's name, `auto`, or `none`.
        trust: run code that comes with the suite outside the sandbox.
        out: run folder; default `runs/<id>`.
        resume: run folder to go on with.
        models: `[ROLE=]SPEC` strings; the last one that names the role `agent`, or no role, counts.
        executor: where attempts are made; `ray` takes the cluster of RAY_ADDRESS, or begins one.
        workers: worker processes; 0 is none (`local`), or one for every core (`ray`).
        worker_resources: that a worker asks Ray for: `CPU`, `GPU`, `memory` (bytes) or own names.
    """

    suite: str
    split: Split | None = None
    agent: str | None = None
    skill_mode: SkillMode | None = None
    limit: int | None = None
    sandbox: str = "auto"
    trust: bool = False
    out: Path | None = None
    resume: Path | None = None
    seed: int = 41
    models: tuple[str, ...] = ()
    base_url: str | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    concurrency: int = 16
    executor: Literal["local", "ray"] = "local"
    workers: int = 0
    worker_resources: dict[str, float] = {}


class EvalSettings(SuiteSettings):
    """Everything `harness eval` takes.

    Attributes:
        skill: skill directory.
        baseline: run without the skill too, before the run with it.
        epochs: attempts per task.
        sample: run this one task only.
        earlier: run whose attempts are taken over where all that they depend on is as it was.
        accept: parts of an attempt that may differ from the earlier run's (`code`, `prompts`, ...).
        token_limit: tokens of one attempt; with `cost_limit` (US dollars) and `time_limit`
            (seconds) in place of the suite's `limits`.
    """

    skill: Path | None = None
    baseline: bool = False
    epochs: int = 1
    sample: str | None = None
    earlier: Path | None = None
    accept: tuple[str, ...] = ()
    token_limit: int | None = None
    cost_limit: float | None = None
    time_limit: float | None = None


ProgressHook = Callable[[str, Tally], None]
EventHook = Callable[[dict[str, Any]], None]
PlanHook = Callable[[list[Step]], None]


def plan_evaluation(settings: EvalSettings) -> dict[str, Any]:
    """What a run would do, without a model call: for `--dry-run`."""
    suite = _suite(settings)
    tasks = len(suite.tasks[: settings.limit])
    arms = 2 if settings.baseline and settings.skill else 1
    return {
        "suite": suite.suite.name,
        "split": suite.split,
        "tasks": tasks,
        "attempts": tasks * settings.epochs * arms,
        "model": agent_model_spec(settings.models),
        "agent": settings.agent or suite.suite.agent,
        "skill": str(settings.skill) if settings.skill else None,
        "calls_at_most": tasks * settings.epochs * arms * suite.suite.max_turns,
        "detectable_lift": detectable_lift(tasks),
    }


def run_evaluation(
    settings: EvalSettings,
    *,
    on_progress: ProgressHook | None = None,
    on_event: EventHook | None = None,
    on_plan: PlanHook | None = None,
) -> list[EvalReport]:
    """Run the eval; two reports with `baseline` (without the skill first), else one.

    Raises:
        BadInput: for a suite, skill, agent or spec that cannot be used; before any call.
        LimitReached: when a budget is spent; finished attempts are kept.
        Unreachable: if no attempt reached the model.
    """
    return asyncio.run(_run(settings, on_progress, on_event, on_plan))


async def _run(
    settings: EvalSettings,
    on_progress: ProgressHook | None,
    on_event: EventHook | None,
    on_plan: PlanHook | None,
) -> list[EvalReport]:
    suite = _suite(settings)
    out = settings.resume or settings.out or Path("runs") / new_run_id("eval")
    if settings.resume is not None:
        RunReader(settings.resume)
    elif (out / "run.json").exists():
        raise BadInput(f"{str(out)!r} holds a run: use --resume {out}, or another --out")
    arms: list[tuple[Path, Path | None]] = [(out, settings.skill)]
    if settings.baseline and settings.skill is not None:
        arms.insert(0, (out.with_name(out.name + "-baseline"), None))
    reports: list[EvalReport] = []
    for folder, skill in arms:
        evaluator = Evaluator(settings, suite)
        reports.append(await evaluator.run(folder, skill, on_progress, on_event, on_plan))
    return reports


class Evaluator:
    """Runs a suite with one model and agent, with any skill. Used by `eval` and by the gate."""

    def __init__(self, settings: EvalSettings, suite: LoadedSuite) -> None:
        from harness.agents import open_agent
        from harness.sandbox import select

        self._settings = settings
        self._suite = suite
        self._sandbox: Sandbox | None = select(settings.sandbox)
        by_user = settings.agent is not None
        spec = settings.agent or suite.suite.agent
        self._agent_base = Path.cwd() if by_user else suite.root
        self._agent_trusted = by_user or settings.trust
        self._agent: Agent = open_agent(spec, base=self._agent_base, trusted=self._agent_trusted)

    def plan(self, skill: Path | None) -> EvalPlan:
        """What a run with `skill` depends on.

        Raises:
            BadInput: if there is no such skill.
        """
        settings = self._settings
        if skill is not None:
            _readable_skill(skill)
        return EvalPlan(
            suite=self._suite,
            agent=self._agent,
            skill=skill,
            skill_mode=settings.skill_mode,
            epochs=settings.epochs,
            seed=settings.seed,
            limit=settings.limit,
            sample_limits=SampleLimits(
                tokens=settings.token_limit, usd=settings.cost_limit, seconds=settings.time_limit
            ),
        )

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
            Unreachable: if every attempt was invalid because the endpoint did not answer.
        """
        settings, plan = self._settings, self.plan(skill)
        calls, budget = CallStore(out / "calls.sqlite"), budget_of(settings)
        model = open_agent_model(settings, out, calls=calls, budget=budget)
        label = out.name
        try:
            steps = begin(
                plan, model, out, reference=settings.suite, calls=calls, budget=budget,
                family=self._family, earlier=_arm(settings, skill), accept=settings.accept,
            )  # fmt: skip
            if steps and on_plan is not None:
                on_plan(steps)
            report = await run_eval(
                plan,
                out,
                model=model,
                sandbox=self._sandbox,
                family=self._family,
                concurrency=settings.concurrency,
                on_progress=(lambda tally: on_progress(label, tally)) if on_progress else None,
                on_event=on_event,
                resize=model.resize,
                elsewhere=self._elsewhere(plan, out, model, calls, budget, on_event),
            )
        finally:
            await model.aclose()
        _reached(out, report)
        return report

    def _elsewhere(
        self,
        plan: EvalPlan,
        out: Path,
        model: ChatModel,
        calls: CallStore,
        budget: Budget,
        on_event: EventHook | None,
    ) -> AbstractAsyncContextManager[Attempter] | None:
        """Attempts in workers, where the settings ask for it."""
        settings = self._settings
        if settings.executor == "local" and not settings.workers:
            return None
        from harness.evals.elsewhere import Elsewhere
        from harness.fleet import open_executor

        place = Elsewhere(
            executor=open_executor(settings.executor, settings.workers, settings.worker_resources),
            agent_base=self._agent_base,
            agent_trusted=self._agent_trusted,
            trust=settings.trust,
            sandbox=settings.sandbox,
            base_url=settings.base_url,
            concurrency=settings.concurrency,
            calls=calls,
            budget=budget,
        )
        return place.open(plan, out, model, on_event)

    def _family(self, task: Any) -> Any:
        from harness.tasks import family

        return family(task, sandbox=None if self._settings.trust else self._sandbox)


def records(run: Path) -> list[ItemRecord]:
    """The item records of a run folder."""
    return finished_items(RunReader(run))


def agent_model_spec(models: tuple[str, ...]) -> str:
    """The spec for the role `agent` among `[ROLE=]SPEC` strings."""
    from harness.models import parse_roles

    return str(parse_roles(list(models) or [DEFAULT_MODEL])["agent"])


def budget_of(settings: SuiteSettings) -> Budget:
    """The hard limits that the settings name."""
    return Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )


def open_agent_model(
    settings: EvalSettings,
    out: Path,
    sampling: Sampling | None = None,
    *,
    calls: CallStore | None = None,
    budget: Budget | None = None,
) -> ChatModel:
    """The agent's model, with the run's request cache and budget; the caller closes it."""
    from harness.models import open_model

    return open_model(
        agent_model_spec(settings.models),
        base_url=settings.base_url,
        calls=calls or CallStore(out / "calls.sqlite"),
        budget=budget or budget_of(settings),
        sampling=sampling or Sampling(),
        concurrency=settings.concurrency,
        role="agent",
    )


def _suite(settings: EvalSettings) -> LoadedSuite:
    suite = load_suite(settings.suite, settings.split)
    if settings.sample is None:
        return suite
    tasks = tuple(task for task in suite.tasks if task.id == settings.sample)
    if not tasks:
        raise BadInput(f"suite {suite.suite.name!r} has no task {settings.sample!r}")
    return suite.model_copy(update={"tasks": tasks})


def plan_steps(settings: EvalSettings) -> list[Step]:
    """What would be done for every attempt, with the earlier run that `settings` names; no call.

    Raises:
        BadInput: if no earlier run is named, or one that cannot be used.
    """
    if settings.earlier is None:
        raise BadInput("expected an earlier run (--from), got none")
    plan = Evaluator(settings, _suite(settings)).plan(settings.skill)
    parts = parts_of(plan, agent_model_spec(settings.models), settings.suite)
    return plan_reuse(plan, parts, settings.earlier, settings.accept)


def _arm(settings: EvalSettings, skill: Path | None) -> Path | None:
    """The earlier run of the arm with this skill; a baseline has one of its own, or none."""
    earlier = settings.earlier
    if earlier is None or skill == settings.skill:
        return earlier
    beside = earlier.with_name(earlier.name + "-baseline")
    return beside if (beside / "run.json").is_file() else None


def _readable_skill(skill: Path) -> None:
    if not (skill / "SKILL.md").is_file():
        raise BadInput(f"expected a skill directory with SKILL.md, found none at {str(skill)!r}")


def _reached(out: Path, report: EvalReport) -> None:
    if report.items and report.invalid == report.items:
        reasons = {item.reason for item in records(out)}
        if all("unreachable" in reason.lower() for reason in reasons):
            raise Unreachable(sorted(reasons)[0])
