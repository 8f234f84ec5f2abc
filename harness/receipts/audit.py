"""An audit from settings to receipt."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from harness.core import (
    BadInput,
    LimitReached,
    Option,
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
    Evaluator,
    LoadedSuite,
    ProgressHook,
    SuiteSettings,
    Tally,
    agent_model_spec,
    load_suite,
    open_agent_model,
    run_eval,
)
from harness.models import CallStore
from harness.receipts.compute import receipt_of, why_stop
from harness.receipts.plan import AuditPlan, design, plan_audit
from harness.receipts.receipt import Receipt, card
from harness.receipts.records import Header, Origin, Records, Row, read_run, row_of
from harness.receipts.rollouts import AuditRun, open_subsets
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


class SkillSettings(SuiteSettings):
    """What everything that measures a skill takes.

    Attributes:
        skill: skill directory.
    """

    skill: Path

    def evaluation(self) -> EvalSettings:
        """The same for an eval run."""
        return EvalSettings(**self.model_dump(include=set(SuiteSettings.model_fields)))

    def run_folder(self, kind: str) -> Path:
        """The run folder: the one to resume, that of `out`, or a new one.

        Raises:
            BadInput: if there is no run to resume, or `out` holds a run.
        """
        if self.resume is not None:
            return RunReader(self.resume).path
        out = self.out or Path("runs") / new_run_id(kind)
        if (out / "run.json").exists():
            raise BadInput(f"{str(out)!r} holds a run: use --resume {out}, or another --out")
        return out


class AuditSettings(SkillSettings):
    """Everything `harness skill audit` takes, with the command line's defaults.

    Attributes:
        rollouts: at most; rounded down to pairs.
        width: half-width of all intervals that is narrow enough to stop, in probability; 0 means
            that only a decision on every unit stops early.
        futility: stop once no unit that is open has this chance of a verdict; 0 for never.
    """

    rollouts: Annotated[int, Option("At most.")] = 600
    width: float = 0.0
    futility: float = 0.0


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
    prepared = prepare(settings)
    plan, suite = prepared.plan, prepared.suite.suite
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
    prepared = prepare(settings)
    out = settings.run_folder("audit")
    tell(str(prepared.plan))
    records, limit = loops.run(_run(settings, prepared, out, tell, show))
    receipt = receipt_of(records, prepared.parsed)
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
    prepared: Prepared,
    out: Path,
    tell: Callable[[str], None],
    show: ProgressHook | None,
) -> tuple[Records, LimitReached | None]:
    """The records up to the last look, and the limit that ended the run, if one did."""
    suite, parsed, plan = prepared.suite, prepared.parsed, prepared.plan
    ids = tuple(task.id for task in suite.tasks)
    rollouts = design(ids, plan.units, plan.pairs, settings.seed)
    single = Evaluator(settings.evaluation(), suite).plan(None)
    audit = AuditRun(
        suite=suite,
        agent=single.agent,
        skill_mode=settings.skill_mode,
        seed=settings.seed,
        facts={
            "skill": parsed.skill.digest,
            "skill_name": parsed.skill.name,
            "audit": {"plan": plan.model_dump(mode="json"), "tasks": list(ids)},
        },
    )

    def progress(tally: Tally) -> None:
        if show is not None:
            show(out.name, replace(tally, total=plan.rollouts))

    rows: list[Row] = []
    limit: LimitReached | None = None
    with CallStore(out / "calls.sqlite") as calls:
        async with aclosing(open_agent_model(settings.evaluation(), calls)) as model:
            for look, end in enumerate(plan.looks):
                part = replace(audit, rollouts=rollouts[len(rows) : end])
                subsets = open_subsets(part, parsed, settings, model, out)
                try:
                    await run_eval(
                        part, out, model=model, concurrency=settings.concurrency,
                        on_progress=progress, remote=subsets,
                    )  # fmt: skip
                except LimitReached as error:
                    if not rows:
                        raise
                    limit = error
                    break
                items, trajectories = read_run(out)
                rows += [row_of(r, items, trajectories, parsed) for r in part.rollouts]
                if all(row.outcome == "invalid" for row in rows):
                    reasons = [items[row.id].reason for row in rows]
                    if all("unreachable" in reason.lower() for reason in reasons):
                        raise Unreachable(reasons[0])
                    raise BadInput(f"no rollout was valid; the first: {reasons[0]}")
                if why := why_stop(plan, look, rows):
                    tell(f"stopped after {end} rollouts: {why}")
                    break
    skill, lock = parsed.skill, audit.lock(model)
    header = Header(
        name=skill.name,
        skill=skill.digest,
        files={path: digest(data) for path, data in skill.all_files.items()},
        suite=settings.suite,
        split=suite.split,
        suite_digest=suite.digest,
        tasks=task_digests(suite.tasks),
        plan=plan,
        origins=origins_of(settings.skill, parsed.units),
        **{
            name: lock[name]
            for name in (
                "agent", "model", "simulated", "skill_mode", "prompts", "version", "seed",
            )
        },
    )  # fmt: skip
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
