"""Guards: a Gen model behind an endpoint, and a word list for machines without one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.core import BadInput, Unreachable
from harness.judge.guards.labels import Guarded, read_label
from harness.models import Message, Model, SampleLimitReached, Sampling

LONGEST_REPLY = 64
SAMPLING = Sampling(temperature=0.0, max_tokens=LONGEST_REPLY)


class Guard(Protocol):
    """Labels a prompt, or a response to one: `ModelGuard` and `WordGuard` do."""

    async def check(self, prompt: str, response: str | None = None) -> Guarded | None:
        """Label `response`, or `prompt` without one; None if the guard is down."""
        ...


class ModelGuard:
    """Qwen3Guard-Gen behind a chat endpoint, as `vllm/Qwen/Qwen3Guard-Gen-0.6B`.

    Args:
        model: the guard; its template takes a user's turn, and an assistant's to be judged.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def check(self, prompt: str, response: str | None = None) -> Guarded | None:
        """See :class:`Guard`. Raises LimitReached alone."""
        messages: list[Message] = [{"role": "user", "content": prompt}]
        if response is not None:
            messages.append({"role": "assistant", "content": response})
        try:
            reply = await self._model.complete(messages, sampling=SAMPLING)
        except (Unreachable, BadInput, SampleLimitReached):
            return None
        return read_label(reply.text)


class WordGuard:
    """A list of words: the baseline of every guard, not a guard to rely on.

    It knows no context: it takes "kill a process" for violence if `kill` is listed, and misses
    every paraphrase. `benchmarks/judge/offline_guard.py` has its error.

    Args:
        words: category -> words or phrases, looked for as whole words without regard to case.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._patterns = {
            category: re.compile(rf"\b(?:{'|'.join(map(re.escape, listed))})\b", re.IGNORECASE)
            for category, listed in words.items()
            if listed
        }

    async def check(self, prompt: str, response: str | None = None) -> Guarded | None:
        """See :class:`Guard`. It is never down."""
        text = prompt if response is None else response
        categories = tuple(name for name, row in self._patterns.items() if row.search(text))
        return Guarded(label="Unsafe" if categories else "Safe", categories=categories)
