"""Questions of our own suites with a context of about 4,000 tokens, or with the whole collection.

Every question has documents of its own (another seed of the generator, test wordings), so that
questions are independent and no prompt begins like an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.corpora.reading import Evidence, Reading, Source
from harness.corpora.tokenizer import count_tokens
from harness.rag.retrieve import Document
from lab.corpora.dossier import dossier_readings
from lab.corpora.institute import institute_readings

SHORT = 4_000
"""Tokens (packaged tokenizer) of a short context."""
SUITES = ("dossier", "institute")
SETTINGS = ("4k", "full")
FIRST_SEED = 7_000


@dataclass(frozen=True)
class Case:
    """A question with what may be read for it.

    Attributes:
        id: of the question, with its seed.
        suite: `dossier` or `institute`.
        setting: `4k` or `full`.
        question: bare.
        answers: accepted ones.
        documents: the context before any stage.
        evidence: gold places in them.
    """

    id: str
    suite: str
    setting: str
    question: str
    answers: tuple[str, ...]
    documents: tuple[Document, ...]
    evidence: tuple[Evidence, ...]


def case(suite: str, setting: str, number: int) -> Case:
    """Question `number` of a suite in a setting; kinds of questions take turns."""
    seed = FIRST_SEED + number
    readings = (dossier_readings if suite == "dossier" else institute_readings)("test", seed)
    reading = readings[number % len(readings)]
    chance = Random(f"{suite}:{seed}")
    sources, evidence = reading.sources, reading.evidence
    if setting == "4k" and suite == "institute":
        sources = _few(reading, chance)
    elif setting == "4k":
        sources, evidence = _shortened(reading, chance)
    documents = tuple(Document(one.id, one.text) for one in sources)
    name = f"{reading.id}@{seed}"
    return Case(name, suite, setting, reading.question, reading.answers, documents, evidence)


def _few(reading: Reading, chance: Random) -> tuple[Source, ...]:
    """The gold documents among others drawn by chance, in their order."""
    kept = {one.doc for one in reading.evidence}
    sizes = {one.id: count_tokens(one.text) for one in reading.sources}
    others = [id_ for id_ in sizes if id_ not in kept]
    chance.shuffle(others)
    used = sum(sizes[id_] for id_ in kept)
    for id_ in others:
        if used + sizes[id_] > SHORT:
            break
        kept.add(id_)
        used += sizes[id_]
    return tuple(one for one in reading.sources if one.id in kept)


def _shortened(reading: Reading, chance: Random) -> tuple[tuple[Source, ...], tuple[Evidence, ...]]:
    """The lines with the evidence among others drawn by chance, in their order."""
    [source] = reading.sources
    lines = source.text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:at])) for at in range(len(lines))]
    kept = {
        at for at, start in enumerate(starts) for one in reading.evidence
        if start < one.end and one.start < start + len(lines[at])
    }  # fmt: skip
    sizes = [count_tokens(line) for line in lines]
    others = [at for at in range(len(lines)) if at not in kept]
    chance.shuffle(others)
    used = sum(sizes[at] for at in kept)
    for at in others:
        if used + sizes[at] <= SHORT:
            kept.add(at)
            used += sizes[at]
    order = sorted(kept)
    moved = {at: sum(len(lines[one]) for one in order if one < at) - starts[at] for at in order}
    evidence = tuple(_moved(one, moved[_line(starts, one.start)]) for one in reading.evidence)
    text = "".join(lines[at] for at in order)
    return (Source(id=source.id, text=text),), evidence


def _line(starts: list[int], at: int) -> int:
    return max(number for number, start in enumerate(starts) if start <= at)


def _moved(one: Evidence, by: int) -> Evidence:
    return Evidence(doc=one.doc, start=one.start + by, end=one.end + by)
