"""MUSEG (arXiv 2505.20715): the reward of cited spans of time, lines, characters, pages or cells.

Needs no torch. A response is `<think>…</think><answer>1.5-3.0 7-9</answer>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[float, float]
# Stands in for a span that the shorter list does not have.
NOWHERE: Span = (1e9, 1e9 + 1)
CITED = 10
_NUMBER = r"\d+(?:\.\d+)?"
_RESPONSE = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", re.DOTALL)
_SPAN = re.compile(rf"\s*({_NUMBER})\s*-\s*({_NUMBER})\s*,?\s*")


@dataclass(frozen=True)
class SpanReward:
    """Parts of a reward: `form` and `whole` and `pairs`, each between 0 and 1.

    Attributes:
        form: 0 without the tags, 0.2 unreadable, 0.6 with a number that was not cited, else 1.
        whole: F1 of the covered length.
        pairs: mean of generalised overlap of first with first, second with second.
    """

    form: float
    whole: float
    pairs: float

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.form + self.whole + self.pairs


def read_spans(text: str) -> list[Span] | None:
    """Spans "start-end", in their order; None where anything else is written or an end is first."""
    spans: list[Span] = []
    place = 0
    while place < len(text):
        match = _SPAN.match(text, place)
        if match is None:
            return None
        spans.append((float(match[1]), float(match[2])))
        place = match.end()
    return spans if spans and all(start <= end for start, end in spans) else None


def united(spans: Sequence[Span]) -> list[Span]:
    """The same points in spans that do not touch, from left to right."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def covered_f1(spans: Sequence[Span], gold: Sequence[Span]) -> float:
    """F1 of the length that both cover; overlapping spans count once."""
    ours, theirs = united(spans), united(gold)
    overlap = sum(max(0.0, min(b, d) - max(a, c)) for a, b in ours for c, d in theirs)
    total = sum(end - start for start, end in (*ours, *theirs))
    return 2 * overlap / total if total else 0.0


def paired_overlap(spans: Sequence[Span], gold: Sequence[Span]) -> float:
    """Mean of (1 + generalised IoU) / 2 (Rezatofighi et al. 2019) of spans in their order.

    The shorter list is filled with a span that is nowhere.
    """
    size = max(len(spans), len(gold))
    if not size:
        return 0.0
    ours = [*spans, *[NOWHERE] * (size - len(spans))]
    theirs = [*gold, *[NOWHERE] * (size - len(gold))]
    values: list[float] = []
    for (a, b), (c, d) in zip(ours, theirs, strict=True):
        overlap, around = max(0.0, min(b, d) - max(a, c)), max(b, d) - min(a, c)
        union = (b - a) + (d - c) - overlap
        share = overlap / union if union else float(a == c)
        gap = (around - union) / around if around else 0.0
        values.append((1 + share - gap) / 2)
    return sum(values) / size


def span_reward(response: str, gold: Sequence[Span], cited: bool = True) -> SpanReward:
    """Reward of a response against the right spans; nothing but form where none can be read.

    Args:
        response: what the model wrote.
        gold: the right spans, in their order.
        cited: whether every number of the answer must stand in the thoughts, once to ten times;
            the paper's first stage.
    """
    parts = _RESPONSE.fullmatch(response)
    if parts is None:
        return SpanReward(0.0, 0.0, 0.0)
    spans = read_spans(parts[2])
    if spans is None:
        return SpanReward(0.2, 0.0, 0.0)
    thoughts = [float(number) for number in re.findall(_NUMBER, parts[1])]
    numbers = {number for span in spans for number in span}
    missing = cited and any(not 1 <= thoughts.count(number) <= CITED for number in numbers)
    form = 0.6 if missing else 1.0
    return SpanReward(form, covered_f1(spans, gold), paired_overlap(spans, gold))
