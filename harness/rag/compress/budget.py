"""How much is kept: tokens, a share of the input, or a recall target."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core import BadInput


@dataclass(frozen=True)
class Budget:
    """Exactly one of three.

    Attributes:
        tokens: most tokens of the result, markers included; 1 or more.
        ratio: most tokens of the result as a share of the input's, above 0 to 1. The markers of a
            text that was compressed before count with what they stand for, so that the same
            share asked again changes nothing.
        recall: share of the evidence to keep, above 0 to 1, with a critic that is calibrated.

    Raises:
        BadInput: if none or several are given, or a value is out of range.
    """

    tokens: int | None = None
    ratio: float | None = None
    recall: float | None = None

    def __post_init__(self) -> None:
        given = {k: v for k, v in vars(self).items() if v is not None}
        if len(given) != 1:
            raise BadInput(f"expected one of budget (tokens), ratio and recall, got {given!r}")
        if self.tokens is not None and self.tokens < 1:
            raise BadInput(f"expected a budget of 1 token or more, got {self.tokens}")
        for name in ("ratio", "recall"):
            value = given.get(name)
            if value is not None and not 0 < value <= 1:
                raise BadInput(f"expected a {name} above 0 and up to 1, got {value!r}")

    def limit(self, input_tokens: int) -> int:
        """Most tokens of the result; no bound that counts for a recall target."""
        if self.tokens is not None:
            return self.tokens
        if self.ratio is not None:
            return int(self.ratio * input_tokens)
        return 2 * input_tokens + 100  # markers may lengthen it: then the input stays as it is
