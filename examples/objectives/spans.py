"""Rewards of replies that name spans of time (MUSEG, Luo et al. 2025, section 3), for GRPO.

python -m examples.objectives.spans
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

FORM = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", re.DOTALL)
MOST_CITED = 10
Span = tuple[float, float]
"""Start and end, start <= end; seconds, but any stretch on a line fits: characters, pages."""
_EPSILON = 1e-6
# A span that meets none, to fill up the shorter list.
_FAR: Span = (1e9, 1e9 + 1)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*-\s*(\d+(?:\.\d+)?)")


def read_spans(reply: str) -> list[Span]:
    """The spans between the answer tags of a reply, in order; [] where there are none.

    An answer looks like `<think>…</think><answer>1.5-3.0 7.0-9.0</answer>`.
    """
    answer = re.search(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    pairs = _SPAN.findall(answer[1]) if answer else []
    return [(float(start), float(end)) for start, end in pairs if float(start) <= float(end)]


def global_reward(spans: Sequence[Span], expected: Sequence[Span]) -> float:
    """F1 of covered length, each side's overlapping spans merged first; in [0, 1]."""
    sides = _merged(spans), _merged(expected)
    common = sum(_overlap(span, target) for span in sides[0] for target in sides[1])
    covered = [sum(end - start for start, end in side) for side in sides]
    if common <= 0 or min(covered) <= 0:
        return 0.0
    precision, recall = (common / (length + _EPSILON) for length in covered)
    return 2 * precision * recall / (precision + recall + _EPSILON)


def local_reward(spans: Sequence[Span], expected: Sequence[Span]) -> float:
    """Mean generalised IoU of spans paired in order, brought to [0, 1]; unpaired ones pull down."""
    if not spans:
        return 0.0
    total, pairs = 0.0, list(zip_longest(spans, expected, fillvalue=_FAR))
    for span, target in pairs:
        common = _overlap(span, target)
        union = (span[1] - span[0]) + (target[1] - target[0]) - common
        hull = max(span[1], target[1]) - min(span[0], target[0])
        iou = common / union if union > 0 else 0.0
        total += (1 + iou - (hull - union) / hull) / 2 if hull > 0 else float(span == target)
    return total / len(pairs)


def _overlap(span: Span, target: Span) -> float:
    return max(0.0, min(span[1], target[1]) - max(span[0], target[0]))


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def format_reward(reply: str, *, cited: bool = True) -> float:
    """Score how well a reply keeps to the form: 0, 0.2, 0.6 or 1.

    0 without both tags, 0.2 without a readable span, 0.6 if a bound of a span is not named 1 to 10
    times in the reasoning, else 1.

    Args:
        reply: the whole reply.
        cited: whether bounds must be named in the reasoning (the first training stage).
    """
    form, spans = FORM.fullmatch(reply), read_spans(reply)
    if not form:
        return 0.0
    if not spans:
        return 0.2
    named = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", form[1])]
    bounds = [bound for span in spans for bound in span]
    if cited and not all(1 <= named.count(bound) <= MOST_CITED for bound in bounds):
        return 0.6
    return 1.0


def main() -> None:
    """Print the three rewards of a reply whose second span begins late."""
    reply = "<think>1.5 to 3, then 7 to 9</think><answer>1.5-3 7-9</answer>"
    spans, wanted = read_spans(reply), [(1.5, 3.0), (6.0, 9.0)]
    print(f"form {format_reward(reply):.2f}")
    print(f"overlap of the whole {global_reward(spans, wanted):.2f}")
    print(f"overlap span by span {local_reward(spans, wanted):.2f}")


if __name__ == "__main__":
    main()
