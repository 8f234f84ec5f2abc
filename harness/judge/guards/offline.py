"""The guard of machines without a guard model: a linear head on sentence embeddings.

It knows what XSTest's harmful prompts are about, and no more: it finds about half of them, and was
not trained on responses. `benchmarks/judge/offline_guard.py` has its error on both, beside that of
a word list; `lab/training/guard_head.py` trained it.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

from harness.core import BadInput, Value, read_json
from harness.core.plugins import load
from harness.judge.guards.labels import Guarded, Label

HEAD = Path(__file__).parent / "head.json"


class Head(Value):
    """A logistic regression.

    Attributes:
        encoder: name of the encoder that the weights belong to.
        unsafe: least probability of an Unsafe text.
        controversial: least probability of a Controversial one.
        bias: of the regression.
        weights: a number a dimension.
    """

    encoder: str
    unsafe: float
    controversial: float
    bias: float
    weights: tuple[float, ...]


class OfflineGuard:
    """Labels texts by a head on the packaged sentence encoder; it gives no categories.

    Raises:
        BadInput: if there is no sentence encoder (extra `rag`), or another one.
    """

    def __init__(self) -> None:
        self._head = Head.model_validate(read_json(HEAD))
        self._encoder: Any = load("encoders", "sentences")()
        if self._encoder.name != self._head.encoder:
            raise BadInput(
                f"the offline guard needs the encoder {self._head.encoder!r}, found "
                f"{self._encoder.name!r}"
            )

    async def check(self, prompt: str, response: str | None = None) -> Guarded | None:
        """See :class:`harness.judge.guards.Guard`. It is never down."""
        text = prompt if response is None else response
        (vector,) = await asyncio.to_thread(self._encoder.encode, [text])
        pairs = zip(self._head.weights, map(float, vector), strict=True)
        logit = self._head.bias + sum(weight * value for weight, value in pairs)
        probability = 1 / (1 + math.exp(-logit))
        label: Label = "Safe"
        if probability >= self._head.controversial:
            label = "Unsafe" if probability >= self._head.unsafe else "Controversial"
        return Guarded(label=label)
