"""The dossier: long documents (manuals, minutes, logs) with questions of one place and of two.

Documents have 8,000 to 16,000 tokens of the packaged tokenizer. No document is in two splits, and
the last wording of every fact and question comes in test only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from harness.core import Task
from harness.corpora import Reading, Source, check_limit, write_readings
from lab.corpora.dossier import manual, minutes, watch
from lab.corpora.dossier.page import Page, Wording, pad, render

# Documents of each kind in a split.
DOCUMENTS = {"train": 1, "selection": 1, "test": 2}
# Questions about a document: half of one place, half of two.
QUESTIONS = 20
TOKENS = (8_200, 15_500)
SEED = 20261121


class Kind(NamedTuple):
    """Kind of documents: how they are drawn up, and what fills them."""

    page: Callable[[Wording, int], Page]
    small_talk: Callable[[Random], str]


KINDS = {
    "manual": Kind(manual.manual, manual.small_talk),
    "minutes": Kind(minutes.minutes, minutes.small_talk),
    "log": Kind(watch.watch, watch.small_talk),
}
SIZES = {split: count * len(KINDS) * QUESTIONS for split, count in DOCUMENTS.items()}


def write_split(split: str, out: Path, limit: int | None = None, seed: int = SEED) -> list[Task]:
    """Write `<split>.jsonl` and its documents; the same bytes every time.

    Args:
        split: train, selection or test.
        out: folder.
        limit: only so many questions; kinds and numbers of places take turns.
        seed: another seed gives other documents.

    Raises:
        BadInput: if `limit` is below 1, or the folder cannot be written.
    """
    check_limit(limit)
    return write_readings(dossier_readings(split, seed)[:limit], out, split)


def dossier_readings(split: str, seed: int = SEED) -> list[Reading]:
    """The questions of a split, documents in turn, one place and two places in turn.

    Args:
        split: train, selection or test.
        seed: another seed gives other documents.
    """
    by_document = [
        _readings(kind, number, split, seed) for number in range(DOCUMENTS[split]) for kind in KINDS
    ]
    return [reading for turn in zip(*by_document, strict=True) for reading in turn]


def _readings(kind: str, number: int, split: str, seed: int) -> list[Reading]:
    chance = Random(f"dossier:{seed}:{split}:{kind}:{number}")
    # Years of documents differ by their number: those of the splits must not meet.
    page_number = number + list(DOCUMENTS).index(split) * 2
    page = KINDS[kind].page(Wording(chance, split == "test"), page_number)
    tokens = chance.randint(*TOKENS)
    pad(page, tokens, lambda: KINDS[kind].small_talk(chance), chance)
    doc = f"{kind}.txt"
    text, evidence_of = render(page, doc, chance)
    source = Source(id=doc, text=text)
    # As many of one place as of two, in turn.
    by_places = (
        [question for question in page.questions if len(question.facts) == count]
        for count in (1, 2)
    )
    pairs = zip(*(chance.sample(pool, QUESTIONS // 2) for pool in by_places), strict=True)
    return [
        Reading(
            id=f"dossier-{split}-{kind}-{number}-{index:02}",
            family="longdoc",
            question=question.text,
            answers=question.answers,
            metric="em",
            sources=(source,),
            evidence=tuple(evidence_of[fact] for fact in question.facts),
            meta={"stratum": f"{kind}, {'one place' if index % 2 == 0 else 'two places'}"},
        )
        for index, question in enumerate(question for pair in pairs for question in pair)
    ]
