"""The numeric engine: values in any form, whether two agree, what can be computed from cells."""

from __future__ import annotations

from harness.check.numbers.comparing import agreement, equal
from harness.check.numbers.normalise import normalise
from harness.check.numbers.reading import read, read_one
from harness.check.numbers.types import Agreement, Bound, Mention, Period, Quantity

__all__ = [
    "Agreement",
    "Bound",
    "Mention",
    "Period",
    "Quantity",
    "agreement",
    "equal",
    "normalise",
    "read",
    "read_one",
]
