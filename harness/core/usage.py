"""Tokens, money and time of model calls."""

from __future__ import annotations

from harness.core.values import Value


class Usage(Value):
    """What one or many calls used.

    `cost_usd` is None where a price is unknown: unknown is not zero, and a sum with an unknown
    part is unknown.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        priced = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if priced else None,
            seconds=self.seconds + other.seconds,
        )

    def __sub__(self, other: Usage) -> Usage:
        """Take back a part that was added; an unknown cost stays unknown."""
        return self + Usage(
            calls=-other.calls,
            prompt_tokens=-other.prompt_tokens,
            completion_tokens=-other.completion_tokens,
            cached_tokens=-other.cached_tokens,
            cost_usd=None if other.cost_usd is None else -other.cost_usd,
            seconds=-other.seconds,
        )
