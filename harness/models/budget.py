"""Hard limits on money, tokens and calls, whatever the concurrency; and what tokens cost.

The worst case of a call is reserved before it is sent and settled when its usage is known, so that
what the server counts never exceeds the limit. A call whose fate is unknown (connection lost,
time-out) stays charged with its worst case. Prices stand in a table in a file: an unknown price is
unknown, never zero.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic import Field, ValidationError

from harness.core import BadInput, LimitReached, Value, canonical_json, first_fault
from harness.models.endpoints import ModelSpec
from harness.models.types import Body

PRICES_VARIABLE = "HARNESS_PRICES"
_PACKAGED = Path(__file__).with_name("prices.json")
_ROUNDING_USD = 1e-9
_FIXED_TOKENS = 256
_TOOLS_TOKENS = 512
_MESSAGE_TOKENS = 16
_IMAGE_TOKENS = 20_000


_PRICED: Mapping[str, tuple[Any, ...]] = {
    "n": (1,), "best_of": (1,), "service_tier": ("auto", "default", "standard_only"),
    "modalities": (["text"],),
    **dict.fromkeys(("audio", "web_search_options", "plugins", "models", "use_beam_search"), ()),
}  # fmt: skip
"""Parameters whose price no token of the reply shows -> the values that have none of their own."""
_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def refuse_unpriced(body: Mapping[str, Any]) -> None:
    """Refuse a request that costs more than its tokens show.

    Raises:
        BadInput: for a parameter with a price of its own, by its name.
    """
    for name, value in body.items():
        plain = name.casefold()  # to some servers, names that differ in case alone are one
        allowed = _PRICED.get(plain, (value,))
        if value not in (None, *allowed):
            expected = " or ".join(map(str, allowed)) or "none"
            raise BadInput(f"{name}: expected {expected}, got {value!r:.80}: not priced")
        if name != plain in _BOUNDS:
            raise BadInput(f"{name}: expected {plain}")


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
        fault = first_fault(error) if isinstance(error, ValidationError) else error
        raise BadInput(
            f'expected a price table {{"models": {{SPEC: {{"input", "output"}}}}}} at '
            f"{str(path)!r} ({PRICES_VARIABLE}): {fault}"
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
    if spec.kind in ("local", "simulated", "replay", "scripted", "none"):
        return FREE
    user_table = os.environ.get(PRICES_VARIABLE)
    if user_table and (price := _table(Path(user_table)).get(str(spec))):
        return price
    return _table(_PACKAGED).get(str(spec)) if official else None


@dataclass(frozen=True)
class Spend:
    """An amount: US dollars, tokens and calls."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def __add__(self, amount: Spend) -> Spend:
        return Spend(self.usd + amount.usd, self.tokens + amount.tokens, self.calls + amount.calls)

    def __sub__(self, amount: Spend) -> Spend:
        return self + Spend(-amount.usd, -amount.tokens, -amount.calls)


class Reservation:
    """The worst case of one call, held until it is settled. Settling twice changes nothing.

    Attributes:
        worst: what is held.
    """

    def __init__(self, worst: Spend, close: Callable[[Spend, Spend], None]) -> None:
        self.worst = worst
        self._close = close
        self._open = True

    def settle(self, actual: Spend) -> None:
        """The call came back and used `actual`."""
        if self._open:
            self._open = False
            self._close(self.worst, actual)

    def release(self) -> None:
        """The call was never sent."""
        self.settle(Spend())

    def refused(self) -> None:
        """The server turned the call down: it counts as a call, but used nothing."""
        self.settle(Spend(calls=self.worst.calls))

    def forfeit(self) -> None:
        """The fate of the call is unknown: it counts with its worst case."""
        self.settle(self.worst)


class Budget:
    """Limits shared by any number of models and tasks; None is no limit.

    Attributes:
        changed: called when they have been changed.
    """

    def __init__(
        self, usd: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        self.usd = usd
        self.tokens = tokens
        self.calls = calls
        self.spent = Spend()
        self.changed: Callable[[], None] | None = None
        self._reserved = Spend()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._adopted: set[str] = set()

    @property
    def bounds_tokens(self) -> bool:
        """True if a call needs a bound on its completion tokens."""
        return self.usd is not None or self.tokens is not None

    def change(
        self, usd: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        """Other limits from now on; those that are None stay. What waits looks again."""
        self.usd = self.usd if usd is None else usd
        self.tokens = self.tokens if tokens is None else tokens
        self.calls = self.calls if calls is None else calls
        self._wake_all()
        if self.changed is not None:
            self.changed()

    def adopt(self, source: str, spent: Spend) -> None:
        """Count what was spent before this process, once for each `source` (a call store)."""
        if source not in self._adopted:
            self._adopted.add(source)
            self.spent += spent

    async def reserve(self, worst: Spend) -> Reservation:
        """Set `worst` aside; waits while only calls in flight stand in the way.

        Raises:
            LimitReached: if what is spent leaves no room for it.
        """
        while True:
            if name := self._over(self.spent + worst):
                limit, used, needed = {
                    "usd": (f"${self.usd}", f"${self.spent.usd:.6f}", f"${worst.usd:.6f}"),
                    "tokens": (f"{self.tokens} tokens", self.spent.tokens, worst.tokens),
                    "calls": (f"{self.calls} calls", self.spent.calls, worst.calls),
                }[name]
                raise LimitReached(
                    f"budget of {limit} reached: {used} spent, and the next call may need up to "
                    f"{needed}; raise --budget-{name} and resume, or lower max_tokens"
                )
            if self._over(self.spent + self._reserved + worst) is None:
                self._reserved += worst
                return Reservation(worst, self._settle)
            loop = asyncio.get_running_loop()
            turn = loop.create_future()
            self._waiting.append((loop, turn))
            await turn

    def _settle(self, worst: Spend, actual: Spend) -> None:
        self._reserved -= worst
        self.spent += actual
        self._wake_all()

    def _wake_all(self) -> None:
        def wake(turn: asyncio.Future[None]) -> None:
            if not turn.done():
                turn.set_result(None)

        waiting, self._waiting = self._waiting, []
        for loop, turn in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake, turn)

    def _over(self, total: Spend) -> str | None:
        """The name of a limit that `total` exceeds."""
        if self.usd is not None and total.usd > self.usd + _ROUNDING_USD:
            return "usd"
        if self.tokens is not None and total.tokens > self.tokens:
            return "tokens"
        return "calls" if self.calls is not None and total.calls > self.calls else None


def completion_limit(body: Body) -> int | None:
    """The bound on completion tokens that a body sets; to some servers -1 is none."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    return limit if isinstance(limit, int) and limit > 0 else None


def prompt_bound(body: Body) -> int:
    """Upper bound on the prompt tokens of a request, without a tokenizer.

    A byte-level or byte-fallback tokenizer never makes more tokens than there are bytes; the chat
    template adds a few for each message, and some text of its own.
    """
    images = 0
    total = _FIXED_TOKENS
    for message in body["messages"]:
        content = message.get("content")
        if isinstance(content, list):
            parts = cast("list[Any]", content)
            texts: list[Any] = [
                part for part in parts if not isinstance(part, dict) or "image_url" not in part
            ]
            images += len(parts) - len(texts)
            content = texts
        text = canonical_json({**message, "content": content})
        total += _MESSAGE_TOKENS + len(text.encode())
    for name in ("tools", "response_format"):
        if name in body:
            total += _TOOLS_TOKENS + len(canonical_json(body[name]).encode())
    return total + images * _IMAGE_TOKENS
