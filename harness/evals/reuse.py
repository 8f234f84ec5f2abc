"""What of an earlier run still holds: REUSE, REGRADE or RERUN for every attempt of a new one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.core import BadInput, Task, Value
from harness.core.rundir import RunReader
from harness.evals.digests import RunParts, SampleParts, read_parts
from harness.evals.plan import attempt_id
from harness.evals.types import ItemRecord
from harness.tasks import leaves_workbook
from harness.tasks.answers import COMPARISONS

if TYPE_CHECKING:
    from harness.evals.plan import EvalPlan

Action = Literal["REUSE", "REGRADE", "RERUN"]
BY_ANSWER = frozenset({*COMPARISONS, "search", "longdoc", "vqa"})
"""Checks that look at the answer alone, not at what was left in the work folder."""
UNKNOWN = "the earlier run does not say what it was made of"


class Step(Value):
    """What is done for one attempt, and why."""

    id: str
    action: Action
    why: str


def plan_reuse(
    plan: EvalPlan, parts: RunParts, earlier: Path, accept: Iterable[str] = ()
) -> list[Step]:
    """What to do for every attempt of `plan`, in its order.

    Args:
        plan: the run that is to be.
        parts: what it is made of.
        earlier: folder of the run whose attempts may be taken over.
        accept: parts that may differ (`code`, `prompts`, ...): on the caller's word.

    Raises:
        BadInput: if `earlier` is no eval run, or a part of `accept` does not exist.
    """
    if unknown := sorted(set(accept) - parts.shared.keys()):
        known = ", ".join(parts.shared)
        raise BadInput(f"expected a part of an attempt ({known}), got {unknown[0]!r}")
    reader = RunReader(earlier)
    if reader.lock.get("kind") != "eval":
        raise BadInput(f"{str(earlier)!r} is a run of kind {reader.lock.get('kind')!r}, not eval")
    before = _with_parts(reader, read_parts(earlier))
    steps: list[Step] = []
    for task, epoch in plan.attempts():
        name = attempt_id(task, epoch)
        action, why = _decide(task, plan, parts, before.get(name), frozenset(accept))
        steps.append(Step(id=name, action=action, why=why))
    return steps


Before = tuple[ItemRecord, RunParts | None]


def _with_parts(reader: RunReader, rows: list[RunParts]) -> dict[str, Before]:
    """The last record of every attempt, with the parts that held when it was written."""
    found: dict[str, Before] = {}
    for number, row in enumerate(reader.items()):
        held = [one for one in rows if one.first <= number]
        found[row["id"]] = ItemRecord.model_validate(row), held[-1] if held else None
    return found


def _decide(
    task: Task, plan: EvalPlan, now: RunParts, before: Before | None, accept: frozenset[str]
) -> tuple[Action, str]:
    if before is None:
        return "RERUN", "no such attempt in the earlier run"
    item, then = before
    if item.outcome == "invalid":
        return "RERUN", f"invalid there: {item.reason}"
    known = then.samples.get(task.id) if then else None
    if then is None or known is None:
        return "RERUN", UNKNOWN
    mine = now.samples[task.id]
    shared = [name for name, value in now.shared.items() if then.shared.get(name) != value]
    changed = [name for name in shared if name not in accept]
    changed += [name for name in ("sample", "files") if getattr(known, name) != getattr(mine, name)]
    if changed:
        return "RERUN", f"other {', '.join(changed)}"
    return _grading(task, plan, now, then, known, mine)


def _grading(
    task: Task, plan: EvalPlan, now: RunParts, then: RunParts, known: SampleParts, mine: SampleParts
) -> tuple[Action, str]:
    pairs = {"answer or check": known.grading != mine.grading, "scorer": now.scorer != then.scorer}
    changed = [name for name, differs in pairs.items() if differs]
    if not changed:
        return "REUSE", "nothing changed"
    why = f"other {', '.join(changed)}"
    if regradable(task, plan.agent.spec, plan.suite.suite.tools):
        return "REGRADE", why
    return "RERUN", f"{why}; it is judged by its work folder, which is made again"


def regradable(task: Task, agent: str, tools: tuple[str, ...] | None) -> bool:
    """Whether an attempt can be judged again from its answer.

    Its work folder is gone. That does not matter where the check looks at the answer alone, and
    where the agent is one of our graphs without tools: it leaves what the task had put there.

    Args:
        task: what was attempted.
        agent: spec of the agent.
        tools: those that the suite names.
    """
    check = task.check or ("em" if task.answer is not None else "")
    ours = agent.startswith("graph:") and ".py" not in agent
    return check in BY_ANSWER or (ours and not leaves_workbook(task) and not tools)
