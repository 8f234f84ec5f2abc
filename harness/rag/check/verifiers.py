"""Verifiers by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from harness.core import BadInput
from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import Verifier

NAMES = ("auto", "rules", "trained")
_WEIGHTS = Path(__file__).parent / "weights" / "classifier.json"


def open_verifier(name: str) -> Verifier:
    """The verifier of that name.

    Args:
        name: `rules` needs no model at all; `trained` adds the packaged classifier and encoder;
            `auto` is `trained` where those are installed, else `rules`.

    Raises:
        BadInput: if there is none of that name, or its weights are not there.
    """
    if name not in NAMES:
        raise BadInput(f"expected a verifier ({', '.join(NAMES)}), got {name!r}")
    if name == "trained" and not _WEIGHTS.is_file():
        raise BadInput(f"no trained classifier at {_WEIGHTS}: train one, or use 'rules'")
    installed = _WEIGHTS.is_file() and find_spec("sentence_transformers") is not None
    if name == "trained" or (name == "auto" and installed):
        from harness.rag.check.verify import TrainedVerifier

        return TrainedVerifier()
    return RulesVerifier()
