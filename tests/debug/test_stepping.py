"""Running under control: steps, breakpoints, watches, pauses, exceptions, interrupts."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import Breakpoint, Debugger, Stop, TaskInfo
from harness.debug.engine.controller import FREE, Controller, Mode
from harness.debug.engine.stops import Breakpoints
from tests.debug.shapes import Log, calling, chain, counter, fan, inner, leaf, leaves, loop
from tests.debug.suite import asked_in_parallel, asking_twice, functional, sending, worker

EMPTY: dict[str, Any] = {"path": []}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def place(stop: Stop) -> str:
    return stop.task.where if stop.task is not None else stop.reason


def places(debugger: Debugger, stop: Stop, move: str = "step") -> list[str]:
    """List every stop until the end."""
    found = [place(stop)]
    while not stop.ended:
        stop = getattr(debugger, move)()
        found.append(place(stop))
    return found


def in_sub(log: Log) -> Any:
    return chain({"a": leaf(log, "a"), "sub": inner(log, "i", 2), "z": leaf(log, "z")})


def test_step_goes_over_a_sub_graph_and_step_into_goes_in(store: CheckpointStore) -> None:
    over, into = Debugger(in_sub([]), store), Debugger(in_sub([]), store)
    assert places(over, over.start(EMPTY, thread="1")) == ["a", "sub", "z", "done"]
    expected = ["a", "sub", "sub/i0", "sub/i1", "z", "done"]
    assert places(into, into.start(EMPTY, thread="2"), "step_into") == expected


def test_step_out_runs_the_rest_of_the_inner_graph(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(in_sub(log), store)
    debugger.start(EMPTY)
    debugger.step()
    assert place(debugger.step_into()) == "sub/i0"
    assert place(debugger.step_out()) == "z"
    assert log == ["a", "i0", "i1"]
    debugger.quit()


def test_a_graph_that_a_function_calls_is_stepped_into(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(chain({"call": calling(inner(log, "i", 2)), "z": leaf(log, "z")}), store)
    expected = ["call", "call/i0", "call/i1", "z", "done"]
    assert places(debugger, debugger.start(EMPTY), "step_into") == expected


def test_parallel_branches_are_shown_and_stepped_one_by_one(store: CheckpointStore) -> None:
    log: Log = []
    graph = fan(leaf(log, "before"), leaves(log, "x", "y"), leaf(log, "after"))
    debugger = Debugger(graph, store)
    debugger.start(EMPTY)
    stop = debugger.step()
    assert [task.node for task in stop.waiting] == ["x", "y"]
    stop = debugger.step()
    assert (place(stop), log) == ("y", ["before", "x"])
    assert place(debugger.step()) == "after"
    debugger.quit()


def test_every_send_of_a_fan_out_is_a_stop(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(sending(log, worker(log)), store)
    debugger.start(EMPTY)
    stop = debugger.step()
    assert [task.visit for task in stop.waiting] == [1, 2, 3]
    assert all(task.path[0] == "__pregel_push" for task in stop.waiting)
    debugger.step()
    assert log == ["plan", "work0"]
    assert debugger.go().values["path"] == ["plan", "work0", "work1", "work2", "join"]


def test_tasks_of_the_functional_interface_are_stops(store: CheckpointStore) -> None:
    debugger = Debugger(functional([]), store)
    found = places(debugger, debugger.start({"n": 1}), "step_into")
    assert found == ["flow", "flow/double", "flow/double", "done"]


def test_breakpoints_stop_by_node_visit_and_condition(store: CheckpointStore) -> None:
    debugger = Debugger(loop(counter([], "body"), 6), store)
    third = debugger.breakpoints.add(Breakpoint("body", visit=3))
    debugger.breakpoints.add(Breakpoint("body", condition="n >= 4 and len(path) == n"))
    debugger.breakpoints.watch("n * 10")
    stop = debugger.start(EMPTY, hold=False)
    assert (stop.reason, stop.breakpoint, stop.watches) == ("breakpoint", third, {"n * 10": 20})
    stop = debugger.go()
    assert (stop.breakpoint, debugger.state()["n"]) == (third + 1, 4)
    debugger.breakpoints.remove(third + 1)
    assert debugger.go().reason == "done"
    assert debugger.breakpoints.visits() == {"body": 6}


def test_a_breakpoint_inside_a_sub_graph_stops_a_step_over_it(store: CheckpointStore) -> None:
    debugger = Debugger(in_sub([]), store)
    debugger.breakpoints.add(Breakpoint("sub/i1"))
    debugger.start(EMPTY)
    debugger.step()
    stop = debugger.step()
    assert (place(stop), stop.reason) == ("sub/i1", "breakpoint")
    assert [task.where for task in stop.running] == ["sub"]
    debugger.quit()


def test_until_stops_at_the_node_once(store: CheckpointStore) -> None:
    debugger = Debugger(in_sub([]), store)
    debugger.start(EMPTY)
    assert place(debugger.until("i1")) == "sub/i1"
    assert debugger.breakpoints.points == {}
    debugger.quit()


def test_a_condition_over_a_missing_key_stops_nothing(store: CheckpointStore) -> None:
    debugger = Debugger(in_sub([]), store)
    debugger.breakpoints.add(Breakpoint("*", condition="absent > 1"))
    debugger.breakpoints.watch("absent")
    assert debugger.start(EMPTY, hold=False).reason == "done"


def test_a_live_run_is_paused_at_its_next_node(store: CheckpointStore) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(state: Any) -> dict[str, Any]:
        begun.set()
        gate.wait(20)
        return {"path": ["slow"]}

    debugger = Debugger(chain({"slow": slow, "z": leaf([], "z")}), store)
    stops: list[Stop] = []
    running = threading.Thread(target=lambda: stops.append(debugger.start(EMPTY, hold=False)))
    running.start()
    assert begun.wait(20)
    debugger.ask_pause()
    gate.set()
    running.join(20)
    assert [(stop.reason, place(stop)) for stop in stops] == [("pause", "z")]
    debugger.quit()


def broken(log: Log, state: dict[str, bool]) -> Any:
    def fails(values: Any) -> dict[str, Any]:
        secret = "seen"
        if state["broken"]:
            raise ValueError(f"bad {secret}")
        log.append("fails")
        return {"path": ["fails"]}

    return chain({"a": leaf(log, "a"), "sub": chain({"fails": fails}), "z": leaf(log, "z")})


def test_an_exception_stops_in_the_node_with_its_locals(store: CheckpointStore) -> None:
    log: Log = []
    state = {"broken": True}
    debugger = Debugger(broken(log, state), store)
    stop = debugger.start(EMPTY, hold=False)
    assert (stop.reason, place(stop)) == ("exception", "sub/fails")
    assert stop.failure is not None
    assert (stop.failure.type, stop.failure.message) == ("ValueError", "bad seen")
    last = stop.failure.frames[-1]
    assert last.function == "fails"
    assert last.locals["secret"] == "'seen'"
    assert last.code == 'raise ValueError(f"bad {secret}")'
    state["broken"] = False
    assert debugger.retry().values["path"][-2:] == ["fails", "z"]
    assert log == ["a", "fails", "z"]


def test_an_exception_in_pythons_own_code_shows_where_it_was_asked(store: CheckpointStore) -> None:
    def asks(values: Any) -> dict[str, Any]:
        variables, token = os.environ, "ghp_" + 18 * "a1"
        return {"path": [variables["NO_SUCH_VARIABLE"], token]}

    stop = Debugger(chain({"asks": asks}), store).start(EMPTY, hold=False)
    assert stop.failure is not None
    last = stop.failure.frames[-1]
    assert (stop.failure.type, last.function) == ("KeyError", "asks")
    assert last.locals["variables"] == "the environment"
    assert "a1a1" not in last.locals["token"]


def test_an_exception_that_is_passed_on_ends_the_run_and_can_be_resumed(
    store: CheckpointStore,
) -> None:
    log: Log = []
    state = {"broken": True}
    debugger = Debugger(broken(log, state), store, stop_on_exception=False)
    stop = debugger.start(EMPTY, hold=False)
    assert stop.reason == "failed"
    assert stop.failure is not None
    assert stop.failure.type == "ValueError"
    state["broken"] = False
    assert debugger.resume(hold=False).reason == "done"
    assert log == ["a", "fails", "z"]


def test_a_node_that_raised_can_be_given_an_output(store: CheckpointStore) -> None:
    debugger = Debugger(broken([], {"broken": True}), store)
    debugger.start(EMPTY, hold=False)
    assert place(debugger.serve({"path": ["by hand"]})) == "z"
    assert debugger.go().values["path"][-2:] == ["by hand", "z"]


def test_interrupts_are_shown_and_answered(store: CheckpointStore) -> None:
    debugger = Debugger(asking_twice([]), store)
    stop = debugger.start(EMPTY, hold=False)
    assert [*stop.interrupts.values()] == ["first?"]
    stop = debugger.answer(1)
    assert [*stop.interrupts.values()] == ["second?"]
    assert debugger.answer(2).values["path"] == ["a", "12", "z"]
    with pytest.raises(BadInput, match="waits for an answer"):
        debugger.answer(3)


def test_an_interrupt_beside_a_branch_keeps_what_the_branch_did(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(asked_in_parallel(log), store)
    stop = debugger.start(EMPTY, hold=False)
    assert stop.reason == "interrupt"
    assert debugger.answer("yes").values["path"] == ["before", "ask=yes", "plain", "after"]
    assert log.count("plain") == 1


def test_a_session_that_was_left_is_resumed_by_another(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(in_sub(log), store)
    debugger.start(EMPTY)
    debugger.step()
    debugger.step_into()
    debugger.step()
    debugger.quit()
    again = Debugger(in_sub(log), store)
    assert place(again.resume("main")) == "sub"
    assert again.go().reason == "done"
    assert log == ["a", "i0", "i1", "z"]


def test_a_graph_outside_the_debugger_is_left_alone(store: CheckpointStore) -> None:
    graph = in_sub([])
    debugger = Debugger(graph, store)
    debugger.start(EMPTY)
    assert graph.invoke(EMPTY)["path"][-1] == "z"
    debugger.quit()


def test_commands_without_a_run_say_so(store: CheckpointStore) -> None:
    debugger = Debugger(in_sub([]), store)
    for command in (debugger.step, debugger.go, debugger.step_out, debugger.retry):
        with pytest.raises(BadInput, match="does not stand in front of a node"):
            command()


def test_a_breakpoint_without_a_condition_does_not_read_the_state() -> None:
    points = Breakpoints()
    number = points.add(Breakpoint("node"))
    info = TaskInfo("1", "node", (), ns="", checkpoint="", own_ns="node:1", step=1, path=())
    unreadable = None
    assert points.hit(info, unreadable) == number


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_release_before_the_wait_does_not_answer_the_next_stop(asynchronous: bool) -> None:
    controller = Controller(Breakpoints(), mode=Mode())

    class Stops(queue.Queue[Stop]):
        def put(self, item: Stop, block: bool = True, timeout: float | None = None) -> None:
            super().put(item, block, timeout)
            if item.reason == "step":  # the user is faster than the task that begins to wait
                controller.release(FREE)

    controller.stops = Stops()
    place = {"checkpoint_ns": "node:1"}
    task = SimpleNamespace(
        id="1", name="node", path=("__pregel_pull", "node"), input={}, writes=[],
        config={"configurable": place},
    )  # fmt: skip
    runs: list[str] = []

    def node() -> None:
        runs.append("node")
        raise ValueError

    async def anode() -> None:
        node()

    def work() -> None:
        with suppress(ValueError):
            if asynchronous:
                asyncio.run(controller.around_async(task, anode))
            else:
                controller.around(task, node)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert [controller.stops.get(timeout=20).reason for _ in "12"] == ["step", "exception"]
    time.sleep(0.1)
    assert (runs, thread.is_alive()) == (["node"], True)
    controller.release(FREE)
    thread.join(20)
    assert (runs, thread.is_alive()) == (["node"], False)
