"""The score of RewardBench 2's subset Ties, for judges that rate answers one by one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from harness.core import Value


class TieSample(Value):
    """Ratings of the answers to one prompt, the correct ones first.

    Attributes:
        sample_id: `ref:N` (one correct answer) or `tied:N` (several), N shared by both.
        ratings: one for each answer.
        num_correct: how many stand in front.
    """

    sample_id: str
    ratings: tuple[float, ...]
    num_correct: int


def ties_score(samples: Sequence[TieSample]) -> float:
    """0.3 accuracy(tied) + 0.3 accuracy(ref) + 0.2 P(tied margin > spread) + 0.2 P(min(ref margin,
    tied margin) > spread) + 0.01 tanh of the relative margin, over prompts that have both samples.

    A sample is right if its worst correct answer is above its best wrong one; that difference is
    its margin, and the spread is the range of the correct answers of the tied sample.

    Raises:
        ValueError: without a prompt that has both samples, or for a sample whose answers are all
            right or all wrong.
    """
    accuracy: dict[str, list[bool]] = defaultdict(list)
    margins: dict[str, dict[str, float]] = defaultdict(dict)
    spreads: dict[str, float] = {}
    for sample in samples:
        kind, _, prompt = sample.sample_id.partition(":")
        right, wrong = sample.ratings[: sample.num_correct], sample.ratings[sample.num_correct :]
        if not right or not wrong:
            raise ValueError(f"{sample.sample_id}: expected right answers and wrong ones")
        margin = min(right) - max(wrong)
        accuracy[kind].append(margin > 0)
        margins[prompt][kind] = margin
        if kind == "tied":
            spreads[prompt] = max(right) - min(right)
    both = [prompt for prompt, row in margins.items() if {"ref", "tied"} <= row.keys()]
    if not both:
        raise ValueError("expected a prompt with a ref and a tied sample")
    tied = [margins[prompt]["tied"] for prompt in both]
    least = [min(margins[prompt].values()) for prompt in both]
    spread = [spreads[prompt] for prompt in both]
    wider = [margin > width for margin, width in zip(tied, spread, strict=True)]
    harder = [margin > width for margin, width in zip(least, spread, strict=True)]
    relative = [
        math.tanh(margin / width - 1) if width else 0.0
        for margin, width in zip(least, spread, strict=True)
    ]
    means = [sum(row) / len(row) for row in (accuracy["tied"], accuracy["ref"], wider, harder)]
    weights = (0.3, 0.3, 0.2, 0.2)
    total = sum(weight * mean for weight, mean in zip(weights, means, strict=True))
    return total + 0.01 * sum(relative) / len(relative)
