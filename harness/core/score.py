"""How an answer was judged. `invalid` is never scored as wrong and never as right."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from harness.core.values import Value

Outcome = Literal["pass", "fail", "invalid"]


class Score(Value):
    """A judgement of one answer.

    Attributes:
        outcome: pass, fail, or invalid (model unreachable, unparsable, limit reached, ...).
        value: soft score in [0, 1]; 0.0 for invalid, which no mean may include.
        reason: one sentence a person can act on.
        detail: what the scorer wants kept (per-cell differences, per-range results, ...).
    """

    outcome: Outcome
    value: float = Field(ge=0.0, le=1.0)
    reason: str = ""
    detail: dict[str, JsonValue] = {}


def passed(reason: str = "", value: float = 1.0, **detail: JsonValue) -> Score:
    """A pass."""
    return Score(outcome="pass", value=value, reason=reason, detail=detail)


def failed(reason: str, value: float = 0.0, **detail: JsonValue) -> Score:
    """A fail."""
    return Score(outcome="fail", value=value, reason=reason, detail=detail)


def invalid(reason: str, **detail: JsonValue) -> Score:
    """An outcome that says nothing about the answer."""
    return Score(outcome="invalid", value=0.0, reason=reason, detail=detail)
