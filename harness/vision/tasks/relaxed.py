"""Relaxed accuracy of ChartQA (Masry et al. 2022, section 6; after Methani et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence

TOLERANCE = 0.05


def relaxed_match(prediction: str, answers: Sequence[str], tolerance: float = TOLERANCE) -> bool:
    """Numbers within 5 % of an accepted answer, other answers equal but for capitals.

    A percentage is a number divided by 100, on either side. An answer of 0 must be said exactly.

    Args:
        prediction: what was said.
        answers: accepted answers.
        tolerance: relative, of the accepted number.
    """
    return any(_matches(prediction.strip(), answer.strip(), tolerance) for answer in answers)


def _matches(said: str, wanted: str, tolerance: float) -> bool:
    left, right = _number(said), _number(wanted)
    if left is not None and right:
        return abs(left - right) / abs(right) <= tolerance
    return said.lower() == wanted.lower()


def _number(text: str) -> float | None:
    """What Python reads as a number, with a per cent sign allowed; no thousands separators."""
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return None
