"""Executable skills: functions made from the programs of passing runs."""
