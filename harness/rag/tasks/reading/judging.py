"""Instructions on the form of an answer, behind the question, and its judging."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from harness.core import BadInput, Score, Task, failed, plain
from harness.corpora import Evidence
from harness.rag.tasks.reading.metrics import (
    best_overlap,
    cited_support,
    exact_match,
    joint,
    match_all,
    match_classes,
    match_numbers,
    match_part,
    official_normal,
    rouge,
    split_citations,
    yes_or_no,
)
from harness.tasks import (
    Judge,
    Judged,
    accepted_answers,
    all_or_nothing,
    choices_of,
    named_metric,
    scored,
    setting,
)

# Metric -> form; none where sentences are wanted.
FORMS = {
    "em": "Reply with the answer alone, as short as it can be.",
    "choice": "Reply with the letter of the right choice alone.",
    "exam": "Reply with the letters of all right choices alone.",
    "boolean": "Reply with yes or no alone.",
    "all": "Reply with the values alone.",
    "part": "Reply with the answer alone, as short as it can be.",
    "numbers": "Reply with the number alone.",
    "classes": "Reply with the name of the class alone.",
}


def with_form(question: str, metric: str) -> str:
    """The question with the form of its answer behind it."""
    return f"{question}\n\n{FORMS[metric]}" if metric in FORMS else question


def bare_question(prompt: str) -> str:
    """The question without the form: what a retriever or a compressor is asked."""
    for form in FORMS.values():
        prompt = prompt.removesuffix(f"\n\n{form}")
    return prompt


_ALONE = re.compile(r"\(?([A-Z])\)?[.):]?")
_LETTERS = re.compile(r"\(?[A-Z]\)?(?:(?:\s*,\s*|\s*(?:and|&)\s*|\s+)?\(?[A-Z]\)?)*\.?")
_STATED = re.compile(
    r"(?:answers?|options?|choices?)\s*(?:is|are|:)?\s*:?\s*"
    r"(\(?[A-Z]\)?(?:(?:\s*,\s*|\s*(?:and|&)\s*)?\(?[A-Z]\)?)*)(?![A-Za-z'])",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\(([A-Z])\)|([A-Z])[.):](?=\s|$)")


def chosen_letter(answer: str, choices: Mapping[str, str]) -> str | None:
    """The one letter that an answer chooses, or None where it chooses none or several.

    Understood are a letter alone, "the (correct) answer is (B)" as LongBench v2 asks for, a letter
    with a mark in front ("B. Because ..."), and the text of a choice.

    Args:
        answer: what was said.
        choices: letter -> text; the text may be empty where it is not known.
    """
    letters = chosen_letters(answer, choices)
    return letters if len(letters) == 1 else None


def chosen_letters(answer: str, choices: Mapping[str, str]) -> str:
    """All letters that an answer chooses, in order, each once; "" where it chooses none.

    Args:
        answer: what was said.
        choices: letter -> text; letters outside are no choice.
    """
    text = answer.replace("*", "").strip()
    if match := _ALONE.fullmatch(text):
        return _known(match[1], choices)
    if _LETTERS.fullmatch(text):
        return _known(re.sub(r"\band\b", "", text), choices)
    if stated := _STATED.findall(text):
        return _known(re.sub(r"\band\b", "", stated[-1], flags=re.IGNORECASE).upper(), choices)
    if match := _OPENING.match(text):
        return _known(match[1] or match[2], choices)
    normal = official_normal(text)
    same = [
        letter for letter, choice in choices.items() if normal and official_normal(choice) == normal
    ]
    return same[0] if len(same) == 1 else ""


def judge_choice(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    """Return True if the one letter that an answer chooses is right."""
    letter = chosen_letter(answer, choices_of(task))
    return all_or_nothing(letter in accepted, chosen=letter)


def _known(letters: str, choices: Mapping[str, str]) -> str:
    return "".join(sorted({letter for letter in letters if letter in choices}))


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

    The metrics are those of the official scripts; before them, characters that print alike become
    one (:func:`harness.core.plain`).

    Raises:
        BadInput: if the task cannot be judged.
    """
    metric, accepted, gold = metric_of(task), accepted_answers(task), evidence_of(task)
    answer, cited = split_citations(reply or "")
    if not answer:
        return failed("there is no final answer")
    accepted, answer = [plain(text) for text in accepted], plain(answer)
    judged = JUDGES[metric](task, accepted, answer)
    if gold:
        support = cited_support(cited, gold)
        joint_scores = joint(
            best_overlap(answer, accepted, closed=_closed(task)), judged.ok, support
        )
        judged.detail.update(
            citations=len(cited), support_f1=support.f1, support_em=support.em,
            support_recall=support.recall, joint_em=joint_scores[0], joint_f1=joint_scores[1],
        )  # fmt: skip
    return scored(judged, metric, accepted, answer)


def _em(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    ok = exact_match(answer, accepted)
    f1 = best_overlap(answer, accepted, closed=_closed(task)).f1
    return Judged(float(ok), ok, {"em": float(ok), "f1": f1})


def _f1(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    f1 = best_overlap(answer, accepted, closed=_closed(task)).f1
    em = float(exact_match(answer, accepted))
    return Judged(f1, f1 >= setting(task, "threshold", 1.0), {"em": em, "f1": f1})


def _rouge(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    values = rouge(answer, accepted, stemmer=task.meta.get("stemmer", True) is not False)
    value = values["rougeL"]
    return Judged(value, value >= setting(task, "threshold", 1.0), {**values})


def _exam(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    letters = chosen_letters(answer, choices_of(task))
    right = {"".join(sorted(answer_letters)) for answer_letters in accepted}
    return all_or_nothing(bool(letters) and letters in right, chosen=letters)


def _boolean(task: Task, accepted: Sequence[str], answer: str) -> Judged:
    stated = yes_or_no(answer)
    return all_or_nothing(stated is not None and stated == yes_or_no(accepted[0]))


def _full(value: float) -> Judged:
    """A value that is right where it is 1."""
    return Judged(value, value == 1.0, {})


JUDGES: dict[str, Judge] = {
    "em": _em,
    "f1": _f1,
    "rouge": _rouge,
    "choice": judge_choice,
    "exam": _exam,
    "boolean": _boolean,
    "all": lambda _, accepted, answer: _full(match_all(answer, accepted)),
    "part": lambda _, accepted, answer: all_or_nothing(match_part(answer, accepted) == 1.0),
    "numbers": lambda _, accepted, answer: _full(
        max(match_numbers(answer, right) for right in accepted)
    ),
    "classes": lambda task, accepted, answer: _full(
        max(match_classes(answer, right, [*choices_of(task).values()]) for right in accepted)
    ),
}


def _closed(task: Task) -> bool:
    """Return True if yes and no earn nothing by overlap, as in HotpotQA."""
    return task.meta.get("closed") is True
