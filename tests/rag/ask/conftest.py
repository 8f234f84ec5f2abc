"""Fixtures of the tests of answering: those of agents, which run the graphs."""

from tests.agents.conftest import environment

__all__ = ["environment"]
