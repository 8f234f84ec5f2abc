"""Eval runs in worker processes: as in one process, whatever dies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.core import LimitReached
from harness.fleet import LocalExecutor, Work, WorkersLost, open_fleet
from tests.fleet.running import (
    doubled,
    evaluated,
    kill_after,
    left_behind,
    processes,
    repeated,
    suite_in,
)
from tests.models.http_server import serve

MARK = "HARNESS_TEST_FLEET"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Stands in the environment of the workers of this test alone."""
    monkeypatch.setenv(MARK, str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return f"{MARK}={tmp_path}"


def test_a_killed_worker_costs_its_calls_in_flight_alone(tmp_path: Path, mark: str) -> None:
    suite = suite_in(tmp_path / "suite", 12)
    with serve(doubled) as served:
        evaluated(suite, tmp_path / "alone", served)
    with serve(doubled, delay_s=0.3) as served:
        killer = kill_after(served, 5, "harness.fleet.worker", mark)
        report = evaluated(suite, tmp_path / "fleet", served, workers=1, concurrency=3)
        killer.join()
        again = repeated(served)
        evaluated(suite, tmp_path / "fleet", served, resume=tmp_path / "fleet")
        assert len(served.bodies) == 12 + again
    assert (report.passed, report.failed, report.invalid) == (8, 4, 0)
    assert left_behind(tmp_path / "fleet") == left_behind(tmp_path / "alone")
    assert 1 <= again <= 3  # as many as were in flight
    assert not processes("harness.fleet.worker", mark)


def test_a_budget_holds_over_all_workers(tmp_path: Path, mark: str) -> None:
    suite = suite_in(tmp_path / "suite", 12)
    with serve(doubled, delay_s=0.05) as served:
        with pytest.raises(LimitReached, match="budget of 5 calls"):
            evaluated(suite, tmp_path / "run", served, workers=2, concurrency=8, budget_calls=5)
        assert len(served.bodies) == 5
    assert len(left_behind(tmp_path / "run")[0]) == 5
    assert not processes("harness.fleet.worker", mark)


def test_what_kills_every_worker_is_given_up_and_the_rest_goes_on() -> None:
    async def main() -> tuple[str, int]:
        work = Work("tests.fleet.deadly:deadly", {})
        async with open_fleet(LocalExecutor(1), work, lambda _: {}) as fleet:
            fleet.tell_all("hear", "before anyone is there")
            fleet.tell_all("hear", "now")
            with pytest.raises(WorkersLost, match="3 workers died"):
                await fleet.call("work", "die")
            assert await fleet.call("heard", None) == ["now"]  # the fourth worker
            fleet.tell_all("hear", "later")
            assert await fleet.call("heard", None) == ["now", "later"]
            return await fleet.call("work", "alive"), fleet.deaths

    assert asyncio.run(main()) == ("alive", 3)


def test_a_worker_that_cannot_begin_says_why() -> None:
    async def main() -> None:
        work = Work("tests.fleet.deadly:deadly", {"unable": True})
        async with open_fleet(LocalExecutor(1), work, lambda _: {}) as fleet:
            await fleet.call("work", "alive")

    with pytest.raises(Exception, match="cannot begin: there is no such sandbox"):
        asyncio.run(main())


def test_who_does_not_show_the_token_gets_no_answer() -> None:
    async def main() -> None:
        work = Work("tests.fleet.deadly:deadly", {})
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        class Idle:
            workers, host, shares_disk = 1, "127.0.0.1", True

            async def place(self, work: Work, invitation: Any) -> None:
                seen.set_result(invitation.port)
                await asyncio.get_running_loop().create_future()

        async with open_fleet(Idle(), work, lambda _: {}) as fleet:
            reader, writer = await asyncio.open_connection("127.0.0.1", await seen)
            writer.write(b"0" * 64 + b"\0\0\0\x01\x90")
            async with asyncio.timeout(5):
                with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                    await reader.readexactly(1)
            assert not fleet.pids
            writer.close()

    asyncio.run(main())
