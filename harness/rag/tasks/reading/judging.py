"""One judge per metric: a reply, the accepted answers and the task's facts to a value."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from harness.core import BadInput, Score, Task, failed
from harness.corpora.reading import Evidence
from harness.rag.tasks.reading.choice import chosen_letters, judge_choice
from harness.rag.tasks.reading.matching import (
    match_all,
    match_classes,
    match_numbers,
    match_part,
    yes_or_no,
)
from harness.rag.tasks.reading.rouge import rouge
from harness.rag.tasks.reading.squad import best_overlap, exact_match
from harness.rag.tasks.reading.support import cited_support, joint, split_citations
from harness.tasks.answers import accepted_answers, setting
from harness.tasks.judged import Judge, Judged, choices_of, named_metric, scored, whole


def metric_of(task: Task) -> str:
    """The metric that a task names in `meta["metric"]`; `em` where it names none.

    Raises:
        BadInput: for a metric that does not exist, or a task that it cannot judge.
    """
    return named_metric(task, JUDGES, "em", lettered={"choice", "exam", "classes"})


def evidence_of(task: Task) -> list[Evidence]:
    """The gold evidence of a task.

    Raises:
        BadInput: if `meta["evidence"]` is no list of stretches.
    """
    rows = task.meta.get("evidence", [])
    try:
        return [
            Evidence.model_validate(row) for row in (rows if isinstance(rows, list) else [rows])
        ]
    except ValidationError as error:
        raise BadInput(
            f"task {task.id!r}: expected meta 'evidence' as a list of doc, start and end, "
            f"found {rows!r:.200}"
        ) from error


def check(task: Task) -> None:
    """Find out whether a task can be judged, before a model call is paid for.

    Raises:
        BadInput: if it cannot.
    """
    metric_of(task)
    accepted_answers(task)
    evidence_of(task)


def judge(task: Task, reply: str | None) -> Score:
    """Judge a reply; citations in it are taken off first, and judged against the gold evidence.

    Raises:
        BadInput: if the task cannot be judged.
    """
    metric, accepted, gold = metric_of(task), accepted_answers(task), evidence_of(task)
    answer, cited = split_citations(reply or "")
    if not answer:
        return failed("there is no final answer")
    judged = JUDGES[metric](task, accepted, answer)
    if gold:
        facts = cited_support(cited, gold)
        both = joint(best_overlap(answer, accepted, closed=_closed(task)), judged.ok, facts)
        judged.detail.update(
            citations=len(cited), support_f1=facts.f1, support_em=facts.em,
            support_recall=facts.recall, joint_em=both[0], joint_f1=both[1],
        )  # fmt: skip
    return scored(judged, metric, accepted, answer)


def _em(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    ok = exact_match(answer, accepted)
    found = best_overlap(answer, accepted, closed=_closed(task))
    return Judged(float(ok), ok, {"em": float(ok), "f1": found.f1})


def _f1(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    found = best_overlap(answer, accepted, closed=_closed(task))
    ok = found.f1 >= setting(task, "threshold", 1.0)
    em = float(exact_match(answer, accepted))
    return Judged(found.f1, ok, {"em": em, "f1": found.f1})


def _rouge(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    found = rouge(answer, accepted, stemmer=task.meta.get("stemmer", True) is not False)
    value = found["rougeL"]
    return Judged(value, value >= setting(task, "threshold", 1.0), {**found})


def _exam(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    letters = chosen_letters(answer, choices_of(task))
    return whole(
        bool(letters) and letters in {"".join(sorted(one)) for one in accepted}, chosen=letters
    )


def _boolean(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    said = yes_or_no(answer)
    return whole(said is not None and said == yes_or_no(accepted[0]))


def _all(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = match_all(answer, accepted)
    return Judged(value, value == 1.0, {})


def _part(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    return whole(match_part(answer, accepted) == 1.0)


def _numbers(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = max(match_numbers(answer, one) for one in accepted)
    return Judged(value, value == 1.0, {})


def _classes(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    classes = list(choices_of(task).values())
    value = max(match_classes(answer, one, classes) for one in accepted)
    return Judged(value, value == 1.0, {})


JUDGES: dict[str, Judge] = {
    "em": _em,
    "f1": _f1,
    "rouge": _rouge,
    "choice": judge_choice,
    "exam": _exam,
    "boolean": _boolean,
    "all": _all,
    "part": _part,
    "numbers": _numbers,
    "classes": _classes,
}


def _closed(task: Task) -> bool:
    """Whether yes and no earn nothing by overlap, as in HotpotQA."""
    return task.meta.get("closed") is True
