"""Finished runs of ours: an agent's attempt replayed without a call, a trajectory played back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.checkpoints import open_store
from harness.core import assets
from harness.debug import (
    Breakpoint,
    Debugger,
    History,
    compare,
    digest_of,
    shown,
    timeline,
    trajectory_graph,
)
from tests.agents.scripted import action, attempt, completion, in_order

SCRIPT = in_order(
    action("python", '{"code": "print(6 * 7)"}'), completion("42\nACTION: TASK_COMPLETE")
)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def digests(store: Any, thread: str) -> list[str]:
    history = History(store, thread)
    return [digest_of(store.serde, shown(history.load(moment))) for moment in history.trail()]


def test_a_finished_attempt_is_replayed_without_a_call(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    work = tmp_path / "work"
    work.mkdir()
    run, served = attempt(SCRIPT, work, tools=("python",), protocol="text", checkpoints=path)
    assert (run.answer, len(served.bodies)) == ("42", 2)
    with open_store(path) as store:
        debugger = Debugger(assets.load_graph("react"), store)
        stop = debugger.replay("s")
        assert (stop.reason, stop.values["answer"]) == ("done", "42")
        assert debugger.recording is not None
        assert debugger.recording.left_at is None
        assert debugger.branch is not None
        assert digests(store, debugger.branch.thread) == digests(store, "s")
        nodes = [event.node for event in timeline(debugger.graph, debugger.history("s"))]
        assert nodes == ["think", "act", "think"]
    assert len(served.bodies) == 2


def test_a_finished_attempt_is_forked_with_another_observation(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.sqlite"
    attempt(SCRIPT, tmp_path, tools=("python",), protocol="text", checkpoints=path)
    with open_store(path) as store:
        debugger = Debugger(assets.load_graph("react"), store)
        events = timeline(debugger.graph, debugger.history("s"))
        point = next(event.point for event in events if event.node == "act")
        told = {"messages": [{"role": "user", "content": "41"}], "pending": []}
        stop = debugger.edit_output(point, told, of="s")
        assert stop.task is not None
        assert stop.task.node == "think"
        assert debugger.state()["messages"][-1] == {"role": "user", "content": "41"}
        debugger.quit()


def test_a_trajectory_is_played_back_with_breakpoints(tmp_path: Path) -> None:
    run, _ = attempt(SCRIPT, tmp_path, tools=("python",), protocol="text")
    start: dict[str, Any] = {"messages": [], "tokens": 0}
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(trajectory_graph(run.trajectory), store)
        point = debugger.breakpoints.add(Breakpoint("agent", visit=2))
        stop = debugger.start(start, hold=False)
        assert stop.task is not None
        assert (stop.reason, stop.task.node) == ("breakpoint", "agent")
        assert "42" in str(debugger.state()["messages"][-1])
        stop = debugger.go()
        assert stop.reason == "done"
        played = [message for message in stop.values["messages"] if "source" in message]
        kept = [
            step.model_dump(mode="json", exclude_none=True, exclude={"observation"})
            for step in run.trajectory.steps
        ]
        assert played == kept
        debugger.breakpoints.remove(point)
        debugger.start(start, thread="again", hold=False)
        both = [debugger.history("main"), debugger.history("again")]
        assert compare(*both).divergence is None
        debugger.quit()
