"""One judge per metric of visual question answering."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.core import BadInput, Score, Task, failed
from harness.rag.tasks.reading import best_overlap, exact_match, judge_choice
from harness.tasks.answers import accepted_answers
from harness.tasks.judged import Judge, Judged, choices_of, named_metric, scored, whole
from harness.vision.tasks.anls import THRESHOLD, anls
from harness.vision.tasks.consensus import consensus
from harness.vision.tasks.fields import matching_fields, read_fields
from harness.vision.tasks.mathvista import mathvista_form
from harness.vision.tasks.printed import printed_match
from harness.vision.tasks.relaxed import relaxed_match
from harness.vision.tasks.tabmwp import tabmwp_form, tabmwp_prediction


def metric_of(task: Task) -> str:
    """The metric that a task names in `meta["metric"]`; `anls` where it names none.

    Raises:
        BadInput: for a metric that does not exist, or a task that it cannot judge.
    """
    metric = named_metric(task, JUDGES, "anls", lettered={"choice"})
    if metric == "fields":
        _wanted_fields(task, accepted_answers(task))
    return metric


def judge(task: Task, reply: str | None) -> Score:
    """Judge a final answer.

    Raises:
        BadInput: if the task cannot be judged.
    """
    metric, accepted = metric_of(task), accepted_answers(task)
    answer = (reply or "").strip()
    if not answer:
        return failed("there is no final answer")
    return scored(JUDGES[metric](task, accepted, answer), metric, accepted, answer)


def _anls(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = anls(answer, accepted)
    return Judged(value, value >= THRESHOLD, {"anls": value})


def _relaxed(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return whole(relaxed_match(answer, accepted))


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
    return whole(form in accepted, form=form)


def _tabmwp(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    unit = str(task.meta.get("unit") or "")
    said = tabmwp_form(tabmwp_prediction(answer, list(choices_of(task).values())), unit)
    return whole(said in {tabmwp_form(one, unit) for one in accepted}, form=said)


def _em(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return whole(exact_match(answer, accepted), f1=best_overlap(answer, accepted).f1)


def _fields(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    wanted = _wanted_fields(task, accepted)
    right = matching_fields(read_fields(answer) or {}, wanted)
    value = sum(right.values()) / len(right)
    return Judged(value, value == 1.0, {"fields": {**right}})


def _printed(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return whole(printed_match(answer, accepted))


JUDGES: dict[str, Judge] = {
    "anls": _anls,
    "relaxed": _relaxed,
    "consensus": _consensus,
    "mathvista": _mathvista,
    "tabmwp": _tabmwp,
    "choice": judge_choice,
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
