"""Putting the rooms together for an eval: from settings to a finished run folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agents.types import Agent
from harness.core import BadInput, Unreachable, loops
from harness.core.rundir import RunReader, new_run_id
from harness.evals.begin import adopt_spent, begin
from harness.evals.plan import EvalPlan
from harness.evals.reuse import Step
from harness.evals.runner import Tally, finished_items, run_eval
from harness.evals.settings import EvalSettings, SuiteSettings, agent_model_spec, budget_of
from harness.evals.suite import LoadedSuite, load_suite
from harness.evals.types import EvalReport, ItemRecord
from harness.models.budget import Budget
from harness.models.calls import CallStore
from harness.models.limits import SampleLimits
from harness.models.types import Sampling
from harness.sandbox import Sandbox

if TYPE_CHECKING:
    from harness.fleet.attempts import RemoteAttempts
    from harness.models import ChatModel

__all__ = [
    "EvalSettings",
    "Evaluator",
    "ProgressHook",
    "SuiteSettings",
    "agent_model_spec",
    "open_agent_model",
    "records",
    "run_evaluation",
]

ProgressHook = Callable[[str, Tally], None]
EventHook = Callable[[dict[str, Any]], None]
PlanHook = Callable[[list[Step]], None]


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
    return loops.run(_run(settings, on_progress, on_event, on_plan))


async def _run(
    settings: EvalSettings,
    on_progress: ProgressHook | None,
    on_event: EventHook | None,
    on_plan: PlanHook | None,
) -> list[EvalReport]:
    suite = suite_of(settings)
    out = settings.resume or settings.out or Path("runs") / new_run_id("eval")
    arms: list[tuple[Path, Path | None]] = [(out, settings.skill)]
    if settings.baseline and settings.skill is not None:
        arms.insert(0, (out.with_name(out.name + "-baseline"), None))
    begun = [folder for folder, _ in arms if (folder / "run.json").is_file()]
    if settings.resume is not None and not begun:  # the second arm may not have begun
        RunReader(settings.resume)
    if settings.resume is None and out in begun:
        raise BadInput(f"{str(out)!r} holds a run: use --resume {out}, or another --out")
    budget = budget_of(settings)
    for folder in begun:
        adopt_spent(folder, budget)
    reports: list[EvalReport] = []
    for folder, skill in arms:
        evaluator = Evaluator(settings, suite, budget)
        reports.append(await evaluator.run(folder, skill, on_progress, on_event, on_plan))
    return reports


class Evaluator:
    """Runs a suite with one model and agent, with any skill. Used by `eval` and by the gate.

    Args:
        settings: how.
        suite: what.
        budget: of all its runs together; default: each has the one that the settings name.
    """

    def __init__(
        self, settings: EvalSettings, suite: LoadedSuite, budget: Budget | None = None
    ) -> None:
        from harness.agents import open_agent
        from harness.sandbox import select

        self._settings = settings
        self._suite = suite
        self._budget = budget
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
                tokens=settings.token_limit,
                usd=settings.cost_limit,
                seconds=settings.time_limit,
                working=settings.working_limit,
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
        plan, budget = self.plan(skill), self._budget or budget_of(self._settings)
        settings, label = self._settings, out.name
        with CallStore(out / "calls.sqlite") as calls:
            async with aclosing(open_agent_model(settings, calls, budget=budget)) as model:
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
                    budget=budget,
                    elsewhere=self._elsewhere(plan, out, model, calls, budget, on_event),
                )
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
    ) -> AbstractAsyncContextManager[RemoteAttempts] | None:
        """Attempts in workers, where the settings ask for it."""
        settings = self._settings
        if (executor := settings.open_executor()) is None:
            return None
        from harness.fleet.attempts import Elsewhere

        place = Elsewhere(
            executor=executor,
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


def open_agent_model(
    settings: EvalSettings, calls: CallStore, *, budget: Budget | None = None
) -> ChatModel:
    """The agent's model, with a request cache and a budget; the caller closes both."""
    from harness.models import open_model

    return open_model(
        agent_model_spec(settings.models),
        base_url=settings.base_url,
        calls=calls,
        budget=budget or budget_of(settings),
        sampling=Sampling(),
        concurrency=settings.concurrency,
        role="agent",
    )


def suite_of(settings: EvalSettings) -> LoadedSuite:
    """The suite that the settings name, or the one task of it."""
    suite = load_suite(settings.suite, settings.split)
    if settings.sample is None:
        return suite
    tasks = tuple(task for task in suite.tasks if task.id == settings.sample)
    if not tasks:
        raise BadInput(f"suite {suite.suite.name!r} has no task {settings.sample!r}")
    return suite.model_copy(update={"tasks": tasks})


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
