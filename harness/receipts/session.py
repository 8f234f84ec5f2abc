"""An audit from settings to receipt."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
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
    ItemRecord,
    LoadedSuite,
    ProgressHook,
    agent_model_spec,
    load_suite,
    prompts_digest,
)
from harness.receipts.card import write_card
from harness.receipts.compute import receipt_of
from harness.receipts.cutting import cut
from harness.receipts.looks import look_at
from harness.receipts.origins import origins_of
from harness.receipts.plan import AuditPlan, design, plan_audit
from harness.receipts.receipt import Receipt
from harness.receipts.recorded import row_of
from harness.receipts.records import Header, Origin, Records, Row
from harness.receipts.rollouts import Runner
from harness.receipts.settings import AuditSettings
from harness.receipts.units import Cut
from harness.skills import CARD, RECEIPT, RECORDS, beside, load_skill

Tell = Callable[[str], None]


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
    plan = ready.plan
    turns = ready.suite.suite.max_turns
    return {
        "plan": str(plan),
        "units": [
            {"id": one.id, "kind": one.kind, "tokens": one.tokens, "text": one.text[:80]}
            for one in ready.parsed.units
        ],
        "tasks": plan.tasks,
        "rollouts": plan.rollouts,
        "looks": list(plan.looks),
        "half_width": round(100 * plan.half_width, 2),
        "detectable": round(100 * plan.detectable, 2),
        "calls_at_most": plan.rollouts * turns,
        "model": agent_model_spec(settings.models),
        "agent": settings.agent or ready.suite.suite.agent,
    }


def run_audit(
    settings: AuditSettings, *, tell: Tell = lambda text: None, show: ProgressHook | None = None
) -> Audited:
    """Run an audit, or go on with one, and write the receipt beside the skill.

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
    made = receipt_of(records, ready.parsed)
    paths = _write(settings.skill, made, records)
    if limit is not None:
        tell(f"the receipt of the first {made.rollouts} rollouts is written: {paths[0]}")
        raise limit
    return Audited(receipt=made, paths=paths, run=out)


async def _run(
    settings: AuditSettings, ready: Prepared, out: Path, tell: Tell, show: ProgressHook | None
) -> tuple[Records, LimitReached | None]:
    """The records up to the last look, and the limit that ended the run, if one did."""
    plan, ids = ready.plan, tuple(task.id for task in ready.suite.tasks)
    rollouts = design(ids, plan.units, plan.pairs, settings.seed)
    origins = origins_of(settings.skill, ready.parsed.units)
    lock = {"plan": plan.model_dump(mode="json"), "tasks": list(ids)}
    async with Runner(settings, ready.suite, ready.parsed, out, lock) as runner:
        rows: list[Row] = []
        limit: LimitReached | None = None
        for look, end in enumerate(plan.looks):
            start = plan.looks[look - 1] if look else 0
            try:
                await runner.run(rollouts[start:end], plan.rollouts, show)
            except LimitReached as error:
                if not rows:
                    raise
                limit = error
                break
            items, seen = runner.items, runner.trajectories()
            rows += [row_of(one, items, seen, ready.parsed) for one in rollouts[start:end]]
            _reached(rows, items)
            verdict = look_at(plan, look, rows)
            if verdict.stop:
                tell(f"stopped after {end} rollouts: {verdict.why}")
                break
        header = _header(settings, ready, runner, origins)
    return Records(header=header, rows=tuple(rows)), limit


def _header(
    settings: AuditSettings,
    ready: Prepared,
    runner: Runner,
    origins: dict[str, tuple[Origin, ...]],
) -> Header:
    import harness

    skill = ready.parsed.skill
    return Header(
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
        plan=ready.plan,
        origins=origins,
    )


def task_digests(tasks: Sequence[Task]) -> tuple[tuple[str, str], ...]:
    """(id, digest) of each task."""
    return tuple((task.id, digest(task.model_dump(mode="json"))) for task in tasks)


def _reached(rows: Sequence[Row], items: Mapping[str, ItemRecord]) -> None:
    if any(row.outcome != "invalid" for row in rows):
        return
    reasons = [items[row.id].reason for row in rows]
    if all("unreachable" in reason.lower() for reason in reasons):
        raise Unreachable(reasons[0])
    raise BadInput(f"no rollout was valid; the first: {reasons[0]}")


def _write(skill: Path, receipt: Receipt, records: Records) -> tuple[Path, ...]:
    paths = beside(skill, RECEIPT), beside(skill, RECORDS), beside(skill, CARD)
    write_atomic(paths[0], receipt.text)
    write_atomic(paths[1], records.text)
    write_card(receipt, paths[2])
    return paths
