"""Evals of the wing."""
