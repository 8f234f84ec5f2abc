"""Large tool outputs, each compressed once: the same text goes out again byte for byte."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from harness.core import BadInput, Value, digest
from harness.rag.compress import Critic, Store, Tokenizer, compress, open_critic, open_tokenizer
from harness.rag.compress.store import part_id, text_digest
from harness.record.exchanges import Event

DEFAULT_BUDGET = 2000
FROM = 1.5
"""Outputs above this many budgets are compressed: less saves little and costs what is left out."""
KEPT = 10_000
"""Compressed texts that a server holds; the folder of a recording holds all."""


class Compressed(Value):
    """A compressed output.

    Attributes:
        key: digest of the text, the question, the budget and the critic.
        id: what `expand` takes to give all of it.
        text: what is sent.
        before: tokens of the output.
        after: tokens of `text`.
        tokenizer: in which they are counted.
    """

    key: str
    id: str
    text: str
    before: int
    after: int
    tokenizer: str


@dataclass(frozen=True)
class Settings:
    """Settings of the compression of outputs.

    Attributes:
        budget: tokens of an output that was compressed.
        critic: what scores its parts; see :func:`harness.rag.compress.open_critic`.
        tokenizer: in which the budget holds; see :func:`harness.rag.compress.open_tokenizer`.
    """

    budget: int = DEFAULT_BUDGET
    critic: str = "auto"
    tokenizer: str = "estimate"


def parse_settings(text: str, critic: str = "auto") -> Settings:
    """Read `compress` or `compress:BUDGET`.

    Raises:
        BadInput: if it is neither, or the budget is below 100 tokens.
    """
    name, colon, number = text.partition(":")
    if name == "compress" and not colon:
        return Settings(critic=critic)
    if name == "compress" and number.isdecimal() and int(number) >= 100:
        return Settings(int(number), critic)
    raise BadInput(f"expected --context compress[:TOKENS] with 100 tokens or more, got {text!r}")


class Compressions:
    """Compresses outputs and remembers them.

    Args:
        settings: how.
        store: where what is left out is kept.
        keep: writes a new one down; None keeps it in memory alone.
        earlier: those of an earlier session.

    Raises:
        BadInput: if the critic or tokenizer cannot be opened.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        keep: Callable[[Event], Any] | None = None,
        earlier: Iterable[Compressed] = (),
    ) -> None:
        self.store = store
        self._settings, self._keep = settings, keep
        self._critic: Critic = open_critic(settings.critic)
        self.tokenizer: Tokenizer = open_tokenizer(settings.tokenizer)
        self._known: OrderedDict[str, Compressed | None] = OrderedDict()
        self._known.update((compressed.key, compressed) for compressed in earlier)
        self._locks: dict[str, asyncio.Lock] = {}

    async def shortened(self, text: str, question: str) -> Compressed | None:
        """A large output as what the question needs of it; None for one that stays as it is."""
        budget = self._settings.budget
        if len(text) <= budget:  # a token has a character at least
            return None
        key = digest([text_digest([text]), question, budget, self._critic.name])
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if key not in self._known:
                    compressed = await asyncio.to_thread(self._compress, key, text, question)
                    self._known[key] = compressed
                    if self._keep is None and len(self._known) > KEPT:
                        self._known.popitem(last=False)
                    elif self._keep is not None and compressed is not None:
                        self._keep({"event": "compressed", **compressed.model_dump(mode="json")})
                return self._known[key]
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    def _compress(self, key: str, text: str, question: str) -> Compressed | None:
        budget, count = self._settings.budget, self.tokenizer.count
        before = count(text)
        if before <= FROM * budget:
            return None
        # All of it under an ID of its own: short markers carry none.
        source = text_digest([text])
        part = (source, 0, len(text))
        self.store.put_source(source, [text])
        self.store.put_omissions([[part]])
        document = part_id([part])
        head = (
            f"[shortened from {before} tokens to what the question needs; expand {document} gives "
            "all of it, the IDs of the marks below give the parts]\n"
        )
        try:
            result = compress(
                text,
                question,
                budget=budget - count(head),
                critic=self._critic,
                tokenizer=self._settings.tokenizer,
                store=self.store,
            )
        except BadInput:  # nothing of it fits, or nothing in it can be seen: it stays as it is
            return None
        if not result.omitted:
            return None
        shortened = head + result.text
        return Compressed(
            key=key,
            id=document,
            text=shortened,
            before=before,
            after=count(shortened),
            tokenizer=self.tokenizer.name,
        )
