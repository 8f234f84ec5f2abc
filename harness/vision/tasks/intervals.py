"""Rewards for spans of time named in an answer (MUSEG, Luo et al. 2025, section 3).

An answer looks like `<think>…</think><answer>1.5-3.0 7.0-9.0</answer>`. The same measure fits any
stretches on a line: characters, lines, pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Span = tuple[float, float]
"""Start and end, start <= end."""
_EPSILON = 1e-6
_FAR: Span = (1e9, 1e9 + 1)
"""A span that meets none, to fill up the shorter list."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FORM = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", re.DOTALL)
_MOST_CITED = 10


def read_spans(reply: str) -> list[Span]:
    """The spans between the answer tags of a reply, in order; [] where there are none."""
    found = re.search(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    pairs = _SPAN.findall(found[1]) if found else []
    return [(float(start), float(end)) for start, end in pairs if float(start) <= float(end)]


def format_reward(reply: str, *, cited: bool = True) -> float:
    """How well a reply keeps to the form: 0, 0.2, 0.6 or 1.

    0 without both tags, 0.2 without a readable span, 0.6 if a bound of a span is not named 1 to 10
    times in the reasoning, else 1.

    Args:
        reply: the whole reply.
        cited: whether bounds must be named in the reasoning (the first training stage).
    """
    found = _FORM.fullmatch(reply)
    if not found:
        return 0.0
    if not (spans := read_spans(reply)):
        return 0.2
    named = [float(one) for one in _NUMBER.findall(found[1])]
    bounds = [bound for span in spans for bound in span]
    if cited and not all(1 <= named.count(bound) <= _MOST_CITED for bound in bounds):
        return 0.6
    return 1.0


def global_reward(given: Sequence[Span], wanted: Sequence[Span]) -> float:
    """F1 of covered length, each side's overlapping spans merged first; in [0, 1]."""
    left, right = _merged(given), _merged(wanted)
    common = sum(_overlap(one, other) for one in left for other in right)
    lengths = sum(end - start for start, end in left), sum(end - start for start, end in right)
    if common <= 0 or min(lengths) <= 0:
        return 0.0
    precision, recall = common / (lengths[0] + _EPSILON), common / (lengths[1] + _EPSILON)
    return 2 * precision * recall / (precision + recall + _EPSILON)


def local_reward(given: Sequence[Span], wanted: Sequence[Span]) -> float:
    """Mean generalised IoU of spans paired in order, brought to [0, 1]; unpaired ones pull down."""
    if not given:
        return 0.0
    count = max(len(given), len(wanted))
    left = [*given, *[_FAR] * (count - len(given))]
    right = [*wanted, *[_FAR] * (count - len(wanted))]
    return sum(map(_generalised, left, right)) / count


def _generalised(left: Span, right: Span) -> float:
    common = _overlap(left, right)
    union = (left[1] - left[0]) + (right[1] - right[0]) - common
    hull = max(left[1], right[1]) - min(left[0], right[0])
    if hull <= 0:
        return float(left == right)
    iou = common / union if union > 0 else 0.0
    return (1 + iou - (hull - union) / hull) / 2


def _overlap(left: Span, right: Span) -> float:
    return max(0.0, min(left[1], right[1]) - max(left[0], right[0]))


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
