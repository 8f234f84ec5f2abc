"""Comparing an answer text with the accepted answers: em, exact, contains, numeric, f1."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from harness.core import BadInput, Score, Task, failed, passed

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def normalise(text: str) -> str:
    """Lower case, without punctuation and English articles, single spaces (SQuAD, section 6).

    A text of which nothing would be left keeps its articles, then its punctuation: "A" and "%" are
    answers too.
    """
    lower = text.lower()
    plain = lower.translate(_PUNCTUATION)
    for candidate in (_ARTICLES.sub(" ", plain), plain, lower):
        if words := candidate.split():
            return " ".join(words)
    return ""


def token_f1(expected: str, got: str) -> float:
    """Harmonic mean of token precision and recall after :func:`normalise` (SQuAD, section 6)."""
    left, right = normalise(expected).split(), normalise(got).split()
    if not left or not right:
        return float(left == right)
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right))


def read_number(text: str) -> float | None:
    """The number that a text is, or the last number in it; thousands commas are dropped."""
    found = [match.replace(",", "") for match in _NUMBER.findall(text)]
    return float(found[-1]) if found else None


def accepted_answers(task: Task) -> list[str]:
    """The accepted answers of a task as text.

    Raises:
        BadInput: if there are none, or one is no text or number.
    """
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    texts = [str(one) for one in answers if isinstance(one, (str, int, float))]
    if not texts or len(texts) != len(answers):
        raise BadInput(
            f"task {task.id!r}: check {task.check!r} expected 'answer' to be a text, a number or "
            f"a list of them, found {task.answer!r}"
        )
    return texts


def _em(task: Task, accepted: Sequence[str], answer: str) -> Score:
    return _judged(normalise(answer) in {normalise(one) for one in accepted}, accepted, answer)


def _exact(task: Task, accepted: Sequence[str], answer: str) -> Score:
    return _judged(answer in {one.strip() for one in accepted}, accepted, answer)


def _contains(task: Task, accepted: Sequence[str], answer: str) -> Score:
    text = f" {normalise(answer)} "
    return _judged(any(f" {normalise(one)} " in text for one in accepted), accepted, answer)


def _numeric(task: Task, accepted: Sequence[str], answer: str) -> Score:
    tolerance = setting(task, "tolerance", 1e-6)
    wanted = [read_number(one) for one in accepted]
    numbers = [number for number in wanted if number is not None]
    if len(numbers) < len(accepted):
        raise BadInput(
            f"task {task.id!r}: check 'numeric' expected numbers in 'answer', found {task.answer!r}"
        )
    got = read_number(answer)
    if got is None:
        return failed(f"expected a number like {accepted[0]}, got {_short(answer)}")
    close = any(math.isclose(got, one, rel_tol=0.0, abs_tol=tolerance) for one in numbers)
    return _judged(close, accepted, answer)


def _f1(task: Task, accepted: Sequence[str], answer: str) -> Score:
    threshold = setting(task, "threshold", 1.0)
    value = max(token_f1(one, answer) for one in accepted)
    if value >= threshold:
        return passed(value=value)
    return failed(f"token F1 {value:.2f} with {accepted[0]!r} is below {threshold}", value)


COMPARISONS: dict[str, Callable[[Task, Sequence[str], str], Score]] = {
    "em": _em,
    "exact": _exact,
    "contains": _contains,
    "numeric": _numeric,
    "f1": _f1,
}


def setting(task: Task, name: str, default: float) -> float:
    """A number >= 0 from `task.meta`.

    Raises:
        BadInput: if it is something else.
    """
    value = task.meta.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise BadInput(f"task {task.id!r}: expected meta {name!r} to be >= 0, found {value!r}")
    return float(value)


def _judged(ok: bool, accepted: Sequence[str], answer: str) -> Score:
    if ok:
        return passed()
    wanted = " or ".join(repr(one) for one in accepted[:3])
    return failed(f"expected {wanted}, got {_short(answer)}")


def _short(answer: str) -> str:
    return repr(answer if len(answer) <= 200 else answer[:199] + "…")
