"""Streams that are held back until a guard has seen what follows."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from harness.judge.guards.labels import LABELS, Label, Mode, is_unsafe
from harness.judge.guards.policy import Action

RUN = 2
"""Tokens in a row with one label that make a verdict (Qwen3Guard)."""
BUFFER, RETRIES = 40, 5
"""Tokens that can be taken back, and further tries (CARE)."""
CHUNK = 200
"""Characters of a chunk that a Gen model is asked about."""
Labelled = tuple[str, Label]


class Stopped(Exception):
    """A stream was stopped.

    Attributes:
        label: why; None where the guard was down.
        released: what had been passed on before: nothing of the unsafe run.
        action: what the policy says, where a policy decided.
    """

    def __init__(self, label: Label | None, released: str, action: Action = "stop") -> None:
        super().__init__(f"stopped: {label or 'the guard is down'}")
        self.label, self.released, self.action = label, released, action


async def hold_back(
    tokens: AsyncIterator[Labelled], mode: Mode = "strict", hold: int = RUN
) -> AsyncGenerator[str]:
    """Pass on tokens of a stream with labels, each once `hold - 1` more of them have come.

    Two labels in a row that are the same and unsafe in the mode stop the stream; the run is among
    the tokens held back then, so nothing of it was passed on. Added latency: `hold - 1` tokens.

    Args:
        tokens: (text, label), as a Stream model gives them.
        mode: whether Controversial stops, too.
        hold: tokens held back, 2 or more.

    Raises:
        Stopped: at the second token of an unsafe run, or at a label that is none.
        ValueError: for a `hold` below 2, which would pass on the first token of a run.
    """
    if hold < RUN:
        raise ValueError(f"hold: expected {RUN} or more, got {hold!r}")
    waiting: deque[str] = deque()
    released, previous = "", None
    async for text, label in tokens:
        if label not in LABELS:
            raise Stopped(None, released)
        if label == previous and is_unsafe(label, mode):
            raise Stopped(label, released)
        previous = label
        waiting.append(text)
        if len(waiting) >= hold:
            # The token that is passed on has a follower, and the two are no run.
            released += waiting[0]
            yield waiting.popleft()
    while waiting:  # a single unsafe label at the end is no run
        released += waiting[0]
        yield waiting.popleft()


async def roll_back(
    begin: Callable[[str, int], AsyncIterator[Labelled]],
    mode: Mode = "strict",
    *,
    refusal: str,
    buffer: int = BUFFER,
    retries: int = RETRIES,
) -> AsyncGenerator[str]:
    """A stream that goes back behind an unsafe run and is written again from there (CARE).

    Args:
        begin: starts the stream behind what was passed on, for the n-th try.
        mode: see :func:`hold_back`.
        refusal: passed on last, where every try was unsafe.
        buffer: tokens held back: what can be taken back.
        retries: tries after the first.
    """
    released = ""
    for attempt in range(retries + 1):
        try:
            async for text in hold_back(begin(released, attempt), mode, buffer):
                released += text
                yield text
            return
        except Stopped:
            continue
    yield refusal


async def checked_chunks(
    pieces: AsyncIterator[str],
    check: Callable[[str], Awaitable[tuple[Label | None, Action]]],
    size: int = CHUNK,
) -> AsyncGenerator[str]:
    """Pass on a stream chunk by chunk, each once a guard has allowed all up to its end.

    For guards without token labels. Added latency: `size` characters and a call.

    Args:
        pieces: of the text, as they come.
        check: label (None if the guard is down) and action for all text so far.
        size: characters between two calls, about.

    Raises:
        Stopped: for any action but `allow`; the chunk is not passed on.
    """
    released, waiting = "", ""

    async def allowed() -> None:
        label, action = await check(released + waiting)
        if action != "allow":
            raise Stopped(label, released, action)

    async for piece in pieces:
        waiting += piece
        if len(waiting) >= size:
            await allowed()
            released, waiting, chunk = released + waiting, "", waiting
            yield chunk
    if waiting:
        await allowed()
        yield waiting
