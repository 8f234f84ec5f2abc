"""An audit from settings to receipt."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.core import (
    BadInput,
    LimitReached,
    Task,
    Unreachable,
    Value,
    digest,
    loops,
    write_atomic,
)
from harness.core.rundir import RunReader, new_run_id
from harness.evals import (
    EvalSettings,
    LoadedSuite,
    ProgressHook,
    SuiteSettings,
    agent_model_spec,
    load_suite,
    prompts_digest,
)
from harness.receipts.compute import receipt_of, why_stop
from harness.receipts.plan import AuditPlan, design, plan_audit
from harness.receipts.receipt import Receipt, card
from harness.receipts.records import Header, Origin, Records, Row, row_of
from harness.receipts.units import Cut, Unit, cut
from harness.skills import (
    CARD,
    RECEIPT,
    RECORDS,
    Explanation,
    beside,
    explain_file,
    load_skill,
    matching,
    provenance_path,
    read_provenance,
    read_sources,
)


class AuditSettings(SuiteSettings):
    """Everything `harness skill audit` takes, with the command line's defaults.

    Attributes:
        skill: skill directory.
        rollouts: at most; rounded down to pairs.
        width: half-width of all intervals that is narrow enough to stop, in probability; 0 means
            that only a decision on every unit stops early.
        futility: stop once no unit that is open has this chance of a verdict; 0 for never.
    """

    skill: Path
    rollouts: int = 600
    width: float = 0.0
    futility: float = 0.0

    def evaluation(self) -> EvalSettings:
        """The same for an eval run, whose folder is its own."""
        shared = set(SuiteSettings.model_fields) - {"out", "resume"}
        return EvalSettings(**self.model_dump(include=shared), skill=self.skill)


class Audited(Value):
    """An audit that was run: the receipt, where it lies, and the run folder."""

    receipt: Receipt
    paths: tuple[Path, ...]
    run: Path


class Prepared(Value, arbitrary_types_allowed=True):
    """What an audit will do."""

    parsed: Cut
    suite: LoadedSuite
    plan: AuditPlan


def prepare(settings: AuditSettings) -> Prepared:
    """Cut the skill, choose the tasks, plan the rollouts; no model call.

    Raises:
        BadInput: for a skill, suite or number of rollouts that cannot be used.
    """
    parsed = cut(load_skill(settings.skill))
    suite = load_suite(settings.suite, settings.split)
    tasks = list(suite.tasks[: settings.limit])
    plan = plan_audit(
        len(parsed.units),
        len(tasks),
        settings.rollouts,
        width=settings.width,
        futility=settings.futility,
    )
    random.Random(settings.seed).shuffle(tasks)
    chosen = suite.model_copy(update={"tasks": tuple(tasks[: plan.tasks])})
    return Prepared(parsed=parsed, suite=chosen, plan=plan)


def plan_of(settings: AuditSettings) -> dict[str, Any]:
    """What an audit would do, for `--dry-run`."""
    ready = prepare(settings)
    plan, suite = ready.plan, ready.suite.suite
    return {
        "plan": str(plan),
        "units": [
            {"id": unit.id, "kind": unit.kind, "tokens": unit.tokens, "text": unit.text[:80]}
            for unit in ready.parsed.units
        ],
        "tasks": plan.tasks,
        "rollouts": plan.rollouts,
        "looks": list(plan.looks),
        "half_width": round(100 * plan.half_width, 2),
        "detectable": round(100 * plan.detectable, 2),
        "calls_at_most": plan.rollouts * suite.max_turns,
        "model": agent_model_spec(settings.models),
        "agent": settings.agent or suite.agent,
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
    ready = prepare(settings)
    out = settings.resume or settings.out or Path("runs") / new_run_id("audit")
    if settings.resume is not None:
        RunReader(settings.resume)
    elif (out / "run.json").exists():
        raise BadInput(f"{str(out)!r} holds a run: use --resume {out}, or another --out")
    tell(str(ready.plan))
    records, limit = loops.run(_run(settings, ready, out, tell, show))
    receipt = receipt_of(records, ready.parsed)
    contents = {RECEIPT: receipt.text, RECORDS: records.text, CARD: card(receipt)}
    paths = tuple(beside(settings.skill, name) for name in contents)
    for path, text in zip(paths, contents.values(), strict=True):
        write_atomic(path, text)
    if limit is not None:
        tell(f"the receipt of the first {receipt.rollouts} rollouts is written: {paths[0]}")
        raise limit
    return Audited(receipt=receipt, paths=paths, run=out)


async def _run(
    settings: AuditSettings,
    ready: Prepared,
    out: Path,
    tell: Callable[[str], None],
    show: ProgressHook | None,
) -> tuple[Records, LimitReached | None]:
    """The records up to the last look, and the limit that ended the run, if one did."""
    import harness
    from harness.receipts.rollouts import Runner

    plan, skill = ready.plan, ready.parsed.skill
    ids = tuple(task.id for task in ready.suite.tasks)
    rollouts = design(ids, plan.units, plan.pairs, settings.seed)
    origins = origins_of(settings.skill, ready.parsed.units)
    lock = {"plan": plan.model_dump(mode="json"), "tasks": list(ids)}
    async with Runner(settings, ready.suite, ready.parsed, out, lock) as runner:
        rows: list[Row] = []
        limit: LimitReached | None = None
        for look, end in enumerate(plan.looks):
            part = rollouts[plan.looks[look - 1] if look else 0 : end]
            try:
                await runner.run(part, plan.rollouts, show)
            except LimitReached as error:
                if not rows:
                    raise
                limit = error
                break
            trajectories = runner.trajectories()
            rows += [row_of(r, runner.items, trajectories, ready.parsed) for r in part]
            if all(row.outcome == "invalid" for row in rows):
                reasons = [runner.items[row.id].reason for row in rows]
                if all("unreachable" in reason.lower() for reason in reasons):
                    raise Unreachable(reasons[0])
                raise BadInput(f"no rollout was valid; the first: {reasons[0]}")
            if why := why_stop(plan, look, rows):
                tell(f"stopped after {end} rollouts: {why}")
                break
        header = Header(
            name=skill.name,
            skill=skill.digest,
            files={path: digest(data) for path, data in skill.all_files.items()},
            suite=settings.suite,
            split=ready.suite.split,
            suite_digest=ready.suite.digest,
            tasks=task_digests(ready.suite.tasks),
            agent=runner.plan.agent.spec,
            model=runner.model.spec,
            simulated=runner.model.simulated,
            skill_mode=settings.skill_mode or ready.suite.suite.skill_mode,
            prompts=prompts_digest(),
            version=harness.__version__,
            seed=settings.seed,
            plan=plan,
            origins=origins,
        )
    return Records(header=header, rows=tuple(rows)), limit


def task_digests(tasks: Sequence[Task]) -> tuple[tuple[str, str], ...]:
    """(id, digest) of each task."""
    return tuple((task.id, digest(task.model_dump(mode="json"))) for task in tasks)


def origins_of(skill: Path, units: Iterable[Unit]) -> dict[str, tuple[Origin, ...]]:
    """Unit id -> trajectories of the edits that wrote its lines; {} without a provenance.

    Raises:
        BadInput: if the provenance beside the skill is damaged.
    """
    skill = skill.resolve()
    if not any(p.is_file() for p in (provenance_path(skill), skill.parent / "provenance.json")):
        return {}
    value, provenance, sources = load_skill(skill), read_provenance(skill), read_sources(skill)
    files: dict[str, tuple[Explanation, ...]] = {}
    origins: dict[str, tuple[Origin, ...]] = {}
    for unit in units:
        if unit.file not in files:
            files[unit.file] = explain_file(provenance, value, unit.file)
        first, last = unit.lines
        edits = [line.edit for line in files[unit.file][first - 1 : last]]
        ids = dict.fromkeys(id_ for edit in edits if edit is not None for id_ in edit.sources)
        if ids:
            origins[unit.id] = tuple(
                Origin(
                    trajectory=source.trajectory_id,
                    steps=tuple(sorted({q.step for q in source.quotes if q.step is not None})),
                )
                for source in matching(sources, ids)
            )
    return origins
