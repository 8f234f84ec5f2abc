"""An audit from settings to receipt: each rollout sees a random subset of the skill's units."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from harness.core import (
    BadInput,
    LimitReached,
    Option,
    Task,
    Unreachable,
    Value,
    digest,
    loops,
    remove_tree,
    write_atomic,
)
from harness.core.rundir import finished_report, mark_finished, new_run_id, request_of
from harness.core.segments import only_writer
from harness.evals import (
    Attempts,
    EvalPlan,
    EvalSettings,
    Evaluator,
    Finished,
    LoadedSuite,
    ProgressHook,
    SuiteSettings,
    Tally,
    agent_model_spec,
    agent_spec,
    budget_of,
    gateway_of,
    load_suite,
    open_agent_model,
    run_eval,
    shown_warning,
    tasks_digest,
)
from harness.models import CallStore, Model
from harness.receipts.effects import groups_by
from harness.receipts.plan import AuditPlan, Rollout, design, plan_audit
from harness.receipts.receipt import Receipt, card, receipt_of, why_stop
from harness.receipts.records import (
    Header,
    Records,
    Row,
    read_run,
    row_of,
    task_digests,
    task_groups,
)
from harness.receipts.units import Cut, cut, origins_of
from harness.sandbox import select
from harness.skills import CARD, RECEIPT, RECORDS, Skill, beside, load_skill
from harness.stats import cluster_names
from harness.tasks import family

if TYPE_CHECKING:
    pass


class SkillSettings(SuiteSettings):
    """Settings of everything that measures a skill.

    Attributes:
        skill: skill directory.
    """

    skill: Path

    def evaluation(self) -> EvalSettings:
        """Return the settings of an eval run."""
        return EvalSettings(**self.model_dump(include=set(SuiteSettings.model_fields)))

    def run_folder(self, kind: str) -> Path:
        """The run folder: the one to resume, that of `out`, or a new one."""
        return self.resume or self.out or Path("runs") / new_run_id(kind)


class AuditSettings(SkillSettings):
    """Everything `harness skill audit` takes, with the command line's defaults.

    Attributes:
        rollouts: at most; rounded down to pairs.
        width: half-width of all intervals narrow enough to stop, in probability; 0 for never.
        futility: stop once no unit that is open has this chance of a verdict; 0 for never.
        by: column whose groups are looked at, too; None for the one that the skill names.
    """

    rollouts: Annotated[int, Option("At most.")] = 600
    width: float = 0.0
    futility: float = 0.0
    by: str | None = None


class Audited(Value):
    """An audit that was run: the receipt, where it lies, and the run folder."""

    receipt: Receipt
    paths: tuple[Path, ...]
    run: Path


class Prepared(Value, arbitrary_types_allowed=True):
    """Plan of an audit."""

    parsed: Cut
    suite: LoadedSuite
    plan: AuditPlan


def prepare(settings: AuditSettings) -> Prepared:
    """Cut the skill, choose the tasks, plan the rollouts; no model call.

    Raises:
        BadInput: for a skill, suite or number of rollouts that cannot be used.
    """
    parsed = cut(load_skill(settings.skill))
    suite = load_suite(settings.suite, settings.split, trusted=settings.trust)
    tasks = list(suite.tasks[: settings.limit])
    stops = settings.model_dump(include={"width", "futility"})
    plan = plan_audit(len(parsed.units), len(tasks), settings.rollouts, **stops)
    random.Random(settings.seed).shuffle(tasks)
    sampled = suite.model_copy(update={"tasks": tuple(tasks[: plan.tasks])})
    names = cluster_names([task.id for task in sampled.tasks], task_groups(sampled.tasks))
    plan = plan.model_copy(update={"groups": len(set(names))})
    return Prepared(parsed=parsed, suite=sampled, plan=plan)


def plan_of(settings: AuditSettings) -> dict[str, Any]:
    """Return the plan of an audit, for `--dry-run`."""
    from harness.evals import estimate

    prepared = prepare(settings)
    plan, suite, tasks = prepared.plan, prepared.suite.suite, prepared.suite.tasks
    gate = settings.skill.parent.parent / "runs" / "gate-after"  # of the evolution that made it
    expected = estimate(  # about the use of attempts with the whole skill
        prepared.suite, [tasks[number % len(tasks)] for number in range(plan.rollouts)],
        model=agent_model_spec(settings.models), base_url=settings.base_url, skill=settings.skill,
        runs=[gate, Path("runs")],
    )  # fmt: skip
    return {
        "plan": str(plan),
        "units": [
            {"id": unit.id, "kind": unit.kind, "tokens": unit.tokens, "text": unit.text[:80]}
            for unit in prepared.parsed.units
        ],
        "tasks": plan.tasks,
        "rollouts": plan.rollouts,
        "looks": list(plan.looks),
        "half_width": round(100 * plan.half_width, 2),
        "detectable": round(100 * plan.detectable, 2),
        "spread": plan.spread,
        "warning": shown_warning(settings.skill, tasks),
        "estimate": expected.model_dump(mode="json"),
        "calls_at_most": plan.rollouts * suite.max_turns,
        "model": agent_model_spec(settings.models),
        "agent": agent_spec(settings, prepared.suite),
    }


def run_audit(
    settings: AuditSettings,
    *,
    tell: Callable[[str], None] = lambda text: None,
    show: ProgressHook | None = None,
) -> Audited:
    """Run or resume an audit, and write the receipt beside the skill.

    Raises:
        BadInput: before any call, for what cannot be used.
        LimitReached: when a budget is spent; finished rollouts are kept, and if a look was reached
            its receipt is written: intervals hold whenever an audit ends.
        Unreachable: if no rollout reached the model.
    """
    prepared = prepare(settings)
    out, tasks = settings.run_folder("audit"), tasks_digest(prepared.suite, agent=settings.agent)
    request = request_of(settings, skill_content=prepared.parsed.skill.digest, tasks=tasks)
    if earlier := finished_report(out, request, resume=settings.resume is not None):
        return Audited.model_validate({**earlier, "run": out})
    tell(f"{prepared.plan}; {prepared.plan.spread}")
    if warning := shown_warning(settings.skill, prepared.suite.tasks):
        tell(f"warning: {warning}")
    records, limit = loops.run(_run(settings, prepared, out, tell, show))
    receipt = receipt_of(records, prepared.parsed)
    contents = {RECEIPT: receipt.text, RECORDS: records.text, CARD: card(receipt)}
    paths = tuple(beside(settings.skill, name) for name in contents)
    for path, text in zip(paths, contents.values(), strict=True):
        write_atomic(path, text)
    if limit is not None:
        tell(f"the receipt of the first {receipt.rollouts} rollouts is written: {paths[0]}")
        raise limit
    audited = Audited(receipt=receipt, paths=paths, run=out)
    return mark_finished(out, request, audited, invalid=receipt.rollouts - receipt.valid)


async def _run(
    settings: AuditSettings,
    prepared: Prepared,
    out: Path,
    tell: Callable[[str], None],
    show: ProgressHook | None,
) -> tuple[Records, LimitReached | None]:
    """The records up to the last look, and the limit that ended the run, if one did."""
    suite, parsed, plan = prepared.suite, prepared.parsed, prepared.plan
    by, by_values = groups_by(suite.tasks, parsed.units, settings.by)
    ids = tuple(task.id for task in suite.tasks)
    rollouts = design(ids, plan.units, plan.pairs, settings.seed)
    single = Evaluator(settings.evaluation(), suite).plan(None)
    audit = AuditRun(
        suite=suite,
        agent=single.agent,
        skill_mode=settings.skill_mode,
        seed=settings.seed,
        rollouts=rollouts,
        planned=plan.rollouts,
        facts={
            "skill": parsed.skill.digest,
            "skill_name": parsed.skill.name,
            "audit": {"plan": plan.model_dump(mode="json"), "tasks": list(ids)},
        },
    )

    def progress(tally: Tally) -> None:
        if show is not None:
            show(out.name, tally)

    rows: list[Row] = []
    groups = task_groups(suite.tasks)
    limit, budget = None, budget_of(settings)
    with subsets_folder(out) as folder, CallStore(out / "calls.sqlite") as calls:
        agent_model = open_agent_model(settings.evaluation(), calls, budget=budget)
        async with (
            aclosing(agent_model) as model,
            open_subsets(audit, parsed, settings, model, out, folder) as subsets,
        ):
            for look, end in enumerate(plan.looks):
                part = replace(audit, rollouts=rollouts[len(rows) : end])
                try:
                    await run_eval(
                        part, out, model=model, concurrency=subsets.concurrency,
                        on_progress=progress, budget=budget, remote=nullcontext(subsets),
                    )  # fmt: skip
                except LimitReached as error:
                    if not rows:
                        raise
                    limit = error
                    break
                contents = read_run(out, calls.answered())
                rows += [row_of(rollout, contents, parsed) for rollout in part.rollouts]
                if all(row.outcome == "invalid" for row in rows):
                    reasons = [contents.items[row.id].reason for row in rows]
                    if all("unreachable" in reason.lower() for reason in reasons):
                        raise Unreachable(reasons[0])
                    raise BadInput(f"no rollout was valid; the first: {reasons[0]}")
                if why := why_stop(plan, look, rows, groups):
                    tell(f"stopped after {end} rollouts: {why}")
                    break
                tell(f"after {end} rollouts not every line is decided: going on")
    skill, lock = parsed.skill, audit.lock(model)
    header = Header(
        name=skill.name,
        skill=skill.digest,
        files={path: digest(data) for path, data in skill.all_files.items()},
        suite=settings.suite,
        split=suite.split,
        suite_digest=suite.digest,
        tasks=task_digests(suite.tasks),
        groups=groups,
        plan=plan,
        origins=origins_of(settings.skill, parsed.units),
        by=by,
        by_values=by_values,
        **{
            name: lock[name]
            for name in (
                "agent", "model", "simulated", "skill_mode", "prompts", "version", "seed",
            )
        },
    )  # fmt: skip
    return Records(header=header, rows=tuple(rows)), limit


@dataclass(frozen=True)
class AuditRun(EvalPlan):
    """An eval run of rollouts of one design.

    Attributes:
        rollouts: those to run; finished ones are kept.
        planned: number of rollouts of the whole audit.
        facts: of the audit, in the lock of its run folder.
    """

    rollouts: tuple[Rollout, ...] = ()
    planned: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def attempts(self) -> list[tuple[Task, int]]:
        """The rollouts, in the order of the design."""
        tasks = {task.id: task for task in self.suite.tasks}
        return [(tasks[rollout.task], rollout.epoch) for rollout in self.rollouts]

    @property
    def total(self) -> int:
        """Number of rollouts of all looks."""
        return self.planned

    def lock(self, model: Model) -> dict[str, Any]:
        """Return the content of `run.json`."""
        return super().lock(model) | {"kind": "audit", **self.facts}


@contextmanager
def subsets_folder(out: Path) -> Generator[Path]:
    """The folder of subsets under way, and with it the audit: no other process may go on with it
    between two looks, when no eval run holds the run folder.

    Raises:
        BadInput: if another process audits in this run folder.
    """
    folder = out / "subsets"
    with only_writer(folder):
        try:
            yield folder
        finally:
            remove_tree(folder)


@asynccontextmanager
async def open_subsets(
    run: AuditRun, parsed: Cut, settings: AuditSettings, model: Model, out: Path, folder: Path
) -> AsyncGenerator[Subsets]:
    """Makes the attempts of an audit, while a block runs."""
    sandbox = select(settings.sandbox)
    judge = partial(family, sandbox=sandbox, trusted=settings.trust_checks)
    async with gateway_of(run, model) as gateway:

        def attempts(plan: EvalPlan) -> Attempts:
            return Attempts(plan, out, model, sandbox, judge, None, gateway)

        yield Subsets(run, attempts, parsed, folder, settings.concurrency)


class Subsets:
    """Attempts with the units that the design gives them; both of a pair share a seed.

    One serves all looks: what `eval ctl` changed holds after the next look, too.

    Attributes:
        limits: of every attempt.
        slots: attempts that can be made at one time; None is any number.
        concurrency: attempts at a time.
    """

    def __init__(
        self,
        run: AuditRun,
        attempts: Callable[[EvalPlan], Attempts],
        parsed: Cut,
        folder: Path,
        concurrency: int,
    ) -> None:
        first = attempts(run)
        self.limits, self.slots, self._resize = first.limits, first.slots, first.resize
        self.concurrency = concurrency
        self._run, self._attempts, self._parsed, self._folder = run, attempts, parsed, folder
        self._rollouts = {(rollout.task, rollout.epoch): rollout for rollout in run.rollouts}

    def resize(self, concurrency: int) -> None:
        """Allow that many attempts and model calls at a time from now on."""
        self.concurrency = concurrency
        self._resize(concurrency)

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt."""
        rollout = self._rollouts[task.id, epoch]
        folder = self._folder / rollout.id.replace("/", "_")
        skill = self._parsed.render(rollout.units)
        remove_tree(folder)
        write_files(skill, folder / skill.name)
        # An attempt adds its epoch to the seed: both of a pair get the same.
        seed = self._run.seed + rollout.pair - epoch
        single = self._attempts(replace(self._run, skill=folder / skill.name, seed=seed))
        single.limits = self.limits
        try:
            return await single.run(task, epoch)
        finally:
            remove_tree(folder)


def write_files(skill: Skill, folder: Path) -> None:
    """Write a skill's files as they are: a skill from elsewhere is judged unchanged."""
    for relative, data in skill.all_files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if relative in skill.executable:
            path.chmod(0o755)
