"""The time for which a person thinks is charged to no node."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import id as checkpoint_id  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.graph import START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import interrupt

from harness.checkpoints import open_store
from harness.debug import Debugger, Point
from harness.debug.web.steps import steps
from tests.debug.web.agent import graph

HOUR = 3600.0


class Clock:
    """The machine's clock, set forward where a person would think."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Checkpoints are made by this clock, too."""
        self.ahead = 0.0
        now, ticks = time.time, time.time_ns
        patch.setattr(time, "time", lambda: now() + self.ahead)
        patch.setattr(time, "time_ns", lambda: ticks() + int(self.ahead * 1e9))
        patch.setattr(checkpoint_id, "_last_v6_timestamp", None)

    def think(self) -> None:
        """An hour goes by."""
        self.ahead += HOUR


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def spent(debugger: Debugger, thread: str) -> float:
    """Seconds that all steps of a thread are charged with."""
    rows = steps(debugger.graph, debugger.store, thread)["steps"]
    return sum(row["seconds"] or 0.0 for row in rows)


def test_the_clock_stands_while_a_run_stands(tmp_path: Path, clock: Clock) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(graph.compile(), store)
        stop = debugger.start({"path": [], "n": 1})
        while not stop.ended:
            clock.think()
            stop = debugger.step()
        assert clock.ahead >= 4 * HOUR
        assert 0 < spent(debugger, "main") < HOUR


def test_a_fork_and_another_process_begin_when_they_are_let_go(
    tmp_path: Path, clock: Clock
) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(graph.compile(), store)
        debugger.start({"path": []})
        debugger.step()
        clock.think()
        first = debugger.history().moments[1]
        debugger.fork(Point(first.ns, first.id))
        clock.think()
        debugger.go()
        assert spent(debugger, "main.1") < HOUR
        debugger.resume("main")
        debugger.quit()
    clock.think()
    with open_store(tmp_path / "c.sqlite") as store:
        later = Debugger(graph.compile(), store)
        later.resume("main", hold=False)
        assert spent(later, "main") < HOUR


class State(TypedDict, total=False):
    said: str


def ask(state: State) -> dict[str, Any]:
    return {"said": interrupt(state.get("said", "which?"))}


def test_an_answer_takes_no_time(tmp_path: Path, clock: Clock) -> None:
    asking: Any = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()  # pyright: ignore[reportUnknownMemberType]  # langgraph ships no stubs
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(asking, store)
        assert debugger.start({}, hold=False).reason == "interrupt"
        clock.think()
        assert debugger.answer("this").reason == "done"
        assert spent(debugger, "main") < HOUR
