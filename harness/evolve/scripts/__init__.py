"""Executable skills: functions made from the programs of passing runs."""

from harness.evolve.scripts.library import TOKENS, write_functions
from harness.evolve.scripts.proving import prover

__all__ = ["TOKENS", "prover", "write_functions"]
