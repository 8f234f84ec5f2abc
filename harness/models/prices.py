"""What tokens cost: a table in a file. An unknown price is unknown, never zero."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from harness.core import BadInput, Value
from harness.models.specs import ModelSpec

PRICES_VARIABLE = "HARNESS_PRICES"
_PACKAGED = Path(__file__).with_name("prices.json")


class Price(Value):
    """US dollars per million tokens.

    Attributes:
        input: prompt tokens.
        output: completion tokens.
        cached_input: prompt tokens that the server had cached; None for the price of `input`.
    """

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """US dollars of a call; `cached` counts those of the `prompt` tokens that were cached."""
        cheap = self.input if self.cached_input is None else self.cached_input
        fresh = prompt - cached
        return (fresh * self.input + cached * cheap + completion * self.output) / 1e6


class _Table(Value):
    models: dict[str, Price]
    note: str = ""
    currency: str = "USD"


FREE = Price(input=0.0, output=0.0)


@cache
def _table(path: Path) -> dict[str, Price]:
    try:
        return _Table.model_validate_json(path.read_bytes()).models
    except (OSError, ValidationError) as error:
        raise BadInput(
            f'expected a price table {{"models": {{SPEC: {{"input", "output"}}}}}} at '
            f"{str(path)!r} ({PRICES_VARIABLE}): {error}"
        ) from error


def price_of(spec: ModelSpec, *, official: bool) -> Price | None:
    """The price of a model, None if it is unknown.

    Args:
        spec: the model. What runs on this machine or from a recording costs nothing.
        official: whether it is called at its provider's own endpoint; the packaged table holds
            only there. A table named by `HARNESS_PRICES` holds everywhere.

    Raises:
        BadInput: if the table of `HARNESS_PRICES` cannot be read.
    """
    if spec.kind in ("local", "simulated", "replay"):
        return FREE
    own = os.environ.get(PRICES_VARIABLE)
    if own and (price := _table(Path(own)).get(str(spec))):
        return price
    return _table(_PACKAGED).get(str(spec)) if official else None
