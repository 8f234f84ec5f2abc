"""Changing a run: state, outputs, source, branches; comparing and naming them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import MessagesState  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.managed import RemainingSteps  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import (
    Debugger,
    Point,
    compare,
    copy_thread,
    listed,
    load_graph,
    thread_ids,
    timeline,
)
from tests.debug.shapes import Log, chain, counter, fan, inner, leaf, leaves, loop
from tests.debug.suite import asked_inside, conditional, modelled, sending, worker

EMPTY: dict[str, Any] = {"path": []}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def point_of(debugger: Debugger, node: str, branch: str = "main") -> Point:
    """Return the point at which the node ran first."""
    events = timeline(debugger.graph, debugger.history(branch))
    return next(event.point for event in events if event.node == node)


def test_state_is_edited_in_place_and_the_first_branch_stays(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(loop(counter(log, "body"), 4), store)
    debugger.start(EMPTY)
    debugger.step()
    stop = debugger.edit({"n": 3}, name="later")
    assert stop.task is not None
    assert (stop.task.where, debugger.state()) == ("body", {"path": ["body0"], "n": 3})
    assert debugger.go().values == {"path": ["body0", "body3"], "n": 4}
    assert log == ["body", "body"]
    first = debugger.history("main")
    latest = first.latest()
    assert latest is not None
    assert first.load(latest).checkpoint["channel_values"]["n"] == 1


def test_state_inside_a_sub_graph_is_edited(store: CheckpointStore) -> None:
    log: Log = []
    graph = chain({"a": leaf(log, "a"), "sub": inner(log, "i", 2), "z": leaf(log, "z")})
    debugger = Debugger(graph, store)
    debugger.start(EMPTY)
    debugger.step()
    debugger.step_into()
    debugger.step()
    stop = debugger.edit({"path": ["new"]})
    assert stop.task is not None
    assert stop.task.where == "sub/i1"
    assert debugger.go().values["path"] == ["a", "new", "i1", "z"]
    assert log == ["a", "i0", "i1", "z"]


def test_an_edit_beside_a_finished_branch_does_not_run_it_again(store: CheckpointStore) -> None:
    log: Log = []
    graph = fan(leaf(log, "before"), leaves(log, "x", "y"), leaf(log, "after"))
    debugger = Debugger(graph, store)
    debugger.start(EMPTY)
    debugger.step()
    debugger.step()
    stop = debugger.edit({"n": 5})
    assert stop.task is not None
    assert stop.task.where == "y"
    assert debugger.go().values == {"path": ["before", "x", "y", "after"], "n": 5}
    assert log == ["before", "x", "y", "after"]


def test_values_that_do_not_fit_the_schema_change_nothing(store: CheckpointStore) -> None:
    debugger = Debugger(loop(counter([], "body"), 4), store)
    stop = debugger.start(EMPTY)
    with pytest.raises(BadInput, match=r"state key 'n': .*integer, found 'three'"):
        debugger.edit({"n": "three"})
    with pytest.raises(BadInput, match=r"state key 'path'\[0\]: .* found 1"):
        debugger.edit({"path": [1]})
    with pytest.raises(BadInput, match="no key 'm'; it has path, n"):
        debugger.edit({"m": 1})
    assert debugger.last == stop
    assert [branch.name for branch in listed(store)] == ["main"]
    debugger.quit()


def test_models_as_state_are_edited(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(modelled(log), store)
    debugger.start(EMPTY)
    debugger.step()
    debugger.edit({"path": ["edited"]})
    assert debugger.go().values["path"] == ["edited", "i0", "i1", "z"]


def test_the_output_of_a_past_node_is_edited_and_routes_follow_it(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(loop(counter(log, "body"), 4), store)
    debugger.start(EMPTY, hold=False)
    log.clear()
    point = point_of(debugger, "body")
    stop = debugger.edit_output(point, {"path": ["mine"], "n": 3}, name="shortcut")
    assert stop.task is not None
    assert debugger.go().values == {"path": ["mine", "body3"], "n": 4}
    assert log == ["body"]


def test_the_output_of_one_send_is_edited_and_the_others_are_kept(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(sending(log, worker(log)), store)
    debugger.start(EMPTY, hold=False)
    log.clear()
    debugger.edit_output(point_of(debugger, "work"), {"path": ["mine"]})
    assert debugger.go().values["path"] == ["plan", "mine", "work1", "work2", "join"]
    assert log == ["join"]


def test_the_output_of_a_node_in_a_sub_graph_is_edited(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(asked_inside(log), store)
    debugger.start(EMPTY, hold=False)
    debugger.answer("yes")
    log.clear()
    stop = debugger.edit_output(point_of(debugger, "sub/ask"), {"path": ["asked"]})
    assert stop.task is not None
    assert stop.task.where == "sub/i2"
    assert debugger.go().values["path"][-3:] == ["asked", "i2", "z"]
    assert log == ["i2", "z"]


def test_one_parallel_branch_is_run_again_alone(store: CheckpointStore) -> None:
    log: Log = []
    graph = fan(leaf(log, "before"), leaves(log, "x", "y"), leaf(log, "after"))
    debugger = Debugger(graph, store)
    debugger.start(EMPTY, hold=False)
    log.clear()
    assert debugger.fork(point_of(debugger, "y"), hold=False).reason == "done"
    assert log == ["y", "after"]


def test_a_run_is_rewound(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(loop(counter(log, "body"), 3), store)
    debugger.start(EMPTY, hold=False)
    stop = debugger.rewind(2)
    assert stop.task is not None
    assert debugger.state() == {"path": ["body0"], "n": 1}
    assert stop.task.visit == 2
    with pytest.raises(BadInput, match="expected 1 to 2 steps back, found 9"):
        debugger.rewind(9)
    debugger.quit()


def test_branches_have_names_and_parents(store: CheckpointStore) -> None:
    debugger = Debugger(loop(counter([], "body"), 3), store)
    debugger.start(EMPTY, hold=False)
    point = point_of(debugger, "body")
    debugger.fork(point, name="other", values={"n": 1}, hold=False)
    debugger.fork(point, of="other", name="third", hold=False)
    tree = {branch.name: (branch.kind, branch.parent) for branch in listed(store)}
    assert tree == {
        "main": ("run", None),
        "other": ("state edit", "main"),
        "third": ("fork", "main.1"),
    }
    with pytest.raises(BadInput, match=r"'other' belongs to thread 'main\.1'"):
        debugger.fork(point, name="other")
    with pytest.raises(BadInput, match="no branch 'fourth'; there are main, other, third"):
        debugger.fork(point, of="fourth")


def test_two_branches_are_compared_step_by_step(store: CheckpointStore) -> None:
    debugger = Debugger(loop(counter([], "body"), 3), store)
    debugger.start(EMPTY, hold=False)
    events = timeline(debugger.graph, debugger.history("main"))
    debugger.edit_output(events[1].point, {"path": ["other"], "n": 2}, name="other")
    debugger.go()
    result = compare(debugger.history("main"), debugger.history("other"))
    assert result.divergence is not None
    assert result.divergence.place == ((), 2)
    assert [(change.path, change.before, change.after) for change in result.divergence.changes] == [
        (("path", 1), "body1", "other")
    ]
    assert [pair.same for pair in result.pairs] == [True, True, True, False, False]
    same = compare(debugger.history("main"), debugger.history("main"))
    assert same.divergence is None


def test_the_timeline_tells_what_ran_wrote_and_chose(store: CheckpointStore) -> None:
    debugger = Debugger(conditional([]), store)
    debugger.start(EMPTY, hold=False)
    events = timeline(debugger.graph, debugger.history())
    shown = [(event.node, event.wrote, event.goes_to) for event in events]
    assert shown == [
        ("a", (("path", ["a"]),), ("right",)),
        ("right", (("path", ["right"]),), ("z",)),
        ("z", (("path", ["z"]),), ()),
    ]


SOURCE = """
import operator
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    path: Annotated[list[str], operator.add]

