"""Questions of our own suites with a context of about 4,000 tokens, or with the whole collection.

Every question has documents of its own (another seed of the generator, test wordings), so that
questions are independent and no prompt begins like an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.corpora import Evidence, Reading, Source, count_tokens
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
    documents = tuple(Document(source.id, source.text) for source in sources)
    name = f"{reading.id}@{seed}"
    return Case(name, suite, setting, reading.question, reading.answers, documents, evidence)


def _few(reading: Reading, chance: Random) -> tuple[Source, ...]:
    """The gold documents among others drawn by chance, in their order."""
    gold = {evidence.doc for evidence in reading.evidence}
    sizes = {source.id: count_tokens(source.text) for source in reading.sources}
    distractors = [id_ for id_ in sizes if id_ not in gold]
    chance.shuffle(distractors)
    used = sum(sizes[id_] for id_ in gold)
    for id_ in distractors:
        if used + sizes[id_] > SHORT:
            break
        gold.add(id_)
        used += sizes[id_]
    return tuple(source for source in reading.sources if source.id in gold)


def _shortened(reading: Reading, chance: Random) -> tuple[tuple[Source, ...], tuple[Evidence, ...]]:
    """The lines with the evidence among others drawn by chance, in their order."""
    [source] = reading.sources
    lines = source.text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:line])) for line in range(len(lines))]
    gold = {
        at for at, start in enumerate(starts) for one in reading.evidence
        if start < one.end and one.start < start + len(lines[at])
    }  # fmt: skip
    sizes = [count_tokens(line) for line in lines]
    distractors = [line for line in range(len(lines)) if line not in gold]
    chance.shuffle(distractors)
    used = sum(sizes[line] for line in gold)
    for line in distractors:
        if used + sizes[line] <= SHORT:
            gold.add(line)
            used += sizes[line]
    order = sorted(gold)
    moved = {
        line: sum(len(lines[earlier]) for earlier in order if earlier < line) - starts[line]
        for line in order
    }
    evidence = tuple(
        _moved(passage, moved[_line(starts, passage.start)]) for passage in reading.evidence
    )
    text = "".join(lines[line] for line in order)
    return (Source(id=source.id, text=text),), evidence


def _line(starts: list[int], character: int) -> int:
    return max(number for number, start in enumerate(starts) if start <= character)


def _moved(evidence: Evidence, by: int) -> Evidence:
    return Evidence(doc=evidence.doc, start=evidence.start + by, end=evidence.end + by)
