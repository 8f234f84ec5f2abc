"""How far the probabilities of a reward model are from what happens, in bins of equal width.

python -m examples.objectives.calibration
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class CalibrationErrors(NamedTuple):
    """Distance of probabilities from the rates of what they predict, in [0, 1].

    Attributes:
        expected: mean gap over the bins, weighted by their rows (ECE).
        average: mean gap over the bins that hold a row (ACE).
        maximum: largest gap (MCE).
    """

    expected: float
    average: float
    maximum: float


def calibration_errors(
    probabilities: Sequence[float], labels: Sequence[bool], bins: int = 10
) -> CalibrationErrors:
    """Gaps between mean probability and share of true labels, in bins of equal width.

    A probability on an edge belongs to the bin below it. MORE (arXiv 2312.07401) reports ECE,
    the script of APO (arXiv 2311.08045) ACE and MCE.

    Args:
        probabilities: in [0, 1], such as that the chosen answer beats the rejected one.
        labels: whether it did.
        bins: how many.

    Raises:
        ValueError: no rows, or a probability outside [0, 1].
    """
    if not probabilities or not all(0 <= probability <= 1 for probability in probabilities):
        raise ValueError(f"expected probabilities in [0, 1], not {list(probabilities)!r:.80}")
    edges = [edge / bins for edge in range(1, bins)]
    binned: dict[int, list[float]] = {}
    for probability, label in zip(probabilities, labels, strict=True):
        binned.setdefault(bisect_left(edges, probability), []).append(probability - label)
    totals = [abs(math.fsum(gaps)) for gaps in binned.values()]
    gaps = [total / len(rows) for total, rows in zip(totals, binned.values(), strict=True)]
    return CalibrationErrors(sum(totals) / len(labels), sum(gaps) / len(gaps), max(gaps))


def main() -> None:
    """Print the errors of five probabilities."""
    probabilities, labels = [0.9, 0.4, 0.6, 0.2, 0.8], [True, False, True, True, False]
    errors = calibration_errors(probabilities, labels, bins=5)
    print(f"ECE {errors.expected:.2f}, ACE {errors.average:.2f}, MCE {errors.maximum:.2f}")


if __name__ == "__main__":
    main()
