"""Replies of Proposer and Checker, read whatever their form: never an exception, never NaN.

Servers that hold a model to a JSON schema (vLLM and the embedded engine do) get one, so that a
small model that knows what it would answer, but not how to write it down, can take part. Other
endpoints are asked in words alone and read leniently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from pydantic import JsonValue

from harness.models import Model
from harness.rag.check.claims import extract, statements
from harness.rag.check.numbers import Period, Quantity, read
from harness.rag.check.types import QUANTITY_TYPES, STATEMENT_TYPES, Claim, ClaimType

# Pairs of a Proposer (the number of the paper's prompt).
_MOST_PAIRS = 10
# Characters of a text in a reply.
_LONGEST = 200
_FENCE = re.compile(r"^```\w*\s*|\s*```$", re.MULTILINE)
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
Format = dict[str, JsonValue]
_TEXT: Format = {"type": "string", "maxLength": _LONGEST}


class Pair(NamedTuple):
    """A question with the answer that the response gives to it."""

    question: str
    answer: str


class Answered(NamedTuple):
    """Answer of a Checker to one question; an empty one means that it cannot answer."""

    evidence: str
    answer: str


def answers_format(model: Model, questions: int) -> Format | None:
    """One quote and answer for every question; None where the model's engine may not know it."""
    return _array(model, {"evidence": _TEXT, "answer": _TEXT}, questions, questions)


def pairs_format(model: Model) -> Format | None:
    """Questions with their answers."""
    return _array(model, {"question": _TEXT, "answer": _TEXT}, 1, _MOST_PAIRS)


def _array(model: Model, fields: Format, least: int, most: int) -> Format | None:
    if not model.constrains:
        return None
    item: Format = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    schema: Format = {"type": "array", "items": item, "minItems": least, "maxItems": most}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def read_pairs(reply: str) -> list[Pair]:
    """Question and answer pairs of a Proposer: JSON, cut JSON, or lines; [] without any."""
    written = [
        (_text(item, "question", "q"), _text(item, "answer", "a")) for item in json_objects(reply)
    ] or [(match["question"], match["answer"]) for match in _PAIR.finditer(_plain(reply))]
    return [
        Pair(_clean(question), _clean(answer))
        for question, answer in written
        if question.strip() and answer.strip()
    ]


def read_answers(reply: str, questions: int) -> list[Answered | None]:
    """Read a Checker's answers to each question; None where none can be read.

    Items are taken in order, or by the number they bear, where they bear one.
    """
    answers: list[Answered | None] = [None] * questions
    items = json_objects(reply)
    if items:
        for index, item in enumerate(items[:questions]):
            answers[index] = _answered(_text(item, "evidence", "quote"), _text(item, "answer", "a"))
        return answers
    for order, match in enumerate(_ITEM.finditer(_plain(reply))):
        index = int(match["number"]) - 1 if match["number"] else order
        if 0 <= index < questions and answers[index] is None:
            answers[index] = _answered(match["evidence"], match["answer"])
    return answers


def _answered(evidence: str, answer: str) -> Answered | None:
    if not answer.strip():
        return None
    text = _clean(answer)
    return Answered(_clean(evidence), "" if _UNANSWERED.match(text) else text)


def _plain(reply: str) -> str:
    return _FENCE.sub("", reply).strip()


def json_objects(reply: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply, those in front of a cut or a fault as well."""
    text = _plain(reply)
    decoder, objects, start = json.JSONDecoder(), list[dict[str, Any]](), 0
    while (start := text.find("{", start)) >= 0:
        try:
            value, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        if isinstance(value, dict):
            objects.append(cast(dict[str, Any], value))
    return objects


def _text(item: dict[str, Any], *names: str) -> str:
    value = next((item[name] for name in names if item.get(name) is not None), "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _clean(text: str) -> str:
    return text.strip().strip("\"'`*[]\u201c\u201d").strip()


def proposed(response: str, question: str, pairs: Sequence[Pair]) -> list[Claim]:
    """Claims with a proposer's questions where there is one for their value, else with a rule's.

    What is claimed is decided by the response, not by the Proposer: a pair whose answer is not in
    the response is dropped, and what it did not ask about is asked by rule, so that asking less
    cannot pass.
    """
    unused = list(pairs)
    claims: list[Claim] = []
    for claim in extract(response, question):
        pair = next((pair for pair in unused if _asks_for(pair, claim)), None)
        if pair is None:
            claims.append(claim)
        else:
            unused.remove(pair)
            update = {"question": pair.question, "value": claim.text}
            claims.append(claim.model_copy(update=update))
    for wording, answer in unused:
        start = response.find(answer)
        end = start + len(answer)
        if start < 0 or any((claim.start, claim.end) == (start, end) for claim in claims):
            continue
        kinds = {type(value) for value in read(answer)}
        kind: ClaimType = "number" if Quantity in kinds else "date" if Period in kinds else "entity"
        sentences = (response[a:b] for a, b in statements(response) if a <= start < b)
        claims.append(
            Claim(
                text=answer,
                type=kind,
                start=start,
                end=end,
                sentence=next(sentences, ""),
                asked=question,
                question=wording,
                value=answer,
            )
        )
    return sorted(claims, key=lambda claim: (claim.start, -claim.end))


def _asks_for(pair: Pair, claim: Claim) -> bool:
    """Return True if a pair asks for the value of a claim, which may bear a unit or stand in a
    phrase.
    """
    if claim.type in STATEMENT_TYPES:
        return False
    if claim.text in pair.answer and len(pair.answer) <= 2 * len(claim.text):
        return True
    return claim.type in QUANTITY_TYPES and claim.text.startswith(pair.answer)
