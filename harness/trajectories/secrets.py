"""Redaction of whole trajectories."""

from __future__ import annotations

from pydantic import JsonValue

from harness.core import Trajectory
from harness.core.redaction import Redactor
from harness.trajectories.store import dump


def redact_trajectory(trajectory: Trajectory) -> tuple[Trajectory, int]:
    """Replace secrets in every text of a trajectory.

    Returns:
        The trajectory and the number of secrets replaced. With 0 it is the very object that came
        in, so that an exact export stays exact; otherwise `extra.harness.redactions` counts them.
    """
    redactor = Redactor()
    document = redactor.clean(dump(trajectory))
    count = redactor.counts.total()
    if not count:
        return trajectory, 0
    clean = Trajectory.model_validate(document)
    harness: dict[str, JsonValue] = {**clean.harness, "redactions": count}
    return clean.model_copy(update={"extra": {**(clean.extra or {}), "harness": harness}}), count
