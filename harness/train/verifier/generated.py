"""Claims with labels made by rule from the texts of `compression/train`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from harness.rag.retrieve.sentences import sentence_spans
from harness.train.verifier.corruptions import CHANGING, KEEPING, Context
from harness.train.verifier.sets import Labelled, rows_of
from harness.train.verifier.wordnet import Replacements

TEXTS = ("nq_oracle", "qed")
_WORDS = range(8, 40)


def generated(
    folder: Path, words: Replacements, documents: int, per_document: int, seed: int
) -> Iterator[Labelled]:
    """Claims about the texts; half of them changed by a rule that changes what is said.

    Args:
        folder: `compression/train`.
        words: replacements.
        documents: how many texts.
        per_document: claims on each, an even number.
        seed: of every choice.
    """
    draw = random.Random(seed)
    texts = sorted({row["context"] for name in TEXTS for row in rows_of(folder / f"{name}.jsonl")})
    draw.shuffle(texts)
    split = [[text[a:b] for a, b in sentence_spans(text)] for text in texts[: documents + 1]]
    for at, (text, sentences) in enumerate(zip(texts[:documents], split[:documents], strict=True)):
        usable = [one for one in sentences if len(one.split()) in _WORDS]
        if not usable:
            continue
        context = Context(sentences, split[at + 1], words, draw)
        for number in range(per_document):
            claim = _claim(draw.choice(usable), context, changing=number % 2 == 1)
            if claim:
                yield Labelled("generated", claim[1], text, claim[0] == "", ())


def _claim(sentence: str, context: Context, *, changing: bool) -> tuple[str, str] | None:
    """The rule that changed what is said ("" for none), and the claim."""
    text = sentence
    for _ in range(context.draw.choice([0, 1, 1, 2])):
        _, rule = context.draw.choice(KEEPING)
        text = rule(text, context) or text
    if not changing:
        return "", text
    for name, rule in context.draw.sample(CHANGING, len(CHANGING)):
        found = rule(text, context)
        if found and found != text:
            return name, found
    return None
