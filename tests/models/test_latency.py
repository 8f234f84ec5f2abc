"""The limit follows the knee of a server: simulated servers on a clock of their own."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import pytest

from harness.models.concurrency import LatencyWatch

Service = Callable[[int, random.Random], float]


def simulated(service: Service, workers: int, most: int, answers: int) -> tuple[float, float]:
    """Mean limit of the last half, and answers a second.

    Args:
        service: seconds of an answer where so many are being worked on.
        workers: answers that the server works on at a time; others queue.
        most: requests in flight at most.
        answers: until the end.
    """
    rng, watch, limit = random.Random(5), LatencyWatch(), float(most)
    now, used, done = 0.0, 0, 0
    busy: list[tuple[float, float]] = []
    queue: list[float] = []
    limits: list[float] = []
    while done < answers:
        while used < int(limit):
            queue.append(now)
            used += 1
        while queue and len(busy) < workers:
            sent = queue.pop(0)
            heapq.heappush(busy, (now + service(len(busy) + 1, rng), sent))
        now, sent = heapq.heappop(busy)
        full = used >= int(limit)
        used, done = used - 1, done + 1
        if full:
            limit = min(float(most), watch.answered(now, now - sent, limit + 1 / limit))
        else:
            watch.idle()
        limits.append(limit)
    late = limits[len(limits) // 2 :]
    return sum(late) / len(late), done / now


def steady(_busy: int, rng: random.Random) -> float:
    return 0.05 * rng.uniform(0.9, 1.1)


def varied(_busy: int, rng: random.Random) -> float:
    return rng.lognormvariate(-2, 0.8)


def batching(busy: int, rng: random.Random) -> float:
    return (0.05 + 0.002 * busy) * rng.uniform(0.9, 1.1)


def test_a_queue_is_not_filled_beyond_its_knee() -> None:
    limit, rate = simulated(steady, workers=8, most=64, answers=20_000)
    assert 8 <= limit < 0.75 * 64
    assert rate > 0.97 * 8 / 0.05


@pytest.mark.parametrize("service", [steady, varied, batching])
def test_a_server_that_bears_all_gets_all(service: Service) -> None:
    limit, rate = simulated(service, workers=10_000, most=64, answers=40_000)
    everything = simulated_without_watch(service, 64, 40_000)
    assert limit > 0.95 * 64
    assert rate > 0.97 * everything


def simulated_without_watch(service: Service, most: int, answers: int) -> float:
    rng, now = random.Random(5), 0.0
    busy = [service(number + 1, rng) for number in range(most)]
    heapq.heapify(busy)
    for _ in range(answers):
        now = heapq.heappop(busy)
        heapq.heappush(busy, now + service(most, rng))
    return answers / now


def test_a_server_that_becomes_slower_for_good_is_used_as_before() -> None:
    calls = iter(range(10**9))

    def worse(_busy: int, rng: random.Random) -> float:
        return (0.05 if next(calls) < 10_000 else 0.2) * rng.uniform(0.9, 1.1)

    limit, _ = simulated(worse, workers=10_000, most=32, answers=60_000)
    assert limit > 0.9 * 32
