"""Exact match and token F1, to the letter of the official scripts.

SQuAD (Rajpurkar et al. 2016, section 6.1) and SQuAD 2.0 for answers of which nothing is left;
HotpotQA and 2WikiMultihopQA add that yes, no and noanswer earn nothing by overlap.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
CLOSED = frozenset({"yes", "no", "noanswer"})


class Overlap(NamedTuple):
    """Agreement of a prediction with an answer, each in [0, 1]."""

    f1: float
    precision: float
    recall: float


def official_normal(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single spaces; may become empty."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, answers: Sequence[str]) -> bool:
    """Whether the prediction is one of the accepted answers, normalised."""
    said = official_normal(prediction)
    return any(said == official_normal(answer) for answer in answers)


def overlap(prediction: str, answer: str, *, closed: bool = False) -> Overlap:
    """Token overlap with one answer.

    Args:
        prediction: what was said.
        answer: what is right.
        closed: the HotpotQA rule: yes, no and noanswer must be equal to count.
    """
    said, right = official_normal(prediction), official_normal(answer)
    if closed and said != right and CLOSED & {said, right}:
        return Overlap(0.0, 0.0, 0.0)
    left, wanted = said.split(), right.split()
    if not left or not wanted:
        same = 0.0 if closed else float(left == wanted)
        return Overlap(same, same, same)
    common = sum((Counter(left) & Counter(wanted)).values())
    if common == 0:
        return Overlap(0.0, 0.0, 0.0)
    precision, recall = common / len(left), common / len(wanted)
    return Overlap(2 * precision * recall / (precision + recall), precision, recall)


def best_overlap(prediction: str, answers: Sequence[str], *, closed: bool = False) -> Overlap:
    """The overlap with the accepted answer that fits best."""
    return max(overlap(prediction, answer, closed=closed) for answer in answers)
