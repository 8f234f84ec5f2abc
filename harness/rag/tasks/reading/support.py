"""Whether an answer rests on the right facts: support F1 of HotpotQA, and of cited stretches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

from harness.corpora.reading import Evidence
from harness.rag.tasks.reading.squad import Overlap

FactT = TypeVar("FactT")
_CITATION = re.compile(r"\[([^\[\]\n]+?):(\d+)-(\d+)\]")
_TRAILER = re.compile(r"\s*(?:citations?|sources?|evidence)\s*:?\s*$", re.IGNORECASE)


class Support(NamedTuple):
    """Agreement of the facts given with the gold facts, each in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


def support(given: AbstractSet[FactT], gold: AbstractSet[FactT]) -> Support:
    """Agreement of sets of facts, such as (title, number of the sentence) (HotpotQA, section 5)."""
    hits = len(given & gold)
    precision = hits / len(given) if given else 0.0
    recall = hits / len(gold) if gold else 0.0
    return Support(float(given == gold), _harmonic(precision, recall), precision, recall)


def joint(answer: Overlap, answer_em: bool, facts: Support) -> tuple[float, float]:
    """Joint EM and joint F1 of one question (HotpotQA, section 5)."""
    precision, recall = answer.precision * facts.precision, answer.recall * facts.recall
    return float(answer_em) * facts.em, _harmonic(precision, recall)


def cited_support(cited: Sequence[Evidence], gold: Sequence[Evidence]) -> Support:
    """Agreement of cited stretches with gold evidence; a stretch fits what it overlaps.

    Args:
        cited: what the answer cites; stretches of any length, so read precision beside their size.
        gold: the evidence.
    """
    right = sum(any(map(one.overlaps, gold)) for one in cited)
    found = sum(any(map(one.overlaps, cited)) for one in gold)
    precision = right / len(cited) if cited else 0.0
    recall = found / len(gold) if gold else 0.0
    return Support(
        float(precision == recall == 1.0), _harmonic(precision, recall), precision, recall
    )


def split_citations(answer: str) -> tuple[str, list[Evidence]]:
    """The answer without its citations `[document:start-end]`, and what they cite, each once."""
    found = [
        Evidence(doc=doc.strip(), start=int(start), end=int(end))
        for doc, start, end in _CITATION.findall(answer)
        if int(start) < int(end)
    ]
    lines = [_TRAILER.sub("", _CITATION.sub("", line)).rstrip(" ,;") for line in answer.split("\n")]
    return "\n".join(line for line in lines if line.strip()).strip(), list(dict.fromkeys(found))


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
