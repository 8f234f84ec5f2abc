"""Agent Skill Harness: run agents, study their trajectories, distil and prove one skill.

The programming interface is :mod:`harness.api`; this module exports the version only, so that
importing it costs nothing.
"""

__version__ = "0.1.0"
