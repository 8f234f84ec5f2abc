"""Executable skills: functions made from programs that passed, proven on train tasks."""

from harness.evolve.scripts.proving import write_functions

__all__ = ["write_functions"]
