"""Reward of a proposer by difficulty: the curves of SSP (section 8) and SPELL (section 19).

`mean` is the share of right attempts. A task that all or none solve teaches nothing, so every curve
but `one_minus` is 0 at both ends; `one_minus` pays most for what nobody solves, which only the
validation before it tells from what nobody can. Rejected proposals earn 0 in SSP: a penalty made
its authors' proposers fall silent.
"""

from __future__ import annotations

import math

from harness.synth.types import Band


def one_minus(mean: float) -> float:
    """SSP: 1 - mean."""
    return 1.0 - mean


def intermediate(mean: float, low: float = 0.0, high: float = 1.0) -> float:
    """SSP: 4 (low + mean) (high - mean) between 0 and 1, and 0 at both."""
    return 4 * (low + mean) * (high - mean) if 0 < mean < 1 else 0.0


def gaussian(mean: float) -> float:
    """SPELL: exp(-(mean - 1/2)^2 / (2 sigma^2)) with sigma = 1/6; 0 where all or none are right."""
    return math.exp(-((mean - 0.5) ** 2) / (2 * (1 / 6) ** 2)) if 0 < mean < 1 else 0.0


ONE_MINUS = Band(one_minus)
INTERMEDIATE = Band(intermediate)
GAUSSIAN = Band(gaussian, {"spell": -1.0, "grounded": -0.5})
"""With SPELL's penalties: an unreadable question, and one answered without the documents."""
