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
    """What the role that a prompt describes would say."""
    given = prompt.rpartition("input: ")[2].rpartition("Output:")[0]
    if given.strip().startswith("{"):
        return json.dumps(_ragas(json.loads(given)))
    if "<questions>" not in prompt:
        return json.dumps(_pairs(prompt.rpartition("<answer>")[2].partition("</answer>")[0]))
    text = prompt.partition("<document>")[2].partition("</document>")[0].strip()
    asked = prompt.rpartition("<questions>")[2].splitlines()
    return json.dumps([_answered(line[2:], text) for line in asked if line.startswith("- ")])


def _pairs(answer: str) -> list[dict[str, str]]:
    """A question for the value of every sentence."""
    found: list[dict[str, str]] = []
    for sentence in _SENTENCE.split(answer.strip()):
        value = _value(sentence)
        if value:
            asked = sentence.replace(value, "what").strip(" .")
            found.append({"question": f"{asked}?", "answer": value})
    return found


def _answered(question: str, text: str) -> dict[str, str]:
    said = _nearest(question, text)
    if question.startswith("What do the documents say"):
        answer = said
    elif question.startswith("Which name"):
        names = [one for one in _NAME.findall(said) if one not in question]
        answer = names[0] if names else "Cannot answer"
    else:
        answer = _value(said)
    return {"evidence": said, "answer": answer}


def _ragas(given: dict[str, Any]) -> dict[str, Any]:
    if "statements" not in given:
        return {"statements": _SENTENCE.split(given["answer"])}
    return {
        "statements": [
            {
                "statement": one,
                "reason": "the nearest sentence",
                "verdict": int(_value(_nearest(one, given["context"])) == _value(one)),
            }
            for one in given["statements"]
        ]
    }


def _nearest(question: str, text: str) -> str:
    wanted = set(_WORD.findall(question.lower()))
    sentences = _SENTENCE.split(text)
    return max(sentences, key=lambda one: len(wanted & set(_WORD.findall(one.lower()))))


def _value(sentence: str) -> str:
    """The last number or name of a sentence."""
    found = [match[0] for match in _VALUE.finditer(sentence)]
    return found[-1] if found else ""
