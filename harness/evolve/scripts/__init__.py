"""Executable skills: functions made from the programs of passing runs."""

from harness.evolve.scripts.library import write_functions
from harness.evolve.scripts.proving import prover

__all__ = ["prover", "write_functions"]
