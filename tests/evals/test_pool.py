"""Attempts side by side, and what is seen of a run before the first one ends."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from harness.agents import foreign
from harness.agents.types import AgentContext
from harness.api import EvalSettings, run_evaluation
from harness.core import Task
from harness.evals import Finished, ItemRecord, Pool, Tally, records, runner
from tests.models.http_server import Answer, completion, serve


class Attempter:
    """Counts attempts at a time.

    Attributes:
        most: of them.
        resized: what it was told.
        slots: as it says.
    """

    limits = None

    def __init__(self, slots: int | None) -> None:
        self.slots = slots
        self.most = self._now = self.resized = 0

    def resize(self, concurrency: int) -> None:
        self.resized = concurrency

    async def run(self, task: Task, epoch: int) -> Finished:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return ItemRecord(id=task.id, task_id=task.id, outcome="pass", value=1.0), None


@pytest.mark.parametrize(("asked", "slots", "most"), [(16, 4, 4), (2, 4, 2), (16, None, 16)])
def test_no_more_attempts_begin_than_the_model_answers(
    asked: int, slots: int | None, most: int
) -> None:
    """Others would wait for the model while their time runs."""
    attempter = Attempter(slots)
    tasks = [(Task(id=str(n), prompt="?"), 0) for n in range(40)]
    pool = Pool(attempter, tasks, asked)  # pyright: ignore[reportArgumentType]

    async def drained() -> int:
        return len([item async for item, _ in pool.results()])

    assert (asyncio.run(drained()), attempter.most) == (40, most)
    pool.resize(8)
    assert (pool.concurrency, attempter.resized) == (min(8, slots or 8), 8)


def settings(folder: Path, url: str, **more: object) -> EvalSettings:
    (folder / "tasks.csv").write_text("prompt,answer\nOne?,4\nTwo?,4\n")
    fields = {
        "suite": str(folder / "tasks.csv"), "out": folder / "run", "sandbox": "none",
        "models": ("openai/x",), "base_url": url, **more,
    }  # fmt: skip
    return EvalSettings.model_validate(fields)


def test_what_is_under_way_is_shown_before_the_first_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "BEAT_S", 0.02)
    seen, tallies = threading.Event(), list[tuple[int, int]]()

    def held(body: object) -> Answer:
        assert seen.wait(60), "nothing was shown while the answer was awaited"
        return completion("4")

    def show(label: str, tally: Tally) -> None:
        tallies.append((tally.done, tally.running))
        if tally.running == 2:
            seen.set()

    with serve(held) as served:
        [report] = run_evaluation(settings(tmp_path, served.url), on_progress=show)
    assert (report.passed, tallies[-1]) == (2, (2, 0))
    assert (0, 2) in tallies


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [({}, 120.0), ({"time_limit": 300}, 300.0), ({"working_limit": 7, "time_limit": 300}, 7.0)],
)
def test_the_limit_of_an_attempt_is_that_of_the_agents_process(
    limits: dict[str, float], seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    async def process(arguments: object, context: AgentContext, *_: object) -> bytes:
        given.append(context.limits.wall_s)
        return b"4"

    monkeypatch.setattr(foreign, "run_process", process)
    run_evaluation(settings(tmp_path, "http://127.0.0.1:9/v1", agent="cmd:true", **limits))
    assert given == [seconds] * 2


def test_an_agent_that_takes_too_long_is_told_the_option(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4")) as served:
        run_evaluation(settings(tmp_path, served.url, agent="cmd:sleep 60", time_limit=0.2))
    reasons = {item.reason for item in records(tmp_path / "run")}
    assert reasons == {"the agent took more than 0.2 s of work (--time-limit, --working-limit)"}
