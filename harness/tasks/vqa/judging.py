"""One judge per metric of visual question answering."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, Score, Task, failed
from harness.tasks.answers import accepted_answers
from harness.tasks.judged import Judge, Judged
from harness.tasks.reading.choice import chosen_letter
from harness.tasks.reading.squad import best_overlap, exact_match
from harness.tasks.vqa.anls import THRESHOLD, anls
from harness.tasks.vqa.consensus import consensus
from harness.tasks.vqa.fields import matching_fields, read_fields
from harness.tasks.vqa.mathvista import mathvista_form
from harness.tasks.vqa.printed import printed_match
from harness.tasks.vqa.relaxed import relaxed_match
from harness.tasks.vqa.tabmwp import tabmwp_form, tabmwp_prediction


def metric_of(task: Task) -> str:
    """The metric that a task names in `meta["metric"]`; `anls` where it names none.

    Raises:
        BadInput: for a metric that does not exist, or a task that it cannot judge.
    """
    metric = task.meta.get("metric", "anls")
    if not isinstance(metric, str) or metric not in JUDGES:
        raise BadInput(
            f"task {task.id!r}: expected meta 'metric' to be one of {', '.join(JUDGES)}, "
            f"found {metric!r}"
        )
    if metric == "choice" and not choices_of(task):
        raise BadInput(f"task {task.id!r}: metric 'choice' needs 'choices' in meta, found none")
    if metric == "fields":
        _wanted_fields(task, accepted_answers(task))
    return metric


def choices_of(task: Task) -> dict[str, str]:
    """Letter -> text of the options, in order; {} for a free question."""
    choices = task.meta.get("choices", {})
    return {key: str(text) for key, text in choices.items()} if isinstance(choices, dict) else {}


def judge(task: Task, reply: str | None) -> Score:
    """Judge a final answer.

    Raises:
        BadInput: if the task cannot be judged.
    """
    metric, accepted = metric_of(task), accepted_answers(task)
    answer = (reply or "").strip()
    if not answer:
        return failed("there is no final answer")
    judged = JUDGES[metric](task, accepted, answer)
    detail: dict[str, JsonValue] = {"metric": metric, "answer": answer, **judged.detail}
    if judged.ok:
        return Score(outcome="pass", value=judged.value, detail=detail)
    wanted = " or ".join(repr(one) for one in accepted[:3])
    reason = f"{metric} {judged.value:.2f}: expected {wanted:.200}, got {answer!r:.200}"
    return Score(outcome="fail", value=judged.value, reason=reason, detail=detail)


def _anls(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = anls(answer, accepted)
    return Judged(value, value >= THRESHOLD, {"anls": value})


def _relaxed(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return _whole(relaxed_match(answer, accepted))


def _consensus(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = consensus(answer, accepted)
    return Judged(value, value >= THRESHOLD, {})


def _mathvista(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    precision = task.meta.get("precision")
    form = mathvista_form(
        answer,
        choices=list(choices_of(task).values()),
        answer_type=str(task.meta.get("answer_type", "text")),
        precision=precision if isinstance(precision, (int, float)) else None,
    )
    return _whole(form in accepted, form=form)


def _tabmwp(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    unit = str(task.meta.get("unit") or "")
    said = tabmwp_form(tabmwp_prediction(answer, list(choices_of(task).values())), unit)
    return _whole(said in {tabmwp_form(one, unit) for one in accepted}, form=said)


def _choice(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    letter = chosen_letter(answer, choices_of(task))
    return _whole(letter in accepted, chosen=letter)


def _em(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return _whole(exact_match(answer, accepted), f1=best_overlap(answer, accepted).f1)


def _fields(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    wanted = _wanted_fields(task, accepted)
    right = matching_fields(read_fields(answer) or {}, wanted)
    value = sum(right.values()) / len(right)
    return Judged(value, value == 1.0, {"fields": {**right}})


def _printed(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return _whole(printed_match(answer, accepted))


JUDGES: dict[str, Judge] = {
    "anls": _anls,
    "relaxed": _relaxed,
    "consensus": _consensus,
    "mathvista": _mathvista,
    "tabmwp": _tabmwp,
    "choice": _choice,
    "em": _em,
    "fields": _fields,
    "printed": _printed,
}


def _wanted_fields(task: Task, accepted: Sequence[str]) -> dict[str, str]:
    try:
        record: Any = json.loads(accepted[0])
        return {str(name): str(value) for name, value in record.items()}
    except (ValueError, AttributeError) as error:
        raise BadInput(
            f"task {task.id!r}: metric 'fields' expected 'answer' to be a JSON object as text, "
            f"found {accepted[0]!r:.200}"
        ) from error


def _whole(ok: bool, **detail: JsonValue) -> Judged:
    return Judged(float(ok), ok, detail)
