"""Records of an earlier run in a new one: taken over as they are, or judged again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.core import Score
from harness.core.rundir import RunReader, RunWriter
from harness.evals.plan import EvalPlan, attempt_id
from harness.evals.rescore import FamilyOf, judge_here
from harness.evals.reuse import Step
from harness.evals.runner import finished_items
from harness.evals.types import ItemRecord


def take_over(
    plan: EvalPlan,
    steps: Iterable[Step],
    earlier: Path,
    run: RunWriter,
    family: FamilyOf,
) -> None:
    """Write the attempts to be reused or graded again into a run that has not got them yet.

    Args:
        plan: of the new run.
        steps: what to do for every attempt.
        earlier: the folder that they come from.
        run: the new run.
        family: judges a task.
    """
    there = {item.id for item in finished_items(run)}
    actions = {step.id: step.action for step in steps if step.id not in there}
    wanted = {name for name, action in actions.items() if action != "RERUN"}
    tasks = {attempt_id(*pair): pair[0] for pair in plan.attempts()}
    source = RunReader(earlier)
    items = {item.id: item for item in finished_items(source) if item.id in wanted}
    again = [item for name, item in items.items() if actions[name] == "REGRADE"]
    asked = [(tasks[item.id], item.answer) for item in again]
    for number, score in judge_here(plan.suite.base, family)(asked):
        items[again[number].id] = judged_again(again[number], score)
    copy_records(source, items, run)


def judged_again(item: ItemRecord, score: Score) -> ItemRecord:
    """The record of an attempt with another judgement."""
    return item.model_copy(
        update={
            "outcome": score.outcome, "value": score.value, "reason": score.reason,
            "detail": score.detail,
        }
    )  # fmt: skip


def copy_records(source: RunReader, items: dict[str, ItemRecord], run: RunWriter) -> None:
    """Append records and their trajectories, judgements in these as in the records."""
    for row in last_trajectories(source, items.keys()):
        item = items[row["trajectory_id"]]
        extra = dict(row.get("extra") or {})
        judgement = {"outcome": item.outcome, "score": item.value, "reason": item.reason}
        extra["harness"] = {**extra.get("harness", {}), **judgement}
        run.append_trajectory({**row, "extra": extra})
    for item in items.values():
        run.append_item(item.model_dump(mode="json"))


def last_trajectories(source: RunReader, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The last trajectory of each of these attempts; an attempt that was invalid may have more."""
    wanted = set(names)
    places = {row.get("trajectory_id"): at for at, row in enumerate(source.trajectories())}
    keep = {at for name, at in places.items() if name in wanted}
    yield from (row for at, row in enumerate(source.trajectories()) if at in keep)
