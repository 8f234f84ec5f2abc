"""Any language model as critic: it names the units that a question needs, window by window."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence

from harness.core import BadInput, loops, render
from harness.models import ChatModel, Model, Sampling, open_model
from harness.rag.compress.critics.windows import merged, unit_windows
from harness.rag.compress.types import Query, Unit
from harness.skills import count_tokens

WINDOW, OVERLAP = 3000, 200
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class ModelCritic:
    """Asks a model about each window; windows are sent at the same time.

    Scores are 0 to 3 as the model gave them. A window whose reply cannot be read is asked once
    more; its units then score 0.

    Args:
        model: an open model, or a spec.
        window: tokens of a window, by estimate from above.
        overlap: tokens that two windows share.
    """

    def __init__(self, model: Model | str, window: int = WINDOW, overlap: int = OVERLAP) -> None:
        self._model = open_model(model) if isinstance(model, str) else model
        self._window, self._overlap = window, overlap
        self.name = f"llm ({self._model.spec})"
        # Windows without a readable reply, since the critic was made.
        self.unread = 0

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Scores from 0 to 3.

        Raises:
            Unreachable: if the model does not answer.
            BadInput: if no window had a readable reply, or where an event loop is running: there,
                call it in a thread (`asyncio.to_thread`).
        """
        tokens = [count_tokens(unit.text) + 4 for unit in units]
        windows = unit_windows(tokens, self._window, self._overlap)
        parts = [[units[index] for index in window] for window in windows]
        scored = loops.run(self._score_all(query, parts))
        unread = sum(scores is None for scores in scored)
        if windows and unread == len(windows):
            raise BadInput(
                f"{self._model.spec} named no parts in {unread} replies: expected JSON "
                '{"needed": {"1": 3}}; use a stronger model, or another critic'
            )
        self.unread += unread
        filled = [
            scores or [0.0] * len(window) for scores, window in zip(scored, windows, strict=True)
        ]
        return merged(windows, filled, len(units))

    async def _score_all(
        self, query: Query, windows: Sequence[Sequence[Unit]]
    ) -> list[list[float] | None]:
        try:
            return list(
                await asyncio.gather(*(self._score_window(query, window) for window in windows))
            )
        finally:  # the loop ends here, and with it its connections
            if isinstance(self._model, ChatModel):
                await self._model.aclose()

    async def _score_window(self, query: Query, units: Sequence[Unit]) -> list[float] | None:
        prompt = render(
            "compress_window",
            instruction=query.instruction,
            query=query.query,
            units=[
                f"({unit.heading}) {unit.text}" if unit.heading else unit.text for unit in units
            ],
        )
        for seed in (0, 1):
            reply = await self._model.complete(
                [{"role": "user", "content": prompt}], sampling=Sampling(temperature=0.0, seed=seed)
            )
            scores = read_needed(reply.text, len(units))
            if scores is not None:
                return scores
        return None


def read_needed(reply: str, units: int) -> list[float] | None:
    """Scores of the units named in a reply, others 0; None where it holds no such object."""
    match = _OBJECT.search(reply)
    try:
        needed = json.loads(match[0] if match else "{}")["needed"]
        scores = [0.0] * units
        for number, score in needed.items():
            if 1 <= int(number) <= units:
                scores[int(number) - 1] = min(3.0, max(0.0, float(score)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return scores
