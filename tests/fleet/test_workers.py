"""Eval runs in worker processes: as in one process, whatever dies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import harness
from harness.core import BadInput, LimitReached, Unreachable
from harness.fleet import (
    Channel,
    Executor,
    Gone,
    Invitation,
    LocalExecutor,
    Work,
    WorkersLost,
    open_fleet,
)
from harness.fleet.types import Arrivals
from tests.fleet.running import (
    doubled,
    evaluated,
    kill_after,
    left_behind,
    processes,
    repeated,
    suite_in,
)
from tests.models.http_server import free_port, serve

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
        async with open_fleet(LocalExecutor(1), work, {}) as fleet:
            fleet.tell_all("hear", "before anyone is there")
            fleet.tell_all("hear", "now")
            with pytest.raises(WorkersLost, match="3 workers died"):
                await fleet.call("work", "die")
            assert await fleet.call("heard", None) == ["now"]  # the fourth worker
            fleet.tell_all("hear", "later")
            assert await fleet.call("heard", None) == ["now", "later"]
            with pytest.raises(WorkersLost):
                await fleet.call("work", "die")
            return await fleet.call("work", "alive"), fleet.deaths

    assert asyncio.run(main()) == ("alive", 6)


def test_a_worker_that_cannot_begin_says_why() -> None:
    async def main() -> None:
        work = Work("tests.fleet.deadly:deadly", {"unable": True})
        async with open_fleet(LocalExecutor(1), work, {}) as fleet:
            await fleet.call("work", "alive")

    with pytest.raises(Exception, match="cannot begin: there is no such sandbox"):
        asyncio.run(main())


class Idle(Executor):
    """Starts nobody: the test dials in itself."""

    workers, host, shares_disk = 1, "127.0.0.1", True

    def __init__(self) -> None:
        self.invitation: asyncio.Future[Invitation] = asyncio.get_running_loop().create_future()

    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        self.invitation.set_result(invitation)
        await asyncio.get_running_loop().create_future()


async def dialled(invitation: Invitation, token: str) -> Channel:
    """A connection to the driver on which a token has been shown."""
    reader, writer = await asyncio.open_connection(invitation.host, invitation.port)
    writer.write(token.encode())
    return Channel(reader, writer)


def test_who_does_not_show_the_token_gets_no_answer() -> None:
    async def main() -> None:
        idle, question = Idle(), {"version": harness.__version__}
        async with open_fleet(idle, Work("tests.fleet.deadly:deadly", {}), {}) as fleet:
            invitation = await idle.invitation
            token = invitation.token
            known = await dialled(invitation, token)
            assert (await known.ask("hello", question))["entry"] == "tests.fleet.deadly:deadly"
            for other in ("0" * len(token), token[:-1] + ("1" if token[-1] == "0" else "0")):
                stranger = await dialled(invitation, other)
                async with asyncio.timeout(5):
                    with pytest.raises(Gone):
                        await stranger.ask("hello", question)
            assert not fleet.arrivals
            known.close()
            await known.closed

    asyncio.run(main())


def test_another_version_is_what_is_told_whatever_follows_from_it() -> None:
    async def main() -> None:
        idle = Idle()
        async with open_fleet(idle, Work("tests.fleet.deadly:deadly", {}), {}) as fleet:
            invitation = await idle.invitation
            worker = await dialled(invitation, invitation.token)
            with pytest.raises(BadInput) as refused:
                await worker.ask("hello", {"version": "0"})
            worker.tell("unable", {"message": str(refused.value)})
            await worker.ask("hello", {"version": harness.__version__})  # it was heard
            worker.close()
            await worker.closed
            with pytest.raises(BadInput, match="install the same on every node"):
                await fleet.call("work", "alive")

    asyncio.run(main())


def test_workers_that_never_begin_are_not_started_for_ever() -> None:
    async def main() -> None:
        nobody = Invitation("127.0.0.1", free_port(), "0")
        await LocalExecutor(1).place(Work("x:y", {}), nobody, lambda: 0)

    with pytest.raises(Unreachable, match="5 workers in a row ended before they could begin"):
        asyncio.run(main())
