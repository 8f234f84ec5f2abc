"""Comparing an answer text with the accepted answers, and what judges of all families share.

The comparisons are em, exact, contains, numeric and f1.
"""

from __future__ import annotations

import json
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from harness.core import BadInput, Score, Task, failed, passed, plain

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# A hyphen behind a word or a number is none of the number's: COVID-19, 2020-2021.
_SIGN = r"(?<![\w)\]}%°.-])[-+]"
_MARKS = "".join(
    chr(code)
    for code in range(0x3100)
    if unicodedata.category(chr(code))[0] == "P" or unicodedata.category(chr(code)) == "Sc"
)
_WRITTEN = re.compile(
    rf"(?P<number>(?:{_SIGN}[$€£]?\.?|(?<![\w)\]}}%°.-])\.)?\d[\d,]*(?:\.\d+)*(?:e[-+]?\d+)?)"
    # Punctuation and symbols in ASCII (SQuAD), punctuation elsewhere, and emoji.
    rf"|(?:[{re.escape(_MARKS + string.punctuation)}\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])"
)
# Scripts that put no spaces between words: each character counts as one.
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff])")
_NUMBER = re.compile(
    rf"(?P<sign>{_SIGN}[$€£]?)?"
    r"(?P<digits>\d{1,3}(?:\.\d{3})+,\d+|\d[\d,']*(?:\.\d+)?|\.\d+)(?P<power>[eE][-+]?\d+)?"
)
_GROUPED = re.compile(r"\d{1,3}(?:[,']\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_RAISED = re.compile("([⁻⁺]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
# Powers of ten belong to a number; other exponents, as those of units, are no numbers.
_POWERS = (
    (re.compile(r"(?<=\d)\s?(?:[x\u00d7*\u00b7]|\\times|\\cdot)\s?10\^\{?([-+]?\d+)\}?"), r"e\1"),
    (re.compile(r"(?<![\d.,])10\^\{?([-+]?\d+)\}?"), r"1e\1"),
    (re.compile(r"\^\{?[-+]?\d+\}?"), ""),
    (re.compile(r"(?<=\d)(\s?[a-zµ]{1,3})[23]\b"), r"\1"),
)


def normalise(text: str) -> str:
    """Lower case, without punctuation and English articles, single spaces (SQuAD, section 6).

    Characters that print alike are one (:func:`harness.core.plain`). Of numbers sign and decimal
    point stay, which SQuAD drops with the punctuation: -345 would be 345, and 3.5 m would be 35 m.
    A text of which nothing would be left keeps its articles, then its punctuation: "A" and "%" are
    answers too.
    """
    lower = unicodedata.normalize("NFC", plain(text).lower())
    bare = _UNSPACED.sub(r" \1 ", _WRITTEN.sub(_kept, lower))
    bare = unicodedata.normalize("NFC", bare)
    for candidate in (_ARTICLES.sub(" ", bare), bare, lower):
        if words := candidate.split():
            return " ".join(words)
    return ""


def _kept(match: re.Match[str]) -> str:
    """A number without currency, plus sign and thousands commas; nothing of a mark."""
    if not (number := match["number"]):
        before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
        return " " if before.isdecimal() and after.isdecimal() else ""
    bare = re.sub(r"[$€£+]|,(?=\d{3}(?!\d))|,+$", "", number)
    return f" {bare}" if bare[0] in "-." else bare


def token_f1(expected: str, got: str) -> float:
    """Harmonic mean of token precision and recall after :func:`normalise` (SQuAD, section 6)."""
    words, gold = normalise(got).split(), normalise(expected).split()
    if not words or not gold:
        return float(words == gold)
    common = sum((Counter(words) & Counter(gold)).values())
    return 2 * common / (len(words) + len(gold))


def read_number(text: str) -> float | None:
    """The number that a text is, or the last number in it.

    Thousands separators are dropped, a power of ten counts, and a decimal comma is a point where
    it cannot part thousands: 4,5 is 4.5. Exponents of units are no numbers: 25 m^2 is 25.
    """
    text = _RAISED.sub(lambda raised: "^" + raised[0].translate(_SUPERSCRIPTS), plain(text))
    for pattern, written in _POWERS:
        text = pattern.sub(written, text)
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None
    sign, digits, power = numbers[-1].group("sign", "digits", "power")
    digits = digits.rstrip(",'")
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif _GROUPED.fullmatch(digits) and not digits.startswith("0"):
        digits = re.sub("[,']", "", digits)
    elif re.fullmatch(r"\d+,\d+", digits):
        digits = digits.replace(",", ".")
    digits = re.split("[,']", digits)[-1]  # the last of a list
    return float(f"{'-' if (sign or '').startswith('-') else ''}{digits}{power or ''}")


def accepted_answers(task: Task) -> list[str]:
    """The accepted answers of a task as text.

    Raises:
        BadInput: if there are none, or one is no text or number.
    """
    texts = _texts(task)
    if not texts:
        raise BadInput(
            f"task {task.id!r}: check {task.check!r} expected 'answer' to be a text, a number or "
            f"a list of them, found {task.answer!r}"
        )
    return texts


def _texts(task: Task) -> list[str]:
    """The accepted answers as text; none if one of them is no text or number."""
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    plain = all(isinstance(answer, (str, int, float)) for answer in answers)
    return list(map(str, answers)) if plain else []


def default_check(task: Task) -> str:
    """Choose the check of a task that names none: `em`, or `json` where its answer is no text, or
    the text of a JSON object."""
    return "em" if _texts(task) and not isinstance(declared(task), dict) else "json"


def declared(task: Task) -> JsonValue:
    """The JSON that a task expects; in a table it can only stand as text."""
    answer = task.answer
    if isinstance(answer, str) and answer.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            return json.loads(answer)
    return answer


COMPARISONS = ("em", "exact", "contains", "numeric", "f1")
"""Checks that compare an answer text with the accepted ones."""


def compare_answer(task: Task, answer: str | None) -> Score:
    """Judge an answer by one of :data:`COMPARISONS`, `em` without one; none fails, or an empty one.

    Raises:
        BadInput: if the task has no accepted answers; for `numeric`, if one is no number; for a
            setting that is none.
    """
    check, accepted = task.check or "em", accepted_answers(task)
    answer = (answer or "").strip()
    if not answer:
        return failed("there is no final answer")
    if check == "f1":
        threshold = setting(task, "threshold", 0.5)
        value = max(token_f1(gold, answer) for gold in accepted)
        if value >= threshold:
            return passed(value=value)
        return failed(f"token F1 {value:.2f} with {accepted[0]!r} is below {threshold}", value)
    quoted = repr(answer if len(answer) <= 200 else answer[:199] + "…")
    if check == "em":
        ok = normalise(answer) in map(normalise, accepted)
    elif check == "exact":
        ok = plain(answer) in {plain(gold.strip()) for gold in accepted}
    elif check == "contains":
        text = f" {normalise(answer)} "
        ok = any(f" {normalise(gold)} " in text for gold in accepted)
    else:
        tolerance, number = setting(task, "tolerance", 1e-6), read_number(answer)
        numbers = [read_number(gold) for gold in accepted]
        if None in numbers:
            raise BadInput(
                f"task {task.id!r}: check 'numeric' expected numbers in 'answer', found "
                f"{task.answer!r}"
            )
        if number is None:
            return failed(f"expected a number like {accepted[0]}, got {quoted}")
        ok = any(
            gold is not None and math.isclose(number, gold, rel_tol=0.0, abs_tol=tolerance)
            for gold in numbers
        )
    return passed() if ok else failed(f"expected {_listed(accepted)}, got {quoted}")


def setting(task: Task, name: str, default: float) -> float:
    """A number >= 0 from `task.meta`.

    Raises:
        BadInput: if it is something else.
    """
    value = task.meta.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise BadInput(f"task {task.id!r}: expected meta {name!r} to be >= 0, found {value!r}")
    return float(value)


def _listed(accepted: Sequence[str]) -> str:
    return " or ".join(repr(gold) for gold in accepted[:3])


class Judged(NamedTuple):
    """A value in [0, 1], whether it is a pass, and figures beside it."""

    value: float
    ok: bool
    detail: dict[str, JsonValue]


Judge = Callable[[Task, Sequence[str], str], Judged]
"""(task, accepted answers, reply) -> what it is worth."""


def all_or_nothing(ok: bool, **detail: JsonValue) -> Judged:
    """A metric that knows only 1 and 0."""
    return Judged(float(ok), ok, detail)


def scored(judged: Judged, metric: str, accepted: Sequence[str], answer: str) -> Score:
    """A pass, or a fail whose reason names the metric, its value, what was wanted and what came."""
    detail: dict[str, JsonValue] = {"metric": metric, "answer": answer, **judged.detail}
    if judged.ok:
        return Score(outcome="pass", value=judged.value, detail=detail)
    reason = f"{metric} {judged.value:.2f}: expected {_listed(accepted):.200}, got {answer!r:.200}"
    return Score(outcome="fail", value=judged.value, reason=reason, detail=detail)


def named_metric(
    task: Task, judges: Collection[str], default: str, lettered: Collection[str] = ()
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


_NUMBER_TYPE: dict[str, JsonValue] = {"type": "number"}
_WHOLE_TYPE: dict[str, JsonValue] = {"type": "integer"}
_SHORT_TEXTS: dict[str, JsonValue] = {
    "type": "array",
    "items": {"type": "string", "maxLength": 200},
    "minItems": 1,
    "maxItems": 50,
}
_TYPES: dict[str, dict[str, JsonValue]] = {
    "numeric": _NUMBER_TYPE,
    "number": _NUMBER_TYPE,
    "float": _NUMBER_TYPE,
    "numbers": _WHOLE_TYPE,
    "integer": _WHOLE_TYPE,
    "boolean": {"enum": ["yes", "no"]},
    "list": _SHORT_TEXTS,
}


def answer_schema(task: Task) -> dict[str, JsonValue] | None:
    """The JSON schema of an answer as the task declares it; None for any text.

    What declares it: `meta["answer_type"]` (`integer`, `number`, `boolean`, `list`), else
    `meta["metric"]`, else the check. Letters of `meta["choices"]` bind where the metric is
    `choice`. The expected answer is never looked at: its type would give part of it away.
    """
    metric = task.meta.get("metric", task.check)
    if choices := choices_of(task):
        return {"enum": list(choices)} if metric == "choice" else None
    return _TYPES.get(str(task.meta.get("answer_type", metric)))
