"""A model that lives in the driver only, asked by a worker."""

from __future__ import annotations

import asyncio

import pytest

from harness.core import LimitReached
from harness.fleet import Channel, SharedModelSpec, open_shared_model, relay_service, shared_spec
from harness.models import Budget, CallStore, Sampling, open_model

ASKED = [{"role": "user", "content": "What is the total?"}]


def test_a_simulated_model_answers_workers_as_it_answers_the_driver() -> None:
    async def main() -> None:
        loop, budget = asyncio.get_running_loop(), Budget(calls=1)
        with CallStore() as store:
            model = open_model("simulated/ledger", calls=store, budget=budget)
            server = await loop.create_server(lambda: Channel(relay_service(model)), "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            _, channel = await loop.create_connection(Channel, "127.0.0.1", port)
            spec = shared_spec(model, None, budget, 4)
            told = SharedModelSpec.model_validate_json(spec.model_dump_json())
            assert (told.urls, told.simulated) == (None, True)
            worker, hear = open_shared_model(channel, told)
            assert {"resize", "budget"} == hear.keys()
            there = await worker.complete(ASKED, sampling=Sampling(seed=3))
            here = await model.complete(ASKED, sampling=Sampling(seed=3))
            assert here == there.model_copy(update={"cached": True})
            with pytest.raises(LimitReached, match="budget of 1 calls"):
                await worker.complete(ASKED, sampling=Sampling(seed=4))
            await worker.aclose()
            channel.close()
            await channel.closed
            server.close()
            await model.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("urls", "host", "direct"),
    [
        ("http://127.0.0.1:8000/v1", "127.0.0.1", True),
        ("http://127.0.0.1:8000/v1", "10.0.0.5", False),
        ("http://10.0.0.7:8000/v1,http://localhost:8001/v1", "10.0.0.5", False),
        ("http://10.0.0.7:8000/v1", "10.0.0.5", True),
    ],
)
def test_an_endpoint_on_loopback_is_asked_by_the_driver_for_other_machines(
    urls: str, host: str, direct: bool
) -> None:
    model = open_model("vllm/m", base_url=urls)
    assert shared_spec(model, urls, Budget(), 4, host).urls == (urls if direct else None)
