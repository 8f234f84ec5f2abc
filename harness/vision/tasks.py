"""The vqa family: questions about images, which lie in the work folder beside nothing else.

| metric | of | pass | value |
|---|---|---|---|
| `anls` | DocVQA, InfographicVQA | ANLS of at least 0.5 | ANLS |
| `relaxed` | ChartQA | number within 5 %, else equal | 1 or 0 |
| `consensus` | TextVQA | VQA accuracy of at least 0.5 | VQA accuracy |
| `mathvista` | MathVista | equal in the script's normal form | 1 or 0 |
| `tabmwp` | TabMWP | equal in the script's normal form | 1 or 0 |
| `choice` | ScienceQA | the right letter | 1 or 0 |
| `fields` | SROIE | every field exact | share of exact fields |
| `printed` | folio | text as printed, number equal | 1 or 0 |
| `em` | own sets | normalised answer is an accepted one | 1 or 0 |
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.core import BadInput, Score, Task, failed, plain
from harness.rag.tasks.reading import best_overlap, exact_match, judge_choice
from harness.sandbox import Sandbox
from harness.tasks import (
    Judge,
    Judged,
    accepted_answers,
    all_or_nothing,
    choices_of,
    copy_inputs,
    named_metric,
    scored,
)
from harness.vision.metrics import (
    THRESHOLD,
    anls,
    consensus,
    matching_fields,
    mathvista_form,
    printed_match,
    read_fields,
    relaxed_match,
    tabmwp_form,
    tabmwp_prediction,
)

# Metric -> what an agent reads about the form of its answer.
_FORMS = {
    "anls": "Reply with the answer alone, in the words of the image where they stand there.",
    "relaxed": "Reply with the number or the name alone, without a unit.",
    "consensus": "Reply with the answer alone, in as few words as possible.",
    "mathvista": "Reply with the letter of the right choice, or with the number alone.",
    "tabmwp": "Reply with the letter of the right choice, or with the number alone.",
    "choice": "Reply with the letter of the right choice alone.",
    "em": "Reply with the answer alone, as short as it can be.",
    "printed": "Reply with the answer alone, as it is printed where it stands in the image.",
    "fields": "Reply with one JSON object that has these fields and nothing else.",
}


class VqaFamily:
    """Judges the final answer by the task's metric."""

    name = "vqa"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """Take the sandbox, as every family does; no code of a suite runs here."""

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.Family.prepare`."""
        metric = metric_of(task)
        accepted_answers(task)  # before a model call is paid for
        copy_inputs(task, base, workdir)
        lines = [task.prompt]
        lines += [f"{letter}. {text}" for letter, text in choices_of(task).items()]
        if unit := task.meta.get("unit"):
            lines.append(f"Unit: {unit}")
        if task.files:
            lines.append(f"Files: {', '.join(task.files)}")
        return "\n".join(lines) + f"\n\n{_FORMS[metric]}"

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; `detail` names the metric and its figures."""
        return judge(task, answer)


def metric_of(task: Task) -> str:
    """The metric that a task names in `meta["metric"]`; `anls` where it names none.

    Raises:
        BadInput: for a metric that does not exist, or a task that it cannot judge.
    """
    metric = named_metric(task, JUDGES, "anls", lettered={"choice"})
    if metric == "fields":
        _expected_fields(task, accepted_answers(task))
    return metric


def judge(task: Task, reply: str | None) -> Score:
    """Judge a final answer; characters that print alike are one (:func:`harness.core.plain`).

    Raises:
        BadInput: if the task cannot be judged.
    """
    metric, accepted, answer = metric_of(task), accepted_answers(task), (reply or "").strip()
    if metric != "fields":  # JSON, whose strings may hold curly quotes
        accepted, answer = [plain(text) for text in accepted], plain(answer)
    if not answer:
        return failed("there is no final answer")
    return scored(JUDGES[metric](task, accepted, answer), metric, accepted, answer)


def judge_anls(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = anls(answer, accepted)
    return Judged(value, value >= THRESHOLD, {"anls": value})


def judge_consensus(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    value = consensus(answer, accepted)
    return Judged(value, value >= THRESHOLD, {})


def judge_mathvista(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    precision = task.meta.get("precision")
    form = mathvista_form(
        answer,
        choices=list(choices_of(task).values()),
        answer_type=str(task.meta.get("answer_type", "text")),
        precision=precision if isinstance(precision, (int, float)) else None,
    )
    return all_or_nothing(form in accepted, form=form)


def judge_tabmwp(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    unit = str(task.meta.get("unit") or "")
    form = tabmwp_form(tabmwp_prediction(answer, list(choices_of(task).values())), unit)
    return all_or_nothing(form in {tabmwp_form(gold, unit) for gold in accepted}, form=form)


def judge_fields(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    got, expected = read_fields(answer) or {}, _expected_fields(task, accepted)
    right = matching_fields(*({k: plain(v) for k, v in row.items()} for row in (got, expected)))
    value = sum(right.values()) / len(right)
    return Judged(value, value == 1.0, {"fields": {**right}})


JUDGES: dict[str, Judge] = {
    "anls": judge_anls,
    "relaxed": lambda task, accepted, answer: all_or_nothing(relaxed_match(answer, accepted)),
    "consensus": judge_consensus,
    "mathvista": judge_mathvista,
    "tabmwp": judge_tabmwp,
    "choice": judge_choice,
    "em": lambda task, accepted, answer: all_or_nothing(
        exact_match(answer, accepted), f1=best_overlap(answer, accepted).f1
    ),
    "fields": judge_fields,
    "printed": lambda task, accepted, answer: all_or_nothing(printed_match(answer, accepted)),
}


def _expected_fields(task: Task, accepted: Sequence[str]) -> dict[str, str]:
    try:
        record: Any = json.loads(accepted[0])
        return {str(name): str(value) for name, value in record.items()}
    except (ValueError, AttributeError) as error:
        raise BadInput(
            f"task {task.id!r}: metric 'fields' expected 'answer' to be a JSON object as text, "
            f"found {accepted[0]!r:.200}"
        ) from error
