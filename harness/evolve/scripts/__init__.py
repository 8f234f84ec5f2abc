"""Executable skills: functions made from programs that passed, proven on train tasks."""

from harness.evolve.scripts.proving import judged, write_functions

__all__ = ["judged", "write_functions"]
