"""Redaction of whole trajectories."""

from __future__ import annotations

from pydantic import JsonValue

from harness.core import Trajectory
from harness.core.redaction import find_secrets, redact
from harness.trajectories.store import dump


def redact_trajectory(trajectory: Trajectory) -> tuple[Trajectory, int]:
    """Replace secrets in every text of a trajectory.

    Returns:
        The trajectory and the number of secrets replaced. With 0 it is the very object that came
        in, so that an exact export stays exact; otherwise `extra.harness.redactions` counts them.
    """
    document, count = _redact(dump(trajectory))
    if not count:
        return trajectory, 0
    clean = Trajectory.model_validate(document)
    harness: dict[str, JsonValue] = {**clean.harness, "redactions": count}
    return clean.model_copy(update={"extra": {**(clean.extra or {}), "harness": harness}}), count


def _redact(value: JsonValue) -> tuple[JsonValue, int]:
    if isinstance(value, str):
        count = len(find_secrets(value))
        return (redact(value) if count else value), count
    if isinstance(value, list):
        parts = [_redact(item) for item in value]
        return [part for part, _ in parts], sum(count for _, count in parts)
    if isinstance(value, dict):
        items = {key: _redact(item) for key, item in value.items()}
        return (
            {key: item for key, (item, _) in items.items()},
            sum(count for _, count in items.values()),
        )
    return value, 0
