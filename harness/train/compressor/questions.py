"""Training questions over documents as a critic meets them: among other passages, or in long text.

A short passage is stacked with others, once as five documents (as retrieval hands them over) and
once as one long text of paragraphs; web pages and meetings stand as they are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.rag.compress.types import Query, Unit
from harness.train.compressor.examples import Example

T = TypeVar("T")
SHORT = 20
"""Sentences below which a passage is stacked."""
FEW, MANY, POOL = 4, 40, 300
"""Other passages in a stack, few or many, and how many there are to choose from."""
SIZES = {"nq": 250, "nq long": 150, "qed": 200, "wice": 90, "qmsum": 120}
"""Questions of each source, at most: what a fit of thirty coefficients needs."""


@dataclass(frozen=True)
class Asked:
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


def asked_of(
    examples: Sequence[Example], seed: int = 41, sizes: Mapping[str, int] = SIZES
) -> list[Asked]:
    """Questions over documents, the same ones for the same seed; no negative holds an answer.

    Args:
        examples: of all sources.
        seed: of the draw and of the distractors.
        sizes: source -> questions, at most.
    """
    rng = random.Random(seed)
    found: list[Asked] = []
    for source, label, others in (
        ("nq_oracle", "nq", FEW),
        ("nq_oracle", "nq long", MANY),
        ("qed", "qed", FEW),
    ):
        pool = [one for one in examples if one.passage.source == source]
        short = [one for one in pool if len(one.passage.sentences) < SHORT]
        drawn = rng.sample(short, min(sizes[label], len(short)))
        # A pool of few passages is encoded once.
        near = rng.sample(short, min(POOL, len(short)))
        found += [_stacked(label, one, near, others, rng) for one in drawn]
    for source, label in (("wice_dev", "wice"), ("qmsum_val", "qmsum")):
        own = [one for one in examples if one.passage.source == source]
        found += _whole(label, own, sizes[label], rng)
    return found


def _stacked(
    label: str, example: Example, pool: Sequence[Example], count: int, rng: random.Random
) -> Asked:
    """The passage among `count` others in random order; one document if there are many."""
    answers = [one.casefold() for one in example.answers if one]
    order = rng.sample(pool, len(pool))
    others: list[Example] = []
    for one in order:
        text = " ".join(one.passage.sentences).casefold()
        if one.passage.group != example.passage.group and not any(a in text for a in answers):
            others.append(one)
        if len(others) == count:
            break
    stack = [example, *others]
    rng.shuffle(stack)
    before = sum(len(one.passage.sentences) for one in stack[: stack.index(example)])
    units = units_of([one.passage.sentences for one in stack], joined=count == MANY)
    gold = frozenset(before + at for at in example.gold)
    return Asked(label, example.passage.group, Query("", example.query), tuple(units), gold)


def _whole(label: str, examples: Sequence[Example], count: int, rng: random.Random) -> list[Asked]:
    """Questions over whole documents, drawn in turn from every document."""
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(one.passage.group, []).append(one)
    ordered = in_turn(groups, rng)[:count]
    return [
        Asked(label, one.passage.group, Query("", one.query),
              tuple(units_of([one.passage.sentences], joined=True)), one.gold)
        for one in ordered
    ]  # fmt: skip


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
    place = 0
    for number, sentences in enumerate(passages):
        if not joined:
            place = 0
        for text in sentences:
            doc = "text" if joined else f"passage {number}"
            units.append(Unit(doc, place, place + len(text), text, "sentence"))
            place += len(text) + 1
        place += 1
    return units
