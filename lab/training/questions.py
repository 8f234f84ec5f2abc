"""Questions over documents as a critic meets them, from files of labelled extracts.

A short passage is stacked with others, once as five documents (as retrieval hands them over) and
once as one long text of paragraphs; web pages and meetings stand as they are.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.core import BadInput, grouped, read_rows
from harness.rag.compress import Query, Unit
from harness.rag.retrieve import sentence_spans

T = TypeVar("T")
FILES = ("nq_oracle.jsonl", "qed.jsonl", "wice_dev.jsonl", "qmsum_val.jsonl")
SHORT = 20  # sentences below which a passage is stacked, as what was retrieved is
# Other passages in a stack, few or many, and how many there are to choose from.
FEW, MANY, POOL = 4, 40, 300
# Questions of each source, at most: enough for a fit of thirty coefficients.
SIZES = {"nq": 250, "nq long": 150, "qed": 200, "wice": 90, "qmsum": 120}


@dataclass(frozen=True)
class Passage:
    """Sentences in their order.

    Attributes:
        source: name of the file, without its ending.
        group: its question or its document.
        sentences: verbatim.
    """

    source: str
    group: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A question (or claim), a passage, and the numbers of the sentences that answer it.

    Attributes:
        answers: texts of the answer, "" where the source has none; a distractor holds none of them.
    """

    query: str
    passage: Passage
    gold: frozenset[int]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question over units.

    Attributes:
        source: of the question; a stack of many passages is a source of its own.
        group: of its passage.
        gold: places of the units that answer.
    """

    source: str
    group: str
    query: Query
    units: tuple[Unit, ...]
    gold: frozenset[int]


def read_examples(folder: Path) -> list[Example]:
    """All examples of the files in `folder`, in their order.

    Raises:
        BadInput: if a file is missing or a row cannot be read.
    """
    examples: list[Example] = []
    for name in FILES:
        path = folder / name
        reader = {"wice_dev": _claim, "qmsum_val": _meeting}.get(path.stem, _question)
        for number, row in read_rows(path):
            try:
                examples += reader(path.stem, row)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(f"{path}:{number}: no labelled extract: {error!r}") from error
    return examples


def stacked_questions(
    examples: Sequence[Example], seed: int = 41, sizes: Mapping[str, int] = SIZES
) -> list[Question]:
    """Questions over documents, the same ones for the same seed; no distractor holds an answer.

    Args:
        examples: of all sources.
        seed: of the draw and of the distractors.
        sizes: source -> questions, at most.
    """
    rng = random.Random(seed)
    questions: list[Question] = []
    for source, label, count in (
        ("nq_oracle", "nq", FEW),
        ("nq_oracle", "nq long", MANY),
        ("qed", "qed", FEW),
    ):
        short = [
            example
            for example in examples
            if example.passage.source == source and len(example.passage.sentences) < SHORT
        ]
        drawn = rng.sample(short, min(sizes[label], len(short)))
        # A pool of few passages is encoded once.
        near = rng.sample(short, min(POOL, len(short)))
        questions += [_stacked(label, example, near, count, rng) for example in drawn]
    for source, label in (("wice_dev", "wice"), ("qmsum_val", "qmsum")):
        groups = grouped(
            (example.passage.group, example)
            for example in examples
            if example.passage.source == source
        )
        for example in in_turn(groups, rng)[: sizes[label]]:
            questions.append(_asked(label, example, [example], joined=True))
    return questions


def in_turn(groups: Mapping[str, Sequence[T]], rng: random.Random) -> list[T]:
    """Members of all groups: the first of each, groups in random order, then every second …"""
    names = sorted(groups)
    rng.shuffle(names)
    deepest = max(map(len, groups.values()), default=0)
    return [
        groups[name][depth]
        for depth in range(deepest)
        for name in names
        if depth < len(groups[name])
    ]


def units_of(passages: Sequence[Sequence[str]], *, joined: bool) -> list[Unit]:
    """Units of passages, each a document of its own or a paragraph of one."""
    units: list[Unit] = []
    offset = 0
    for number, sentences in enumerate(passages):
        if not joined:
            offset = 0
        for text in sentences:
            doc = "text" if joined else f"passage {number}"
            units.append(Unit(doc, offset, offset + len(text), text, "sentence"))
            offset += len(text) + 1
        offset += 1
    return units


def _stacked(
    label: str, example: Example, pool: Sequence[Example], count: int, rng: random.Random
) -> Question:
    """The passage among `count` others in random order; one document if there are many."""
    answers = [answer.casefold() for answer in example.answers if answer]
    stack = [example]
    for candidate in rng.sample(pool, len(pool)):
        text = " ".join(candidate.passage.sentences).casefold()
        same_group = candidate.passage.group == example.passage.group
        if not same_group and not any(answer in text for answer in answers):
            stack.append(candidate)
        if len(stack) > count:
            break
    rng.shuffle(stack)
    return _asked(label, example, stack, joined=count == MANY)


def _asked(source: str, example: Example, stack: Sequence[Example], *, joined: bool) -> Question:
    """The example's question over the passages of a stack, its own among them."""
    index = next(number for number, member in enumerate(stack) if member is example)
    before = sum(len(member.passage.sentences) for member in stack[:index])
    units = units_of([member.passage.sentences for member in stack], joined=joined)
    gold = frozenset(before + index for index in example.gold)
    return Question(source, example.passage.group, Query("", example.query), tuple(units), gold)


def _question(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """A question over a short passage; gold are the sentences that its spans touch."""
    text: str = row["context"]
    starts: list[int] | None = row.get("sentence_starts")
    spans = sentence_spans(text)
    if starts:
        spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    gold = _touched(spans, row["spans"])
    if gold:
        passage = Passage(source, row["query"].casefold(), _texts(text, spans))
        yield Example(row["query"], passage, gold, tuple(row["answers"]))


def _claim(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """A claim over a web page; gold is the union of the sets of supporting sentences."""
    gold = frozenset(int(n) for group in row["supporting_sentences"] for n in group)
    if gold:
        sentences = tuple(row["evidence"])
        group = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
        yield Example(row["claim"], Passage(source, group, sentences), gold)


def _meeting(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """Questions over a meeting; gold are the turns of each question."""
    text: str = row["context"]
    turns = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    passage = Passage(source, row["id"], _texts(text, turns))
    for question in row["queries"]:
        if gold := _touched(turns, question["spans"]):
            yield Example(question["query"], passage, gold)


def _touched(spans: Sequence[tuple[int, int]], gold: Sequence[Sequence[int]]) -> frozenset[int]:
    return frozenset(
        number
        for number, (start, end) in enumerate(spans)
        if any(a < end and start < b for a, b in gold)
    )


def _texts(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(text[start:end].strip() for start, end in spans)
