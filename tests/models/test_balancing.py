"""Several servers of one model: affinity, bounded load, ejection and return."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.tracing import watching
from harness.models import open_model, parse_spec, resolve
from harness.models.balancing import BOUND, FLOOR, Balancer, prefix_of
from harness.models.client import chatting
from tests.models.http_server import Answer, completion, serve
from tests.models.watcher import Seen

URLS = tuple(f"http://127.0.0.1:{port}/v1" for port in (8001, 8002, 8003))
GONE = openai.APIConnectionError(request=httpx.Request("POST", URLS[0]))  # pyright: ignore[reportArgumentType]  # the client's own httpx


def turns(sample: int, length: int = 1, skill: str = "Count twice.") -> dict[str, Any]:
    """The body of a rollout's request after so many turns."""
    messages = [{"role": "system", "content": skill}, {"role": "user", "content": f"{sample}"}]
    for turn in range(length - 1):
        messages.append({"role": "assistant", "content": f"step {turn}"})
        messages.append({"role": "user", "content": "go on"})
    return {"model": "m", "messages": messages}


class Patient:
    """A server whose health is set by hand, and a clock."""

    def __init__(self) -> None:
        self.now, self.well, self.asked = 100.0, True, list[float]()

    def clock(self) -> float:
        return self.now

    async def probe(self, url: str) -> bool:
        self.asked.append(self.now)
        return self.well


def balancer(patient: Patient | None = None) -> Balancer:
    patient = patient or Patient()
    return Balancer(URLS, patient.probe, patient.clock)


@given(st.integers(), st.integers(1, 6), st.booleans())
def test_turns_of_a_rollout_share_a_prefix(sample: int, length: int, system: bool) -> None:
    first, later = turns(sample), turns(sample, length)
    if not system:
        first, later = ({**one, "messages": one["messages"][1:]} for one in (first, later))
    assert prefix_of(first) == prefix_of(later)
    assert prefix_of(first) != prefix_of(turns(sample, skill="Count once."))
    assert prefix_of(first) != prefix_of({**first, "tools": [{"type": "function"}]})


@given(st.integers(0, 2), st.lists(st.integers(), min_size=1, max_size=30, unique=True))
def test_a_lost_server_moves_only_its_own_share(lost: int, samples: list[int]) -> None:
    before = balancer()
    after = balancer()
    with pytest.raises(openai.APIConnectionError), after.sending(lost):
        raise GONE

    async def choose(one: Balancer) -> dict[int, int]:
        return {sample: one.choose(prefix_of(turns(sample))) for sample in samples}

    old, new = asyncio.run(choose(before)), asyncio.run(choose(after))
    assert lost not in new.values()
    assert all(new[sample] == old[sample] for sample in samples if old[sample] != lost)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80))
def test_no_server_holds_more_than_its_bound(samples: list[int]) -> None:
    one = balancer()
    with ExitStack() as stack:
        for count, sample in enumerate(samples, start=1):
            stack.enter_context(one.sending(one.choose(prefix_of(turns(sample)))))
            assert max(one.load) <= max(FLOOR, math.ceil(BOUND * count / 3))
    assert one.load == (0, 0, 0)


def test_a_server_out_of_service_returns_when_it_is_well() -> None:
    patient = Patient()
    patient.well = False
    one = balancer(patient)

    async def later(seconds: float) -> tuple[bool, ...]:
        patient.now += seconds
        one.choose(b"any")
        await asyncio.sleep(0.01)
        return one.in_service

    async def go() -> None:
        with pytest.raises(openai.APIConnectionError), one.sending(1):
            raise GONE
        assert one.in_service == (True, False, True)
        assert await later(0.4) == (True, False, True)
        assert not patient.asked, "the first question comes after half a second"
        for _ in range(40):
            await later(1.0)
        gaps = [b - a for a, b in zip(patient.asked, patient.asked[1:], strict=False)]
        assert gaps == sorted(gaps) and gaps[0] < gaps[-1] <= 30, "less and less often"
        patient.well = True
        assert await later(30.0) == (True, True, True)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("status", "serves"), [(400, True), (429, True), (500, False), (503, False)]
)
def test_only_failures_of_the_server_take_it_out(status: int, serves: bool) -> None:
    one = balancer()
    error = openai.APIError("no", GONE.request, body=None)
    error.status_code = status  # pyright: ignore[reportAttributeAccessIssue]  # as its subclasses have
    with pytest.raises(openai.APIError), one.sending(0):
        raise error
    assert one.in_service == (serves, True, True)


def test_a_silent_server_is_asked_and_taken_out() -> None:
    patient = Patient()
    one = balancer(patient)

    async def go() -> None:
        with one.sending(2):
            patient.now += 20
            one.choose(b"any")
            await asyncio.sleep(0.01)
            assert not patient.asked
            patient.well = False
            for _ in range(4):
                patient.now += 20
                one.choose(b"any")
                await asyncio.sleep(0.01)
            assert one.in_service == (True, True, False)

    asyncio.run(go())


@pytest.mark.parametrize(("urls", "host"), [(URLS[:1], "127.0.0.1"), (URLS, None)])
def test_a_call_names_its_server_only_where_it_can_be_no_other(
    urls: tuple[str, ...], host: str | None
) -> None:
    endpoint = resolve(parse_spec("vllm/m"), ",".join(urls))
    seen = Seen()
    with watching(seen), chatting(endpoint, turns(0), "id", "agent"):
        pass
    (chat,) = seen.operations
    assert (chat.facts.get("host"), "port" in chat.facts) == (host, host is not None)


def test_a_server_that_dies_midway_costs_only_its_calls_in_flight() -> None:
    """128 calls over three servers; one is gone in the middle."""

    def answer(body: dict[str, Any]) -> Answer:
        return completion(body["messages"][1]["content"])

    async def go(urls: list[str], die: Callable[[], None]) -> list[str]:
        model = open_model("vllm/m", base_url=",".join(urls), concurrency=12)
        done = 0

        async def one(sample: int) -> str:
            nonlocal done
            reply = await model.complete(turns(sample)["messages"])
            done += 1
            if done == 40:
                await asyncio.to_thread(die)
            return reply.text

        texts = await asyncio.gather(*(one(sample) for sample in range(128)))
        await model.aclose()
        return texts

    with serve(answer, 0.02) as a, serve(answer, 0.02) as b, ExitStack() as third:
        c = third.enter_context(serve(answer, 0.02))
        texts = asyncio.run(go([a.url, b.url, c.url], third.close))
    assert texts == [str(sample) for sample in range(128)]
    homes = [[body["messages"][1]["content"] for body in one.bodies] for one in (a, b, c)]
    assert all(homes)
    repeated = [text for text, times in Counter(chain(*homes)).items() if times > 1]
    assert set(repeated) <= set(homes[2][-12:]), "only what was in flight at the lost server"
    assert len(homes[2]) < 40
