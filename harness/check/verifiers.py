"""Verifiers by name."""

from __future__ import annotations

from harness.check.rules import RulesVerifier
from harness.check.types import Verifier
from harness.core import BadInput

NAMES = ("auto", "rules")


def open_verifier(name: str) -> Verifier:
    """The verifier of that name.

    Args:
        name: `rules` needs no model at all; `auto` is the best that is installed.

    Raises:
        BadInput: if there is none of that name.
    """
    if name in ("auto", "rules"):
        return RulesVerifier()
    raise BadInput(f"expected a verifier ({', '.join(NAMES)}), got {name!r}")