def first(state):
    with open({calls!r}, "a") as calls:
        calls.write("first\\n")
    return {{"path": ["first"]}}

def second(state):
    return {{"path": [{body}]}}

builder = StateGraph(State)
builder.add_node("first", first)
inner = StateGraph(State).add_node("second", second).add_edge(START, "second")
builder.add_node("sub", inner.compile())
builder.add_edge(START, "first")
builder.add_edge("first", "sub")

def make(config):
    return builder
"""


def test_a_node_is_mended_reloaded_and_run_without_its_predecessors(
    store: CheckpointStore, tmp_path: Path
) -> None:
    file, calls = tmp_path / "mine.py", tmp_path / "calls"
    file.write_text(SOURCE.format(calls=str(calls), body="1 / 0"))
    debugger = Debugger(load_graph(f"{file}:make"), store)
    stop = debugger.start(EMPTY, hold=False)
    assert stop.failure is not None
    assert stop.failure.type == "ZeroDivisionError"
    file.write_text(SOURCE.format(calls=str(calls), body="'mended'"))
    stop = debugger.reload(load_graph(f"{file}:make"))
    assert stop.task is not None
    assert stop.task.where == "sub/second"
    assert debugger.go().values["path"] == ["first", "first", "mended"]
    assert calls.read_text() == "first\n"


def test_a_thread_of_langgraphs_saver_is_copied_and_forked(
    store: CheckpointStore, tmp_path: Path
) -> None:
    log: Log = []
    graph = chain({"a": leaf(log, "a"), "sub": inner(log, "i", 2), "z": leaf(log, "z")})
    file = tmp_path / "theirs.sqlite"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        graph.checkpointer = saver
        expected = graph.invoke(EMPTY, {"configurable": {"thread_id": "t"}}, durability="sync")
    before = file.read_bytes()
    graph.checkpointer = None
    log.clear()
    assert thread_ids(f"sqlite:///{file}") == ["t"]
    copy_thread(str(file), "t", store)
    debugger = Debugger(graph, store)
    stop = debugger.fork(point_of(debugger, "sub/i1", "t"), of="t", hold=False)
    assert (stop.values, log) == (expected, ["i1", "z"])
    assert file.read_bytes() == before
    with pytest.raises(BadInput, match="no thread 'u'"):
        copy_thread(str(file), "u", store)
    with pytest.raises(BadInput, match="found nothing at"):
        copy_thread(str(tmp_path / "absent"), "t", store, "t2")


def test_a_replay_marks_where_a_changed_graph_leaves_the_recording(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(chain(leaves(log, "a", "b", "c")), store)
    debugger.start(EMPTY, hold=False)
    log.clear()

    def other(state: Any) -> dict[str, Any]:
        log.append("b2")
        return {"path": ["b2"]}

    changed = Debugger(chain({"a": leaf(log, "a"), "b2": other, "c": leaf(log, "c")}), store)
    stop = changed.replay("main")
    assert stop.task is not None
    assert (stop.reason, stop.task.where, log) == ("left recording", "b2", [])
    assert changed.go().values["path"] == ["a", "b2", "c"]
    assert log == ["b2", "c"]
    log.clear()
    assert changed.replay("main", beyond="live").reason == "done"
    assert log == ["b2", "c"]
    left = [branch.left_at for branch in listed(store) if branch.kind == "replay"]
    assert left == ["b2", "b2"]


def test_messages_without_ids_are_replayed_with_the_ids_they_got(store: CheckpointStore) -> None:
    log: Log = []

    def say(name: str) -> Any:
        def node(state: Any) -> dict[str, Any]:
            log.append(name)
            return {"messages": [AIMessage(name), ("user", f"and {name}?")]}

        return node

    branches = {"x": say("x"), "y": say("y")}
    debugger = Debugger(fan(say("before"), branches, say("after"), MessagesState), store)
    first = debugger.start({"messages": [("user", "hi")]}, hold=False)
    log.clear()
    stop = debugger.replay("main")
    assert (stop.reason, log) == ("done", [])
    assert stop.values == first.values
    assert len({message.id for message in stop.values["messages"]}) == 9
    assert debugger.branch is not None
    both = [debugger.history(name) for name in ("main", debugger.branch.name)]
    assert compare(*both).divergence is None


class Limited(MessagesState):
    """State of LangGraph's prebuilt agent: messages, and the steps that are left."""

    remaining_steps: RemainingSteps


def test_the_steps_that_are_left_do_not_count_as_input(store: CheckpointStore) -> None:
    log: Log = []

    def speak(state: Limited) -> dict[str, Any]:
        log.append("speak")
        return {"messages": [AIMessage(f"{state['remaining_steps'] > 2}")]}

    debugger = Debugger(chain({"speak": speak, "again": speak}, Limited), store)
    stop = debugger.start({"messages": []}, hold=False)
    assert [message.content for message in stop.values["messages"]] == ["True", "True"]
    log.clear()
    assert debugger.replay("main").reason == "done"
    assert log == []
