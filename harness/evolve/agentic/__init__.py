"""The agentic error analyst, whose fix the harness proves on clean and perturbed inputs."""

from __future__ import annotations

from harness.evolve.agentic.analyst import analyse_failure
from harness.evolve.agentic.proof import prove, trials
from harness.evolve.agentic.trial import Trial

__all__ = ["Trial", "analyse_failure", "prove", "trials"]
