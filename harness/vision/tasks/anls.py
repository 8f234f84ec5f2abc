"""ANLS, the measure of DocVQA and InfographicVQA (Biten et al. 2019; Mathew et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

THRESHOLD = 0.5
"""A similarity below it counts nothing. At it, an answer also counts as right (Trace2Skill)."""


def anls(prediction: str, answers: Sequence[str]) -> float:
    """Normalised Levenshtein similarity with the nearest accepted answer; 0 below 0.5.

    Capitals and runs of spaces do not count, as in the official script.

    Args:
        prediction: what was said.
        answers: accepted answers, at least one.

    Returns:
        A value in [0, 1] that is 0 or at least 0.5.
    """
    return max(_similarity(_plain(prediction), _plain(answer)) for answer in answers)


def edit_distance(left: str, right: str) -> int:
    """Fewest insertions, deletions and replacements of characters that make one the other."""
    if len(left) < len(right):
        left, right = right, left
    before = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            cost = before[column - 1] + (one != other)
            now.append(min(cost, before[column] + 1, now[-1] + 1))
        before = now
    return before[-1]


def _similarity(said: str, wanted: str) -> float:
    longest = max(len(said), len(wanted))
    if not longest:
        return 1.0
    if min(len(said), len(wanted)) / longest < THRESHOLD:
        return 0.0  # the lengths alone differ by more than half
    value = 1 - edit_distance(said, wanted) / longest
    return value if value >= THRESHOLD else 0.0


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
