"""The mixture that a run is trained on: labelled questions, cloze questions, generated records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.train.compressor.cloze import cloze
from harness.train.compressor.examples import Example
from harness.train.compressor.generated import MAKERS

Label = Literal[-1, 0, 1]
"""1: answers the question; 0: does not; -1: holds the answer's words without being marked as gold,
left out of the loss."""

PASSAGES = ("nq_oracle", "qed")
"""Sources of short texts; negatives for the others come from these."""
REPEATS = {"wice_dev": 2, "qmsum_val": 3}
"""Questions over long texts come several times: each time other windows of the text."""
CLOZE, GENERATED = 1200, 400
LONGEST = 1200
"""Characters of a sentence or turn that are read."""


@dataclass(frozen=True)
class Labelled:
    """A question over one text, each of its sentences labelled."""

    source: str
    query: str
    sentences: tuple[str, ...]
    labels: tuple[Label, ...]
    answers: tuple[str, ...] = ()


def mixture(examples: Sequence[Example], seed: int) -> list[Labelled]:
    """What is trained on.

    Args:
        examples: none of them held out.
        seed: of what is made here.
    """
    real = [labelled(one) for one in examples]
    short = [one for one in real if one.source in PASSAGES]
    long = [
        one
        for source, times in REPEATS.items()
        for one in [one for one in real if one.source == source] * times
    ]
    texts = [one.sentences for one in real if one.source != "qmsum_val"]
    filler = [s for one in real if one.source == "nq_oracle" for s in one.sentences if len(s) < 200]
    return [
        *short, *long, *cloze_questions(texts, CLOZE, seed), *records(filler, GENERATED, seed),
    ]  # fmt: skip


def labelled(example: Example) -> Labelled:
    """The example with a label for every sentence; those of meetings and claims are complete."""
    sentences = tuple(one[:LONGEST] for one in example.passage.sentences)
    answers = tuple(one for one in example.answers if one)
    labels: tuple[Label, ...] = tuple(
        1 if at in example.gold else -1 if holds(sentence, answers) else 0
        for at, sentence in enumerate(sentences)
    )
    return Labelled(example.passage.source, example.query, sentences, labels, answers)


def cloze_questions(texts: Sequence[tuple[str, ...]], count: int, seed: int) -> list[Labelled]:
    """Questions made from sentences of the texts; the sentence that was asked about is gold."""
    rng = random.Random(f"cloze-{seed}")
    made: list[Labelled] = []
    for _ in range(20 * count):
        if len(made) == count:
            break
        sentences = rng.choice(texts)
        gold = rng.randrange(len(sentences))
        asked = cloze(sentences[gold], rng)
        if asked is not None:
            labels: tuple[Label, ...] = tuple(
                1 if at == gold else -1 if holds(sentence, asked[1:]) else 0
                for at, sentence in enumerate(sentences)
            )
            made.append(Labelled("cloze", asked[0], sentences, labels, asked[1:]))
    return made


def records(filler: Sequence[str], count: int, seed: int) -> list[Labelled]:
    """Needles, keys, chains, rows and log lines, the kinds in turn, some among filler."""
    rng = random.Random(f"generated-{seed}")
    made: list[Labelled] = []
    for number in range(count):
        kind = MAKERS[number % len(MAKERS)]
        query, lines, gold = kind(rng)
        labels: list[Label] = [1 if at in gold else 0 for at in range(len(lines))]
        pairs = list(zip(lines, labels, strict=True))
        if kind.__name__ in ("needle", "chain"):
            for _ in range(rng.randint(2, 7)):
                pairs.insert(rng.randint(0, len(pairs)), (rng.choice(filler), 0))
        sentences, flags = zip(*pairs, strict=True)
        made.append(Labelled(kind.__name__, query, sentences, flags))
    return made


def holds(sentence: str, answers: Sequence[str]) -> bool:
    """Whether an answer stands in the sentence, case ignored."""
    low = sentence.lower()
    return any(answer.lower() in low for answer in answers)
