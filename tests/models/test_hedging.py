"""Requests that hang are asked again; the first answer counts and no slot stays taken."""

from __future__ import annotations

import asyncio

import pytest

from harness.models import concurrency
from harness.models.concurrency import Patience, hedged


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Patience:
    """One that has seen answers of 10 ms, with limits to match."""
    monkeypatch.setattr(concurrency, "FLOOR_S", 0.05)
    monkeypatch.setattr(concurrency, "POLL_S", 0.01)
    found = Patience()
    for _ in range(100):
        found.saw(0.01)
    return found


def run(patience: Patience, delays: list[float], *, room: bool = True) -> tuple[int, int, int]:
    """(which request answered, requests sent, requests cancelled)."""
    sent = cancelled = 0

    async def send() -> int:
        nonlocal sent, cancelled
        sent += 1
        mine = sent
        try:
            await asyncio.sleep(delays[mine - 1])
        except asyncio.CancelledError:
            cancelled += 1
            raise
        return mine

    answered = asyncio.run(hedged(send, patience, lambda: room))
    return answered, sent, cancelled


def test_a_prompt_answer_is_asked_for_once(patience: Patience) -> None:
    assert run(patience, [0.01]) == (1, 1, 0)


def test_a_hanging_request_is_overtaken_and_cancelled(patience: Patience) -> None:
    assert run(patience, [60.0, 0.01]) == (2, 2, 1)


def test_two_hanging_requests_are_overtaken(patience: Patience) -> None:
    assert run(patience, [60.0, 60.0, 0.01]) == (3, 3, 2)


def test_without_room_it_waits(patience: Patience) -> None:
    assert run(patience, [0.3], room=False) == (1, 1, 0)


def test_too_little_is_known_to_be_impatient() -> None:
    assert Patience().limit_s() == concurrency.UNKNOWN_S >= 60


def test_few_slow_calls_are_sent_twice_and_every_hanging_one(patience: Patience) -> None:
    limit = patience.limit_s()
    assert limit is not None
    patience.hedged = 5
    assert patience.limit_s() == concurrency.HANGING * limit
    assert run(patience, [60.0, 0.01]) == (2, 2, 1)


def test_an_error_is_raised(patience: Patience) -> None:
    async def send() -> int:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        asyncio.run(hedged(send, patience, lambda: True))
