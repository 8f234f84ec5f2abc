"""The base of our value types: frozen, closed, JSON in and out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Value(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_fault(error: ValidationError, whole: str = "document") -> str:
    """What does not fit a model, as `field: message`; of many faults the first.

    Args:
        error: of the validation.
        whole: stands for the field where the value itself is at fault.
    """
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc']) or whole}: {first['msg']}"
