"""Whatever the graph: under the debugger it comes to the states that LangGraph comes to alone."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import Command

from harness.checkpoints import open_store, same
from harness.core import BadInput
from harness.debug import Debugger, Point, Stop
from tests.debug.shapes import Log, Shape
from tests.debug.strangers import NO_START, STRANGERS, UNSTORED
from tests.debug.suite import SHAPES

ALL = [*SHAPES, *STRANGERS]
SECONDS = 60
"""Until a session that does not come back is a hang."""


def within(work: Callable[[], None]) -> None:
    """Do `work` under a watchdog."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised again in the test's thread
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "the session hangs"
    if raised:
        raise raised[0]


def answer_to(shape: Shape, question: Any) -> Any:
    """The same answer to the same question, whoever asks it."""
    return f"{shape.answers[0]}:{question}"


def alone(shape: Shape) -> Any:
    """What LangGraph returns without a debugger."""
    graph = copy.copy(shape.build([]))
    asks = bool(shape.answers) or "static" in shape.name or "memory" in shape.name
    stateful = asks or "stateful" in shape.name
    if stateful:
        graph.checkpointer = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=True))
    config: Any = {"configurable": {"thread_id": "1"}}
    durable: Any = {"durability": "sync"} if stateful else {}

    async def run() -> Any:
        values = await graph.ainvoke(shape.start or NO_START, config, **durable)
        while stateful:
            state = await graph.aget_state(config)
            if state.interrupts:
                answers = {i.id: answer_to(shape, i.value) for i in state.interrupts}
                values = await graph.ainvoke(Command(resume=answers), config, **durable)
            elif state.next:
                values = await graph.ainvoke(None, config, **durable)
            else:
                break
        return {key: value for key, value in values.items() if key != "__interrupt__"}

    return asyncio.run(run())


def finish(shape: Shape, debugger: Debugger, stop: Stop, move: str = "go") -> Any:
    """Go on with one command, answering what is asked."""
    for _ in range(200):
        if stop.reason == "interrupt":
            answers = {name: answer_to(shape, value) for name, value in stop.interrupts.items()}
            stop = debugger.answer(answers, hold=move != "go")
        elif stop.ended:
            break
        else:
            stop = getattr(debugger, move)()
    assert stop.reason == "done", stop
    return {key: value for key, value in stop.values.items() if key != "__interrupt__"}


def moves(move: str) -> Callable[[Shape, Debugger, Path], list[Any]]:
    def way(shape: Shape, debugger: Debugger, path: Path) -> list[Any]:
        stop = debugger.start(shape.start or NO_START, hold=move != "go")
        return [finish(shape, debugger, stop, move)]

    return way


def forks(shape: Shape, debugger: Debugger, path: Path) -> list[Any]:
    """From every checkpoint, in every namespace."""
    results = moves("go")(shape, debugger, path)
    for moment in debugger.history().trail():
        try:
            stop = debugger.fork(Point(moment.ns, moment.id), of="main", hold=False)
        except BadInput as error:
            assert shape.name == UNSTORED and "'thing' holds a Connection" in str(error)
            continue
        results.append(finish(shape, debugger, stop))
    return results


def edits(shape: Shape, debugger: Debugger, path: Path) -> list[Any]:
    """At every stop, a key set to the value that it has."""
    stop, results = debugger.start(shape.start or NO_START), list[Any]()
    for number in range(20):
        if stop.ended:
            break
        state = debugger.state()
        if (key := next(iter(state), None)) is not None and isinstance(state[key], int | list):
            try:
                stop = debugger.edit({key: state[key]}, name=f"edit{number}")
            except BadInput as error:  # for a reason of its own
                reasons = ("'thing' holds a Connection", "functional interface", "its `Send`")
                assert any(reason in str(error) for reason in reasons)
        if stop.reason not in ("interrupt", "done"):
            stop = debugger.step()
    results.append(finish(shape, debugger, stop))
    return results


def replays(shape: Shape, debugger: Debugger, path: Path) -> list[Any]:
    results = moves("go")(shape, debugger, path)
    stop = debugger.replay("main")
    assert stop.reason == "done", stop
    return [*results, stop.values]


def kills(shape: Shape, debugger: Debugger, path: Path) -> list[Any]:
    """Left after each number of steps, and resumed by a session that knows the file alone."""
    results: list[Any] = []
    for number in range(6):
        thread = f"t{number}"
        stop = debugger.start(shape.start or NO_START, thread=thread)
        for _ in range(number):
            stop = stop if stop.ended else debugger.step_into()
        debugger.quit()
        with open_store(path) as store:
            again = Debugger(debugger.graph, store)
            try:
                stop = again.open(thread)
                if stop.reason == "suspended":
                    stop = again.resume(thread)
                result = finish(shape, again, stop)
                results += [] if shape.name in LOST | IN_PART else [result]
            except BadInput as error:
                assert shape.name in LOST and "thing" in str(error)
            again.quit()
    return results


LOST = {
    UNSTORED,
    "numbers of numpy",
    "a large integer",
    "a function",
    "a table",
    "an array of objects",
}
"""Shapes with values that another session cannot have: it says so."""
IN_PART = {"private fields", "tuples", "subclasses of dict"}
"""Shapes with values of which LangGraph's format keeps a part, for another session."""
WAYS: dict[str, Callable[[Shape, Debugger, Path], list[Any]]] = {
    "go": moves("go"),
    "step": moves("step"),
    "into": moves("step_into"),
    "out": moves("step_out"),
    "fork": forks,
    "edit": edits,
    "replay": replays,
    "kill": kills,
}
SAMPLE = [(shape, [*WAYS][number % len(WAYS)]) for number, shape in enumerate(ALL)]
"""Every shape in one way; together, all ways."""


def conforms(shape: Shape, way: str, folder: Path) -> None:
    expected = alone(shape)

    def work() -> None:
        log: Log = []
        path = folder / "c.sqlite"
        with open_store(path) as store:
            debugger = Debugger(shape.build(log), store)
            try:
                results = WAYS[way](shape, debugger, path)
            finally:
                debugger.quit()
        for result in results:
            if not same(result, expected):
                assert result == expected, f"{way} of {shape.name!r}"

    within(work)


@pytest.mark.parametrize(("shape", "way"), SAMPLE, ids=lambda part: getattr(part, "name", part))
def test_a_sample_of_ways_comes_to_what_langgraph_comes_to(
    shape: Shape, way: str, tmp_path: Path
) -> None:
    conforms(shape, way, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", ALL, ids=lambda shape: shape.name)
def test_every_way_comes_to_what_langgraph_comes_to(shape: Shape, way: str, tmp_path: Path) -> None:
    conforms(shape, way, tmp_path)


def test_there_are_sixty_shapes_and_no_two_of_one_name() -> None:
    assert len({shape.name for shape in ALL}) == len(ALL) >= 60
