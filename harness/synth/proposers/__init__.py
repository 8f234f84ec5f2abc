"""Proposers: who writes the tasks of each kind."""
