"""What a judge of a task family says of an answer, and what judges of all families share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from harness.core import BadInput, Score, Task


class Judged(NamedTuple):
    """A value in [0, 1], whether it is a pass, and figures beside it."""

    value: float
    ok: bool
    detail: dict[str, JsonValue]


Judge = Callable[[Task, Sequence[str], str], Judged]
"""(task, accepted answers, reply) -> what it is worth."""


def whole(ok: bool, **detail: JsonValue) -> Judged:
    """A metric that knows only 1 and 0."""
    return Judged(float(ok), ok, detail)


def scored(judged: Judged, metric: str, accepted: Sequence[str], answer: str) -> Score:
    """A pass, or a fail whose reason names the metric, its value, what was wanted and what came."""
    detail: dict[str, JsonValue] = {"metric": metric, "answer": answer, **judged.detail}
    if judged.ok:
        return Score(outcome="pass", value=judged.value, detail=detail)
    wanted = " or ".join(repr(one) for one in accepted[:3])
    reason = f"{metric} {judged.value:.2f}: expected {wanted:.200}, got {answer!r:.200}"
    return Score(outcome="fail", value=judged.value, reason=reason, detail=detail)


def named_metric(
    task: Task, judges: Mapping[str, Judge], default: str, lettered: Collection[str]
) -> str:
    """The metric that a task names in `meta["metric"]`.

    Args:
        task: the task.
        judges: metrics that its family has.
        default: where the task names none.
        lettered: metrics that need `meta["choices"]`.

    Raises:
        BadInput: for a metric that is not among `judges`, or choices that are missing.
    """
    metric = task.meta.get("metric", default)
    if not isinstance(metric, str) or metric not in judges:
        raise BadInput(
            f"task {task.id!r}: expected meta 'metric' to be one of {', '.join(judges)}, "
            f"found {metric!r}"
        )
    if metric in lettered and not choices_of(task):
        raise BadInput(f"task {task.id!r}: metric {metric!r} needs 'choices' in meta, found none")
    return metric


def choices_of(task: Task) -> dict[str, str]:
    """Letter -> text of the options, in order; {} for a free question."""
    choices = task.meta.get("choices", {})
    return {key: str(text) for key, text in choices.items()} if isinstance(choices, dict) else {}
