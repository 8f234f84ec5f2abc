"""The simulated endpoint of check_ragas.py: it can read, and sometimes writes nonsense.

SIMULATED: it looks values up by shared words for our Checker and for the prompts of RAGAS alike, so
that what differs is what each makes of the same replies, of which a given share is unreadable.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from benchmarks.endpoints import chat_app

if TYPE_CHECKING:
    from starlette.applications import Starlette

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[A-Za-z]{3,}")
_NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")
_VALUE = re.compile(r"\d[\d,.]*\d|\d|[A-Z][a-z]+ [A-Z][a-z]+(?=\.)")


def app(malformed: float) -> Starlette:
    """The app; `malformed` is the share of replies that are no JSON, drawn from the request."""
    sent = [0]

    def said(raw: bytes) -> str:
        sent[0] += 1  # a request that is sent again may fare better
        chance = hashlib.sha256(raw + str(sent[0]).encode()).digest()[0] / 256
        prompt = str(json.loads(raw)["messages"][-1]["content"])
        return "I would rather not say." if chance < malformed else reply(prompt)

    return chat_app(said, "simulated")


def reply(prompt: str) -> str:
    """Reply as the role that a prompt describes."""
    user_input = prompt.rpartition("input: ")[2].rpartition("Output:")[0]
    if user_input.strip().startswith("{"):
        return json.dumps(_ragas(json.loads(user_input)))
    if "<questions>" not in prompt:
        return json.dumps(_pairs(prompt.rpartition("<answer>")[2].partition("</answer>")[0]))
    text = prompt.partition("<document>")[2].partition("</document>")[0].strip()
    questions = prompt.rpartition("<questions>")[2].splitlines()
    return json.dumps([_answered(line[2:], text) for line in questions if line.startswith("- ")])


def _pairs(answer: str) -> list[dict[str, str]]:
    """A question for the value of every sentence."""
    statements: list[dict[str, str]] = []
    for sentence in _SENTENCE.split(answer.strip()):
        value = _value(sentence)
        if value:
            question = sentence.replace(value, "what").strip(" .")
            statements.append({"question": f"{question}?", "answer": value})
    return statements


def _answered(question: str, text: str) -> dict[str, str]:
    sentence = _nearest(question, text)
    if question.startswith("What do the documents say"):
        answer = sentence
    elif question.startswith("Which name"):
        names = [name for name in _NAME.findall(sentence) if name not in question]
        answer = names[0] if names else "Cannot answer"
    else:
        answer = _value(sentence)
    return {"evidence": sentence, "answer": answer}


def _ragas(request: dict[str, Any]) -> dict[str, Any]:
    if "statements" not in request:
        return {"statements": _SENTENCE.split(request["answer"])}
    return {
        "statements": [
            {
                "statement": statement,
                "reason": "the nearest sentence",
                "verdict": int(
                    _value(_nearest(statement, request["context"])) == _value(statement)
                ),
            }
            for statement in request["statements"]
        ]
    }


def _nearest(question: str, text: str) -> str:
    words = set(_WORD.findall(question.lower()))
    sentences = _SENTENCE.split(text)
    return max(sentences, key=lambda sentence: len(words & set(_WORD.findall(sentence.lower()))))


def _value(sentence: str) -> str:
    """The last number or name of a sentence."""
    values = [match[0] for match in _VALUE.finditer(sentence)]
    return values[-1] if values else ""
