"""Generated notes of eight facts about invented places, and answers that state one of them.

The fact of an answer is false with chance one half: another value of the note (the easy mistake to
wave through) or one digit changed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from harness.rag.retrieve import Document

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


class Case(NamedTuple):
    """A note, an answer that states one of its facts, and whether that is true."""

    document: Document
    answer: str
    true: bool


def generated(count: int, seed: int) -> Iterator[Case]:
    """Notes made by rule, each with an answer."""
    draw = random.Random(seed)
    for number in range(count):
        place, values = draw.choice(PLACES), _values(draw)
        lines = [
            frame.format(place=place, value=value)
            for (frame, _), value in zip(FACTS, values, strict=True)
        ]
        [fact] = draw.sample(range(len(FACTS)), 1)
        true = draw.random() < 0.5
        frame, kind = FACTS[fact]
        value = values[fact] if true else _wrong(draw, values, fact, kind)
        draw.shuffle(lines)
        document = Document(f"note-{number}", " ".join(lines))
        yield Case(document, frame.format(place=place, value=value), true)


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
        value for index, value in enumerate(values) if index != fact and FACTS[index][1] == kind
    ]
    if kind == "person" or draw.random() < 0.5:
        return draw.choice(alternatives)
    digits = list(values[fact])
    position = draw.randrange(1, len(digits))
    digits[position] = draw.choice([digit for digit in "123456789" if digit != digits[position]])
    return "".join(digits)
