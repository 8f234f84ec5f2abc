"""What else could be done with the same trajectories, measured on the same tasks."""

from __future__ import annotations

from harness.evolve.baselines.run import make, run_baselines
from harness.evolve.baselines.types import NAMES, Baseline, BaselineName, BaselineRow, Ground

__all__ = ["NAMES", "Baseline", "BaselineName", "BaselineRow", "Ground", "make", "run_baselines"]
