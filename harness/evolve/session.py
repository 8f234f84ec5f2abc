"""Putting the rooms together for an evolution: suite, trajectories, models and gate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.core import BadInput, loops, write_atomic
from harness.evals import budget_of
from harness.evolve.afterwards import comparison, transfer, transfer_plan
from harness.evolve.evolution import Event
from harness.evolve.gate import gate_plan
from harness.evolve.rollouts import (
    evaluator,
    gate_suite,
    rollouts,
    selection_plan,
    split_of,
    trials,
)
from harness.evolve.run import evolve
from harness.evolve.settings import EvolveSettings
from harness.evolve.staff import open_models, reader, sandboxed
from harness.evolve.types import EvolveOptions, EvolveResult
from harness.models import CallStore

INTERRUPTED = "interrupted_calls.json"
ROLLOUTS = ("suite", "agent", "limit", "epochs", "models", "seed")
"""Settings that decide which trajectories are made."""


def plan_evolution(settings: EvolveSettings) -> dict[str, Any]:
    """What an evolution would do, without a model call: for `--dry-run`."""
    train = split_of(settings, settings.suite, "train") if settings.suite else None
    tasks = gate_suite(settings)
    count = len(tasks.tasks[: settings.limit]) if tasks else 0
    users = transfer_plan(settings, tasks)
    return {
        "seed": str(settings.skill or f"new skill {settings.create!r}"),
        "train_tasks": len(train.tasks[: settings.limit]) if train else None,
        "trajectories": str(settings.trajectories) if settings.trajectories else None,
        "patches": str(settings.patches) if settings.patches else None,
        "analyst": "recorded" if settings.patches else settings.analyst,
        "merge": settings.merge,
        "select": "all lessons"
        if settings.select == "all"
        else selection_plan(settings, settings.select_tasks),
        "gate": str(gate_plan(settings, count)) if count else "none: not gated",
        "transfer": users.lines() if users else None,
    }


def run_evolution(
    settings: EvolveSettings, *, progress: Callable[[Event], None] | None = None
) -> EvolveResult:
    """Make or read the trajectories, evolve, gate.

    Running it again with the same `out` goes on: finished attempts and answered calls are kept.

    Raises:
        HarnessError: as :func:`evolve`, and as an eval run does.
    """
    return loops.run(_run(settings, progress or (lambda event: None)))


async def _run(settings: EvolveSettings, progress: Callable[[Event], None]) -> EvolveResult:
    if (settings.suite is None) == (settings.trajectories is None):
        raise BadInput("give either --suite S or --trajectories PATH")
    settings.open_executor()  # what cannot begin is found before anything is paid for
    tasks = gate_suite(settings)
    purse = budget_of(settings)
    fields = {name: getattr(settings, name) for name in EvolveOptions.model_fields}
    held_out = tasks.tasks[: settings.limit] if tasks else ()
    analyst, merger = open_models(settings, purse)
    made = settings.suite is not None
    try:
        result = await evolve(
            EvolveOptions.model_validate(fields),
            model=analyst,
            merger=merger,
            read=reader(settings, analyst),
            rollouts=rollouts(settings, purse, progress) if made else None,
            trial=trials(settings, purse, progress) if settings.select != "all" else None,
            evaluate=evaluator(settings, tasks, purse, progress) if tasks else None,
            gate_tasks=tuple(task.id for task in held_out),
            execute=sandboxed(settings),
            compare=comparison(settings, tasks, purse, merger or analyst, progress),
            transfer=transfer(settings, tasks, purse, progress),
            inputs={name: getattr(settings, name) for name in ROLLOUTS} if made else None,
            progress=progress,
        )
    finally:
        for model in (analyst, merger):
            if model is not None:
                await model.aclose()
    lost = interrupted_calls(settings.out)
    if lost:
        write_atomic(settings.out / INTERRUPTED, json.dumps(lost, indent=1) + "\n")
        progress(Event(stage="done", message=f"{len(lost)} interrupted calls: {INTERRUPTED}"))
    return result


def interrupted_calls(out: Path) -> list[dict[str, Any]]:
    """Calls that were sent and whose answer was never stored, since the process was killed.

    Each may have been paid for; one that was needed was sent again (`repeated`).
    """
    found: list[dict[str, Any]] = []
    for path in sorted([*out.glob("calls.sqlite"), *out.rglob("runs/**/calls.sqlite")]):
        with CallStore(path) as calls:
            rows = [one.model_dump(mode="json") for one in calls.in_flight()]
        found += [{"store": path.relative_to(out).as_posix(), **row} for row in rows]
    return found
