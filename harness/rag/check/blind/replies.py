"""Replies of Proposer and Checker, read whatever their form: never an exception, never NaN."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, cast

_FENCE = re.compile(r"^```\w*\s*|\s*```$", re.MULTILINE)
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_PAIR = re.compile(
    r"(?:^|\n)\s*(?:[-*\u2022]|\d+[.)])?\s*\**question\**\s*\d*\s*[:.]\s*(?P<question>.+?)"
    r"\s*[\[(]?\**answer\**\s*[:=]\s*(?P<answer>.+?)\s*\]?\s*(?=\n|$)",
    re.IGNORECASE | re.DOTALL,
)
_ITEM = re.compile(
    r"(?:^|\n)\s*(?:[-*\u2022]|(?P<number>\d+)[.)])?\s*\**evidence\**\s*[:=]\s*(?P<evidence>.*?)"
    r"\s*[\[(]?\**answer\**\s*[:=]\s*(?P<answer>.*?)\s*\]?\s*(?=\n|$)",
    re.IGNORECASE | re.DOTALL,
)
_UNANSWERED = re.compile(
    r"^\W*(?:(?:i )?can(?:not|'t|\u2019t) (?:be )?(?:answer|determin|say|tell)|not (?:stated|given"
    r"|mentioned|specified|provided|available|found|known)|unknown|n/?a\b|none\b"
    r"|no (?:answer|information|mention)"
    r"|unanswerable|the documents? (?:do|does) not)",
    re.IGNORECASE,
)


class Pair(NamedTuple):
    """A question with the answer that the response gives to it."""

    question: str
    answer: str


class Answered(NamedTuple):
    """What a Checker said to one question; an empty answer is one that it cannot give."""

    evidence: str
    answer: str


def read_pairs(reply: str) -> list[Pair]:
    """Question and answer pairs of a Proposer: JSON, cut JSON, or lines; [] without any."""
    found = [
        Pair(_text(one, "question", "q"), _text(one, "answer", "a")) for one in json_objects(reply)
    ] or [Pair(match["question"], match["answer"]) for match in _PAIR.finditer(_plain(reply))]
    return [Pair(_clean(one.question), _clean(one.answer)) for one in found if _is_pair(one)]


def _is_pair(pair: Pair) -> bool:
    return bool(pair.question.strip()) and bool(pair.answer.strip())


def read_answers(reply: str, questions: int) -> list[Answered | None]:
    """What a Checker said to each question; None where it said nothing that could be read.

    Items are taken in order, or by the number they bear, where they bear one.
    """
    found: list[Answered | None] = [None] * questions
    objects = json_objects(reply)
    if objects:
        for at, one in enumerate(objects[:questions]):
            found[at] = _answered(_text(one, "evidence", "quote"), _text(one, "answer", "a"))
        return found
    for at, match in enumerate(_ITEM.finditer(_plain(reply))):
        place = int(match["number"]) - 1 if match["number"] else at
        if 0 <= place < questions and found[place] is None:
            found[place] = _answered(match["evidence"], match["answer"])
    return found


def _answered(evidence: str, answer: str) -> Answered | None:
    if not answer.strip():
        return None
    said = _clean(answer)
    return Answered(_clean(evidence), "" if _UNANSWERED.match(said) else said)


def _plain(reply: str) -> str:
    return _FENCE.sub("", _THINKING.sub("", reply)).strip()


def json_objects(reply: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply, those in front of a cut or a fault as well."""
    text = _plain(reply)
    decoder, found, at = json.JSONDecoder(), list[dict[str, Any]](), 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict):
            found.append(cast(dict[str, Any], value))
    return found


def _text(one: dict[str, Any], *names: str) -> str:
    value = next((one[name] for name in names if one.get(name) is not None), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _clean(text: str) -> str:
    return text.strip().strip("\"'`*[]\u201c\u201d").strip()
