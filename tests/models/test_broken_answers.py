"""Every way in which an endpoint may fail, over a real socket: what the client makes of it."""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.evals.chaos_server import FAULTS, Chaos, serve
from harness.core import Unreachable
from harness.models import Budget, CallStore, Sampling, open_model, transport

TURNED_DOWN = ("429 with Retry-After", "429 without", "429 with nonsense")
MESSAGES = [
    {"role": "system", "content": "You double."},
    {"role": "user", "content": "What is two times 4 ?"},
    {"role": "tool", "tool_call_id": "c", "content": "read"},
]


async def _ask(url: str, calls: CallStore, budget: Budget) -> str:
    sampling = Sampling(timeout_s=0.5, max_tokens=8)
    model = open_model("openai/m", base_url=url, calls=calls, budget=budget, sampling=sampling)
    try:
        return (await model.complete(MESSAGES)).text
    finally:
        await model.aclose()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_charged_and_never_taken_for_an_answer(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "ATTEMPTS", 1)
    path, budget = tmp_path / "calls.sqlite", Budget(tokens=100_000)
    chaos = Chaos(random.Random(1), share=1.0, faults=(fault,))
    with serve(chaos), CallStore(path) as calls:
        with pytest.raises(Unreachable):
            asyncio.run(_ask(chaos.url, calls, budget))
        with closing(sqlite3.connect(path)) as db:
            states = [row[0] for row in db.execute("SELECT state FROM calls")]
        turned_down = fault in TURNED_DOWN
        assert states == ["refused" if turned_down else "lost"]
        # What the server may have done is charged with its worst case.
        assert (budget.spent.tokens == 0) == turned_down
        chaos.share = 0.0
        assert asyncio.run(_ask(chaos.url, calls, budget)) == "8"
        assert asyncio.run(_ask(chaos.url, calls, budget)) == "8"
    assert len(chaos.seen) == 2


def test_an_endpoint_that_is_not_there_is_not_charged(tmp_path: Path) -> None:
    budget = Budget(tokens=100_000)
    with CallStore(tmp_path / "calls.sqlite") as calls, pytest.raises(Unreachable, match="running"):
        asyncio.run(_ask("http://127.0.0.1:9/v1", calls, budget))
    assert budget.spent.tokens == 0


def test_a_model_that_is_never_closed_leaves_no_connection_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ask(url: str) -> str:
        return (await open_model("openai/m", base_url=url).complete(MESSAGES)).text

    with serve(chaos := Chaos(random.Random(1), share=0.0)):
        assert asyncio.run(ask(chaos.url)) == "8"
        gc.collect()  # what is open says so when it is collected
    assert "Unclosed" not in caplog.text
