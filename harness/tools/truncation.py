"""Observations are cut as in the reference, so that recorded runs compare."""

from __future__ import annotations

LONGEST = 6000
KEPT_EACH_SIDE = 3000


def truncate(text: str) -> str:
    """Keep the first and the last 3,000 of more than 6,000 characters (Trace2Skill, rollouts)."""
    if len(text) <= LONGEST:
        return text
    elided = len(text) - 2 * KEPT_EACH_SIDE
    warning = (
        f"[WARNING: Output truncated. Showing first {KEPT_EACH_SIDE} and last {KEPT_EACH_SIDE} "
        f"characters. {elided} characters elided.]"
    )
    return f"{text[:KEPT_EACH_SIDE]}\n{warning}\n{text[-KEPT_EACH_SIDE:]}"
