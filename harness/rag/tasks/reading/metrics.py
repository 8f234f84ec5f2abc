"""Metrics of answers, to the letter of the official scripts.

Exact match and token F1: SQuAD (Rajpurkar et al. 2016, section 6.1) and SQuAD 2.0 for answers of
which nothing is left; HotpotQA and 2WikiMultihopQA add that yes, no and noanswer earn nothing by
overlap. ROUGE (Lin 2004) by the package `rouge-score`, which reproduces the original Perl script.
Answers that are looked for in a reply: RULER, yes and no, LongBench's counts and classes. Support:
whether an answer rests on the right facts, by HotpotQA, and by cited stretches.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple, TypeVar

from harness.core import require
from harness.corpora import Evidence

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
    """Return True if the prediction is one of the accepted answers, normalised."""
    normal = official_normal(prediction)
    return any(normal == official_normal(answer) for answer in answers)


def overlap(prediction: str, answer: str, *, closed: bool = False) -> Overlap:
    """Token overlap with one answer.

    Args:
        prediction: what was said.
        answer: what is right.
        closed: the HotpotQA rule: yes, no and noanswer must be equal to count.
    """
    normal, right = official_normal(prediction), official_normal(answer)
    if closed and normal != right and CLOSED & {normal, right}:
        return Overlap(0.0, 0.0, 0.0)
    words, right_words = normal.split(), right.split()
    if not words or not right_words:
        same = 0.0 if closed else float(words == right_words)
        return Overlap(same, same, same)
    common = (Counter(words) & Counter(right_words)).total()
    precision, recall = common / len(words), common / len(right_words)
    return Overlap(_harmonic(precision, recall), precision, recall)


def best_overlap(prediction: str, answers: Sequence[str], *, closed: bool = False) -> Overlap:
    """The overlap with the accepted answer that fits best."""
    return max(overlap(prediction, answer, closed=closed) for answer in answers)


KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge(prediction: str, answers: Sequence[str], *, stemmer: bool = True) -> dict[str, float]:
    """F-measure of every kind with the accepted answer that fits best, kind by kind.

    `geometric` is the geometric mean of ROUGE-1, -2 and -L (SCROLLS, section 4; L-Eval).

    Args:
        prediction: what was said.
        answers: references.
        stemmer: whether words are compared by their stems (Porter); L-Eval does not.

    Raises:
        BadInput: if rouge-score is not installed.
    """
    scores = _rouge_scorer(stemmer).score_multi(list(answers), prediction)
    values = {kind: float(scores[kind].fmeasure) for kind in KINDS}
    product = values["rouge1"] * values["rouge2"] * values["rougeL"]
    return {**values, "geometric": product ** (1 / 3)}


@cache
def _rouge_scorer(stemmer: bool) -> Any:
    module = require("rouge_score.rouge_scorer", "ROUGE needs rouge-score", "rouge-score")
    return module.RougeScorer(list(KINDS), use_stemmer=stemmer)


_CONTROL = re.compile(r"[\x00-\x1f]")
_YES_NO = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)


def match_all(reply: str, answers: Sequence[str]) -> float:
    """Share of the answers that stand in the reply, in any case (RULER, string_match_all)."""
    text = _CONTROL.sub("\n", reply).lower()
    return sum(answer.lower() in text for answer in answers) / len(answers)


def match_part(reply: str, answers: Sequence[str]) -> float:
    """1 if any of the answers stands in the reply, in any case (RULER, string_match_part)."""
    text = _CONTROL.sub("\n", reply).lower()
    return float(any(answer.lower() in text for answer in answers))


def yes_or_no(reply: str) -> bool | None:
    """Read the first yes, no, true or false of a reply; None without one."""
    match = _YES_NO.search(reply)
    return None if match is None else match[1].lower() in ("yes", "true")


def match_numbers(reply: str, answer: str) -> float:
    """Share of the numbers in the reply that are the answer's (LongBench, count and retrieval)."""
    right, numbers = re.findall(r"\d+", answer), re.findall(r"\d+", reply)
    return numbers.count(right[0]) / len(numbers) if numbers and right else 0.0


def match_classes(reply: str, answer: str, classes: Sequence[str]) -> float:
    """1 over the number of classes that a reply names, if the right one is among them.

    Classes that are a part of the right class's name do not count (LongBench, classification).
    """
    matches = [name for name in classes if name in reply and (name == answer or name not in answer)]
    return 1 / len(matches) if answer in matches else 0.0


FactT = TypeVar("FactT")
_CITATION = re.compile(r"\[([^\[\]\n]+?):(\d+)-(\d+)\]")
_TRAILER = re.compile(r"\s*(?:citations?|sources?|evidence)\s*:?\s*$", re.IGNORECASE)


class Support(NamedTuple):
    """Agreement of facts with the gold facts, each in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


def support(predicted: AbstractSet[FactT], gold: AbstractSet[FactT]) -> Support:
    """Agreement of sets of facts, such as (title, number of the sentence) (HotpotQA, section 5)."""
    hits = len(predicted & gold)
    precision = hits / len(predicted) if predicted else 0.0
    recall = hits / len(gold) if gold else 0.0
    return Support(float(predicted == gold), _harmonic(precision, recall), precision, recall)


def joint(answer: Overlap, answer_em: bool, supported: Support) -> tuple[float, float]:
    """Joint EM and joint F1 of one question (HotpotQA, section 5)."""
    precision, recall = answer.precision * supported.precision, answer.recall * supported.recall
    return float(answer_em) * supported.em, _harmonic(precision, recall)


def cited_support(cited: Sequence[Evidence], gold: Sequence[Evidence]) -> Support:
    """Agreement of cited stretches with gold evidence; a stretch fits what it overlaps.

    Args:
        cited: what the answer cites; stretches of any length, so read precision beside their size.
        gold: the evidence.
    """
    right = sum(any(map(stretch.overlaps, gold)) for stretch in cited)
    covered = sum(any(map(stretch.overlaps, cited)) for stretch in gold)
    precision = right / len(cited) if cited else 0.0
    recall = covered / len(gold) if gold else 0.0
    return Support(
        float(precision == recall == 1.0), _harmonic(precision, recall), precision, recall
    )


def split_citations(answer: str) -> tuple[str, list[Evidence]]:
    """The answer without its citations `[document:start-end]`, and what they cite, each once."""
    stretches = [
        Evidence(doc=doc.strip(), start=int(start), end=int(end))
        for doc, start, end in _CITATION.findall(answer)
        if int(start) < int(end)
    ]
    lines = [_TRAILER.sub("", _CITATION.sub("", line)).rstrip(" ,;") for line in answer.split("\n")]
    return "\n".join(line for line in lines if line.strip()).strip(), list(dict.fromkeys(stretches))


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
