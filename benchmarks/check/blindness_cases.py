"""Cases and the simulated Checker of check_blindness.py.

Generated cases are notes of eight facts about invented places; the answer states four of them,
each false with chance one half: another value of the note (the easy mistake to wave through) or one
digit changed. TAT-QA cases are statements about table cells, as `table_values.py` makes them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.check.table_values import in_dev, statements
from benchmarks.endpoints import chat_app
from benchmarks.reports import read_jsonl
from harness.rag.retrieve import Document

if TYPE_CHECKING:
    from starlette.applications import Starlette

PLACES = (
    "Orrin Bay",
    "Tolvik",
    "Kell Moor",
    "Larch Hill",
    "Sarn Ford",
    "Wick Hollow",
    "Ember Quay",
)
PEOPLE = ("Mary Hollin", "Jon Ackermann", "Ada Penrose", "Sam Tolvik", "Ruth Calder", "Nils Varga")
FACTS = (
    ("The mill at {place} was built in {value}.", "year"),
    ("The mill at {place} grinds {value} tonnes a day.", "number"),
    ("The school at {place} has {value} pupils.", "number"),
    ("The school at {place} was opened in {value}.", "year"),
    ("The harbour at {place} was designed by {value}.", "person"),
    ("The library at {place} was founded by {value}.", "person"),
    ("The bridge at {place} is {value} metres long.", "number"),
    ("The bridge at {place} was finished in {value}.", "year"),
)
STATED = 4


@dataclass(frozen=True)
class Stated:
    """A value of an answer, its place there, and whether the document says so."""

    start: int
    end: int
    true: bool


@dataclass(frozen=True)
class Case:
    """A document and an answer with right and wrong values."""

    document: Document
    answer: str
    stated: tuple[Stated, ...]


def generated(count: int, seed: int, facts: int = STATED) -> Iterator[Case]:
    """Notes made by rule, with answers of so many facts."""
    draw = random.Random(seed)
    for number in range(count):
        place = draw.choice(PLACES)
        values = _values(draw)
        lines = [
            frame.format(place=place, value=value)
            for (frame, _), value in zip(FACTS, values, strict=True)
        ]
        parts: list[str] = []
        stated: list[Stated] = []
        for fact in sorted(draw.sample(range(len(FACTS)), facts)):
            frame, kind = FACTS[fact]
            true = draw.random() < 0.5
            value = values[fact] if true else _wrong(draw, values, fact, kind)
            before = sum(len(part) + 1 for part in parts) + len(
                frame.format(place=place, value="\0").partition("\0")[0]
            )
            parts.append(frame.format(place=place, value=value))
            stated.append(Stated(before, before + len(value), true))
        draw.shuffle(lines)
        yield Case(Document(f"note-{number}", " ".join(lines)), " ".join(parts), tuple(stated))


def _values(draw: random.Random) -> list[str]:
    values: list[str] = []
    people = draw.sample(PEOPLE, len(PEOPLE))
    while len(values) < len(FACTS):
        value = {
            "year": str(draw.randint(1800, 1999)),
            "number": str(draw.randint(12, 980)),
            "person": people[len(values) % len(people)],
        }[FACTS[len(values)][1]]
        if value not in values:
            values.append(value)
    return values


def _wrong(draw: random.Random, values: list[str], fact: int, kind: str) -> str:
    """Another value of its kind in the note, or a number or year with one digit changed."""
    alternatives = [
        value for place, value in enumerate(values) if place != fact and FACTS[place][1] == kind
    ]
    if kind == "person" or draw.random() < 0.5:
        return draw.choice(alternatives)
    digits = list(values[fact])
    place = draw.randrange(1, len(digits))
    digits[place] = draw.choice([digit for digit in "123456789" if digit != digits[place]])
    return "".join(digits)


def tatqa(path: Path, count: int, seed: int, longest: int = 4000) -> Iterator[Case]:
    """Statements about cells: one document a case, four statements, half of them perturbed.

    Sources with SHA-256 modulo 10 below 3 (the development part of the numeric layer) are left
    out, and contexts above `longest` characters.
    """
    draw = random.Random(seed)
    for row in read_jsonl(path):
        statements_of_row = list(statements(row))
        if in_dev(row["table"]["uid"]) or not statements_of_row:
            continue
        document = statements_of_row[0][0]
        by_truth = {
            true: [
                statement
                for _, statement in statements_of_row
                if (statement.kind == "paraphrase") == true
            ]
            for true in (True, False)
        }
        if len(document.text) > longest or min(map(len, by_truth.values())) < STATED // 2:
            continue
        chosen = [
            (statement, true)
            for true, pool in by_truth.items()
            for statement in draw.sample(pool, STATED // 2)
        ]
        draw.shuffle(chosen)
        parts: list[str] = []
        stated: list[Stated] = []
        for statement, true in chosen:
            start = sum(len(part) + 1 for part in parts) + statement.sentence.index(statement.value)
            stated.append(Stated(start, start + len(statement.value), true))
            parts.append(statement.sentence)
        yield Case(document, " ".join(parts), tuple(stated))
        count -= 1
        if count == 0:
            return


_CLAIMED = re.compile(r"^- (.*?)(?: \(the answer says: (.*)\))?$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{3,}")


def simulated(suggestible: float, careless: float, seed: int = 41) -> Starlette:
    """A Checker that looks values up and, where it sees a claim, repeats it by chance.

    SIMULATED: how far it can be led is what it is told. It shows that the measurement finds what
    is planted, and nothing about models.

    Args:
        suggestible: chance that it agrees with a claim that it sees.
        careless: chance that it takes another value of the document, whatever it sees.
        seed: of the draws, which depend on the question alone and are the same for every arm.
    """

    def answered(question: str, claimed: str, text: str, response: str) -> dict[str, str]:
        words = set(_WORD.findall(question.lower()))
        sentences = re.split(r"(?<=[.\n])\s+", text)
        chance = random.Random(f"{seed}|{question}")
        led, slips = chance.random() < suggestible, chance.random() < careless
        nearest = max(
            sentences, key=lambda sentence: len(words & set(_WORD.findall(sentence.lower())))
        )
        if response and not claimed:
            near = re.split(r"(?<=[.\n])\s+", response)
            claimed = _value(
                max(near, key=lambda sentence: len(words & set(_WORD.findall(sentence.lower())))),
                question,
            )
        value = _value(chance.choice(sentences) if slips else nearest, question)
        answer = claimed if claimed and led else value
        return {"evidence": nearest.strip(), "answer": answer or "Cannot answer"}

    def reply(raw: bytes) -> str:
        body: dict[str, Any] = json.loads(raw)
        prompt = str(body["messages"][-1]["content"])
        text = prompt.partition("<document>")[2].partition("</document>")[0]
        response = prompt.partition("<answer>")[2].partition("</answer>")[0]
        questions = prompt.partition("<questions>")[2].partition("</questions>")[0]
        replies = [
            answered(q, claimed, text, response) for q, claimed in _CLAIMED.findall(questions)
        ]
        return json.dumps(replies)

    return chat_app(reply, "simulated-checker")


def _value(sentence: str, question: str) -> str:
    """The last value of a sentence that fits what a question asks for."""
    if "name" in question.split(":")[0]:
        names = [person for person in PEOPLE if person in sentence]
        return names[-1] if names else ""
    numbers = re.findall(r"\$?\d[\d,.]*\d|\d", sentence)
    return str(numbers[-1]) if numbers else ""
