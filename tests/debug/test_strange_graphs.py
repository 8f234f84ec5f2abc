"""Graphs of other people: types, arrays, memory, static interrupts, questions; and a way on."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel, ConfigDict, Field

from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import Debugger, History, Point, Stop, compare, load_graph, timeline
from harness.debug.terminal import Terminal
from harness.debug.web.steps import look, steps
from tests.debug.shapes import (
    Build,
    Log,
    Part,
    asker,
    builder,
    chain,
    counter,
    fan,
    leaf,
    leaves,
    loop,
)
from tests.debug.strangers import (
    NO_START,
    Colour,
    Connection,
    Desk,
    Pen,
    flow,
    full_case,
    hand_over,
    holding,
    ordered,
    own_state,
    read_case,
    remembering_in,
    static,
    static_inside,
    three_questions,
)
from tests.typed import typed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def said(debugger: Debugger, *lines: str) -> list[str]:
    """What each line answers."""
    answers: list[str] = []
    for line in lines:
        shown: list[str] = []
        Terminal(debugger, shown.append).do(line)
        answers.append("\n".join(shown))
    return answers


# Types of the graph's own file


def test_own_types_are_the_same_after_a_fork_and_in_a_replay(store: CheckpointStore) -> None:
    debugger = Debugger(own_state([]), store)
    debugger.start(NO_START)
    debugger.step()
    debugger.step()
    assert debugger.edit({"n": 4}).reason == "step"
    assert debugger.state()["case"] == full_case()
    assert debugger.go().values["path"][-1] == read_case(full_case())
    debugger.start(NO_START, thread="other", hold=False)
    assert debugger.replay("other").values["case"] == full_case()


APP = """
import enum
from dataclasses import dataclass
from typing import Any, TypedDict
from langgraph.graph import StateGraph

class Kind(enum.Enum):
    A = "a"

@dataclass
class Box:
    kind: Kind

class State(TypedDict, total=False):
    box: Any
    out: str

def make(state):
    return {"box": Box(Kind.A)}

def use(state):
    return {"out": f"{isinstance(state['box'], Box)} {state['box'].kind is Kind.A}"}

builder = StateGraph(State).add_node(make).add_node(use)
builder = builder.add_edge("__start__", "make").add_edge("make", "use")

if __name__ == "__main__":
    import sys
    from langgraph.checkpoint.sqlite import SqliteSaver
    with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
        graph = builder.compile(checkpointer=saver, interrupt_before=["use"])
        graph.invoke({}, {"configurable": {"thread_id": "7"}})
"""


def test_a_thread_of_an_application_has_the_types_of_its_file(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "app.py").write_text(APP)
    subprocess.run([sys.executable, "app.py", "app.sqlite"], cwd=tmp_path, check=True)
    arguments = ("debug", "app.py:builder", "--checkpoints", "app.sqlite", "--thread", "7")
    done = typed(*arguments, cwd=tmp_path, lines="continue\n")
    assert '"out": "True True"' in done.stdout, done.stderr


def test_types_of_an_edited_file_are_the_new_ones(tmp_path: Path, store: CheckpointStore) -> None:
    file = tmp_path / "app.py"
    file.write_text(APP)
    debugger = Debugger(load_graph(f"{file}:builder"), store)
    debugger.start({})
    debugger.step()
    file.write_text(APP.replace('f"{', 'f"new {'))
    debugger.reload(load_graph(f"{file}:builder"))
    assert debugger.go().values["out"] == "new True True"


def test_another_type_of_the_same_content_is_a_difference(store: CheckpointStore) -> None:
    histories: list[History] = []
    for number, value in enumerate((full_case, lambda: vars(full_case()))):
        debugger = Debugger(holding(value, str)([]), store)
        debugger.start(NO_START, thread=f"t{number}", hold=False)
        histories.append(debugger.history())
    parted = compare(*histories).divergence
    assert parted is not None and parted.changes[0].path[0] == "thing"


def test_a_type_that_no_code_of_the_graph_knows_is_not_made(store: CheckpointStore) -> None:
    class Foreign(BaseModel):
        n: int

    debugger = Debugger(chain(leaves([], "a", "b"), Desk), store)
    debugger.start({"thing": Foreign(n=1)}, hold=False)
    with open_store(store.path) as other:
        again = Debugger(chain(leaves([], "a", "b"), Desk), other)
        again.open("main")
        assert again.state()["thing"] == {"n": 1}


# Values that cannot be stored


@pytest.mark.parametrize(
    "value",
    [
        lambda: np.arange(4.0),
        lambda: {"x": [np.zeros((2, 2))]},
        lambda: pd.DataFrame({"a": [1, None]}),
        lambda: float("nan"),
        Connection,
    ],
)
def test_states_with_arrays_are_shown_compared_and_forked(
    store: CheckpointStore, value: Any
) -> None:
    debugger = Debugger(holding(value, lambda v: type(v).__name__)([]), store)
    stop = debugger.start(NO_START, hold=False)
    first = debugger.history().trail()[1]
    assert stop.reason == "done"
    debugger.fork(Point(first.ns, first.id), hold=False)
    assert compare(debugger.history("main"), debugger.history("main")).divergence is None
    for row in steps(debugger.graph, debugger.store, "main")["steps"]:
        json.dumps(look(debugger.store, "main", row["ns"], row["checkpoint"]))
    assert "ended" not in said(debugger, "state")[0]


def test_what_cannot_be_stored_is_named_and_refuses_forks_alone(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(holding(Connection, lambda v: type(v).__name__)(log), store)
    debugger.start(NO_START)
    assert debugger.step().held == ("thing (Connection)",)
    with pytest.raises(BadInput, match="'thing' holds a Connection, which can be neither"):
        debugger.edit({"n": 1})
    assert debugger.go().values["path"][-2:] == ["Connection", "z"]
    first = debugger.history().trail()[1]
    assert debugger.fork(Point("", first.id), of="main", hold=False).reason == "done"
    with open_store(store.path) as other:
        again = Debugger(holding(Connection, str)([]), other)
        assert again.open("main").reason == "done"
        assert "Connection, held in memory by a session" in repr(again.state()["thing"])
        with pytest.raises(BadInput, match="gone with its session: thing"):
            again.resume("main")


def test_a_value_that_is_overwritten_does_not_refuse_the_fork(store: CheckpointStore) -> None:
    debugger = Debugger(holding(Connection, lambda v: type(v).__name__)([]), store)
    debugger.start(NO_START)
    debugger.step()
    assert debugger.edit({"thing": 3}).reason == "step"
    assert debugger.go().values["path"][-2:] == ["int", "z"]


def test_a_restored_array_can_be_written_to(store: CheckpointStore) -> None:
    def write(value: Any) -> str:
        value[0] = 9
        return str(value)

    debugger = Debugger(holding(lambda: np.zeros(2), write)([]), store)
    debugger.start(NO_START)
    debugger.step()
    debugger.edit({"n": 1})
    assert debugger.go().values["path"][-2] == "[9. 0.]"


# Sub-graphs with a history of their own


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_graph_that_remembers_is_stepped_into_over_and_out_of(
    store: CheckpointStore, depth: int
) -> None:
    places: dict[str, list[str]] = {}
    for move in ("step", "step_into", "step_out"):
        debugger = Debugger(remembering_in([], depth), store)
        stop = debugger.start(NO_START, thread=move)
        found = places.setdefault(move, [])
        while not stop.ended:
            found.append(stop.task.where if stop.task else "")
            stop = getattr(debugger, move)()
        assert stop.values["path"][-1].startswith("m[0, 1]")
    assert places["step"] == ["body", "body"]
    assert sum(place.endswith("note") for place in places["step_into"]) == 2


def test_a_fork_inside_a_graph_that_remembers_stands_inside_it(store: CheckpointStore) -> None:
    log: Log = []
    debugger = Debugger(remembering_in(log, 3), store)
    expected = debugger.start(NO_START, hold=False).values
    inside = [moment for moment in debugger.history().trail() if moment.names[-1:] == ("in0",)]
    log.clear()
    point = Point(inside[2].ns, inside[2].id)
    stop = debugger.fork(point, of="main")
    assert (stop.task is not None and stop.task.where == "body/in1/in0/tell") or stop.task
    assert debugger.go().values == expected


def test_a_task_that_runs_again_forgets_what_its_graph_remembered_of_it(
    store: CheckpointStore,
) -> None:
    log: Log = []
    debugger = Debugger(remembering_in(log, 1), store)
    expected = debugger.start(NO_START, hold=False).values
    second = list(timeline(debugger.graph, debugger.history()))
    point = next(event.point for event in reversed(second) if event.node == "body")
    assert debugger.fork(point, hold=False).values == expected


# Values that a model refuses


class Frozen(BaseModel):
    """State that nobody assigns to."""

    model_config = ConfigDict(frozen=True)
    path: Annotated[list[str], operator.add] = []
    n: int = Field(0, ge=0)


def test_the_states_own_model_refuses_what_is_set(store: CheckpointStore) -> None:
    debugger = Debugger(ordered([]), store)
    debugger.start({"path": []})
    for value, reason in ((-1, "counts from 0"), (6, "above the most"), ("x", "integer")):
        with pytest.raises(BadInput, match=reason):
            debugger.edit({"n": value})
    assert debugger.edit({"n": 3}).reason == "step"
    assert debugger.go().values["n"] == 5
    frozen = Debugger(chain({"a": leaf([], "a")}, Frozen), store)
    frozen.start({"path": []}, thread="frozen")
    with pytest.raises(BadInput, match="greater than or equal"):
        frozen.edit({"n": -1})
    assert frozen.edit({"n": 1}).reason == "step"


class Holder(BaseModel):
    """A model as state that holds another."""

    path: Annotated[list[str], operator.add] = []
    pen: Pen = Pen(colour=Colour.RED)


class Choice(TypedDict, total=False):
    """State with a choice of texts."""

    path: Annotated[list[str], operator.add]
    mode: Literal["fast", "slow"]


@pytest.mark.parametrize(
    ("schema", "key", "wrong", "right"),
    [
        (Desk, "case", {"pens": [{"colour": "green"}]}, {"pens": [{"colour": "red"}]}),
        (Holder, "pen", {"colour": "green"}, {"colour": "blue", "ink": 1}),
        (Choice, "mode", "quick", "slow"),
    ],
)
def test_what_the_types_inside_a_state_refuse_is_not_set(
    store: CheckpointStore, schema: Any, key: str, wrong: Any, right: Any
) -> None:
    debugger = Debugger(chain(leaves([], "a", "b"), schema), store)
    debugger.start({"path": []})
    with pytest.raises(BadInput, match=f"state key '{key}'"):
        debugger.edit({key: wrong})
    assert debugger.edit({key: right}).reason == "step"
    assert debugger.go().reason == "done"


def test_a_state_that_its_model_refuses_is_listed(store: CheckpointStore) -> None:
    debugger = Debugger(ordered([]), store)
    debugger.start({"path": []})
    debugger.step()
    (point, *_) = [event.point for event in timeline(debugger.graph, debugger.history())]
    stop = debugger.edit_output(point, {"n": -4})
    assert (stop.reason, stop.failure and stop.failure.type) == ("failed", "ValidationError")
    (listing,) = said(debugger, "steps")
    assert "n=-4" in listing
    assert said(debugger, stop.hint[0])[0].startswith("[step] take")


def test_messages_are_set_as_messages(store: CheckpointStore) -> None:
    def reply(state: Any) -> dict[str, Any]:
        return {"messages": [HumanMessage(f"{type(state['messages'][0]).__name__}")]}

    debugger = Debugger(chain({"reply": reply}, MessagesState), store)
    for value in ('[{"role": "user", "content": "a"}]', '[["user", "a"]]'):
        debugger.start({"messages": [("user", "x")]}, thread=None)
        said(debugger, f"set messages {value}")
        assert [m.content for m in debugger.go().values["messages"]] == ["a", "HumanMessage"]
    debugger.start({"messages": []}, thread=None)
    assert said(debugger, "set messages [3]")[0].startswith("state key 'messages': expected mess")


# Limits, static interrupts, questions


def test_a_limit_of_steps_is_the_graphs_own_and_not_the_end(store: CheckpointStore) -> None:
    debugger = Debugger(loop(counter([], "body"), 1200), store)
    assert debugger.start(NO_START, hold=False).values["n"] == 1200
    limited = Debugger(loop(counter([], "body"), 9), store, config={"recursion_limit": 4})
    stop = limited.start(NO_START, thread="limited", hold=False)
    assert (stop.reason, stop.hint[0]) == ("failed", "continue")
    while stop.reason == "failed":
        stop = limited.go()
    assert stop.values["n"] == 9


@pytest.mark.parametrize(
    ("build", "limit"),
    [
        (lambda: chain(leaves([], *"abcdefghi")), 2),
        (lambda: loop(chain({"sub": counter([], "i")}), 9), 4),
        (lambda: hand_over([]), 2),
        (lambda: loop(chain(leaves([], *"abc") | {"n": counter([], "n")}), 2), 3),
    ],
)
def test_every_graph_goes_on_behind_a_limit_of_steps(
    store: CheckpointStore, build: Any, limit: int
) -> None:
    debugger = Debugger(build(), store, config={"recursion_limit": limit})
    stop, failures = debugger.start(NO_START, hold=False), 0
    while stop.hint[0] == "continue" and failures < 20:
        stop, failures = debugger.go(), failures + 1
    assert stop.reason == "done" and failures
    free = Debugger(build(), store).start(NO_START, thread="free", hold=False)
    assert stop.values == free.values


@pytest.mark.parametrize("move", ["go", "step", "step_into", "step_out"])
def test_a_static_interrupt_is_a_stop_like_others(store: CheckpointStore, move: str) -> None:
    for number, build in enumerate(
        (
            lambda: static([], interrupt_before=["b"]),
            lambda: static([], interrupt_after=["a"]),
            lambda: static_inside([]),
        )
    ):
        debugger = Debugger(build(), store)
        stop = debugger.start(NO_START, thread=f"t{number}", hold=False)
        where = "sub/i1" if number == 2 else "b"
        assert (stop.reason, stop.task and stop.task.where) == ("static interrupt", where)
        while not stop.ended:
            stop = getattr(debugger, move)()
        assert stop.reason == "done"


def test_questions_are_named_with_their_nodes_and_answered_by_id(store: CheckpointStore) -> None:
    debugger = Debugger(three_questions([]), store)
    stop = debugger.start(NO_START, hold=False)
    assert sorted(stop.asked_by.values()) == ["left", "twice"]
    for answer in ('"R"', '{"unknown": 1}', "{}", "[1]"):
        (shown,) = said(debugger, f"answer {answer}")
        assert shown.startswith("2 questions wait: ") and "(left)" in shown
    (one, *_) = stop.interrupts
    stop = debugger.answer({one: "x"})
    assert len(stop.interrupts) in (1, 2)
    while stop.reason == "interrupt":
        said(debugger, stop.hint[0])
        stop = debugger.last or stop
    assert stop.reason == "done"


def sent_questions() -> Any:
    """Tasks of a `Send` that ask at the same time."""

    def spread(_: Any) -> list[Send]:
        return [Send("ask", {"n": number}) for number in range(3)]

    graph = builder()
    graph.add_node("ask", asker([], "ask"))
    graph.add_conditional_edges("__start__", spread)
    return graph.compile()


def inner_questions() -> Any:
    """Sub-graphs that ask at the same time."""
    parts = {name: chain({"ask": asker([], name)}) for name in ("x", "y")}
    return fan(leaf([], "a"), parts, leaf([], "z"))


@pytest.mark.parametrize(
    ("build", "nodes"),
    [(sent_questions, ["ask"] * 3), (inner_questions, ["x/ask", "y/ask"])],
)
def test_other_questions_at_the_same_time_are_named_and_answered(
    store: CheckpointStore, build: Any, nodes: list[str]
) -> None:
    debugger = Debugger(build(), store)
    stop = debugger.start(NO_START, hold=False)
    assert sorted(stop.asked_by.values()) == nodes
    assert said(debugger, 'answer "R"')[0].startswith(f"{len(nodes)} questions wait: ")
    said(debugger, stop.hint[0])
    assert debugger.last is not None and debugger.last.reason == "done"


def test_a_question_in_a_sub_graph_names_the_inner_node(store: CheckpointStore) -> None:
    debugger = Debugger(chain({"sub": chain({"ask": asker([], "ask")})}), store)
    stop = debugger.start(NO_START, hold=False)
    assert [*stop.asked_by.values()] == ["sub/ask"]


# What ran


def sub_that_sends() -> Any:
    """A sub-graph that leaves for its parent with a `Send`, beside one that asks."""

    def act(_: Any) -> Any:
        leave: Command[Any] = Command(
            graph=Command.PARENT, update={"path": ["act"]}, goto=Send("late", {"n": 7})
        )
        return leave

    graph = builder()
    graph.add_node("early", chain({"think": leaf([], "think"), "act": act}))
    graph.add_node("late", lambda state: {"path": [f"late{state['n']}"]})  # pyright: ignore[reportUnknownLambdaType]  # a node of one line
    graph.add_node("ask", asker([], "ask"))
    graph.add_edge("__start__", "early")
    graph.add_edge("__start__", "ask")
    return graph.compile()


def sends_that_ask() -> Any:
    """Tasks of a `Send` to sub-graphs that ask, of which one leaves."""

    def spread(_: Any) -> list[Send]:
        return [Send("work", {"path": [], "n": number}) for number in range(3)]

    def act(state: Any) -> Any:
        said = interrupt(f"{state['n']}?")
        done: dict[str, Any] = {"path": [f"{state['n']}{said}"]}
        return Command(graph=Command.PARENT, update=done) if state["n"] == 1 else done

    work = builder(output_schema=Part)
    work.add_node("think", leaf([], "think"))
    work.add_node("act", act)
    work.add_edge("__start__", "think")
    work.add_edge("think", "act")
    graph = builder()
    graph.add_node("work", work.compile())
    graph.add_node("z", leaf([], "z"))
    graph.add_conditional_edges("__start__", spread, ["work"])
    graph.add_edge("work", "z")
    return graph.compile()


def deep_leaving() -> Any:
    """A graph that remembers, two deep, whose last node asks twice and leaves."""

    def leave(_: Any) -> Any:
        said = f"{interrupt('one?')}{interrupt('two?')}"
        return Command(graph=Command.PARENT, update={"path": [said]}, goto="z")

    inside = chain({"i": leaf([], "i"), "leave": leave})
    middle = builder()
    middle.add_node("inside", inside, destinations=("z",))
    middle.add_node("z", leaf([], "mz"))
    middle.add_edge("__start__", "inside")
    return chain({"a": leaf([], "a"), "middle": middle.compile(checkpointer=True)})


@pytest.mark.parametrize(
    ("build", "nodes"),
    [
        (
            lambda: hand_over([], ask=True),
            {"one", "one/think_one", "one/act", "two", "two/think_two", "two/act"},
        ),
        (sub_that_sends, {"early", "early/think", "early/act", "ask", "late"}),
        (sends_that_ask, {"work", "work/think", "work/act", "z"}),
        (
            deep_leaving,
            {"a", "middle", "middle/inside", "middle/inside/i", "middle/inside/leave", "middle/z"},
        ),
    ],
)
def test_answered_and_leaving_tasks_are_done_and_every_task_has_its_name(
    store: CheckpointStore, build: Any, nodes: set[str]
) -> None:
    debugger = Debugger(build(), store)
    stop = debugger.start(NO_START, hold=False)
    assert stop.reason == "interrupt"
    waiting = {task["where"] for row in listed(debugger) for task in row["tasks"] if task["asks"]}
    assert waiting == {*stop.asked_by.values()} | {
        "/".join(node.split("/")[:end])
        for node in stop.asked_by.values()
        for end in range(1, node.count("/") + 1)
    }
    while stop.reason == "interrupt":
        stop = debugger.answer(dict.fromkeys(stop.interrupts, "yes"))
    assert stop.reason == "done", stop
    assert [
        event.node for event in timeline(debugger.graph, debugger.history()) if not event.done
    ] == []
    tasks = [task for row in listed(debugger) for task in row["tasks"]]
    assert not any(task["asks"] for task in tasks)
    assert {event.node for event in timeline(debugger.graph, debugger.history())} == nodes
    assert {task["where"] for task in tasks if "__" not in task["node"]} <= nodes


def listed(debugger: Debugger) -> list[dict[str, Any]]:
    """The rows of the page's list of steps."""
    return steps(debugger.graph, debugger.store, "main")["steps"]


SENDING = """
from operator import add
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph
from langgraph.types import Send

class State(TypedDict, total=False):
    seen: Annotated[list, add]

def work(state):
    return {"seen": [state["k"]]}

builder = StateGraph(State).add_node(work)
builder.add_conditional_edges("__start__", lambda _: [Send("work", {"k": k}) for k in (1, 2)])
"""
REMEMBERING = """
from operator import add
from typing import Annotated, TypedDict
from langgraph.graph import StateGraph

class State(TypedDict, total=False):
    seen: Annotated[list, add]

inner = StateGraph(State).add_node("note", lambda state: {"seen": ["note"]})
inner = inner.add_edge("__start__", "note").compile(checkpointer=True)
builder = StateGraph(State).add_node("inner", inner).add_edge("__start__", "inner")
"""
FUNCTIONAL = """
from langgraph.func import entrypoint, task

@task
def double(value):
    return 2 * value

@entrypoint()
def builder(values, *, previous=None):
    return {"seen": [double(1).result(), previous]}
"""


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (APP, {"out": "True True"}),
        (SENDING, {"seen": [1, 2]}),
        (REMEMBERING, {"seen": ["note"]}),
        (FUNCTIONAL, {"seen": [2, None]}),
    ],
)
def test_a_second_run_on_one_file_has_a_branch_of_its_own(
    tmp_path: Path, text: str, output: dict[str, Any]
) -> None:
    (tmp_path / "app.py").write_text(text)
    arguments = ("debug", "app.py:builder", "--store", "kept.sqlite", "--input", "{}")
    for notice in ("", "this run is 'main.1'"):
        done = typed(*arguments, cwd=tmp_path, lines="continue\nprint 1\n")
        shown = done.stdout[done.stdout.index("[done]") + len("[done]") :]
        values = json.JSONDecoder().raw_decode(shown.strip())[0]
        assert {name: values[name] for name in output} == output, "nothing of the run before"
        assert notice in done.stderr
    again = typed(*arguments[:4], "--thread", "main", cwd=tmp_path, lines="branches\n")
    assert "* main\n  main.1\n" in again.stdout


# Every stop has a way on


def raising(error: BaseException) -> Build:
    """A node that raises once."""

    def build(log: Log) -> Any:
        def node(state: Any) -> dict[str, Any]:
            if "raised" not in log:
                log.append("raised")
                raise error
            return {"path": ["fine"]}

        return chain({"a": leaf(log, "a"), "node": node, "z": leaf(log, "z")})

    return build


class Twice(TypedDict):
    """A key that one step may write once."""

    path: list[str]


def both_write(log: Log) -> Any:
    """Two nodes of a step that write one key, the first time."""

    def node(name: str) -> Any:
        def write(state: Any) -> dict[str, Any]:
            log.append(name)
            return {"path": [name]} if name == "x" or len(log) > 2 else {"path": ["y"]}

        return write

    graph = builder(Twice)
    graph.add_node("x", node("x"))
    graph.add_node("y", node("y"))
    graph.add_edge("__start__", "x")
    graph.add_edge("__start__", "y")
    return graph.compile()


STOPS: list[tuple[str, Build, list[str]]] = [
    ("first node", static, []),
    ("behind a step", static, ["step"]),
    ("inside", static_inside, ["step", "into"]),
    ("behind a fork", static, ["continue", "fork 1"]),
    ("behind a rewind", static, ["continue", "rewind"]),
    ("behind an edit", static, ["set n 1"]),
    ("behind an output", static, ["continue", 'output 1 {"path": ["x"]}']),
    ("behind a serve", static, ['serve {"path": ["x"]}']),
    ("a breakpoint", static, ["break b", "continue"]),
    ("a breakpoint with a condition", static, ["break * if len(path) == 1", "c"]),
    ("until", static, ["until c"]),
    ("done", static, ["continue"]),
    ("done twice", static, ["continue", "continue"]),
    ("a replay", static, ["continue", "replay"]),
    ("done, functional", flow, ["continue", 'answer "yes"']),
    ("a question, functional", flow, ["continue"]),
    ("static before", lambda log: static(log, interrupt_before=["b"]), ["continue"]),
    ("static behind", lambda log: static(log, interrupt_after=["b"]), ["continue"]),
    ("static inside", static_inside, ["continue"]),
    ("a question", lambda log: chain({"ask": asker(log, "ask")}), ["continue"]),
    ("a question inside", lambda log: chain({"s": chain({"ask": asker(log, "ask")})}), ["c"]),
    ("several questions", three_questions, ["continue"]),
    ("a wrong answer", three_questions, ["continue", 'answer "x"']),
    ("an answer that is no JSON", three_questions, ["continue", "answer x"]),
    ("a question of an agent", lambda log: hand_over(log, ask=True), ["continue"]),
    ("a question in memory", lambda log: remembering_in(log, 2, ask=True), ["continue"]),
    ("inside memory", lambda log: remembering_in(log, 2), ["into", "into", "into"]),
    ("an exception", raising(ValueError("bad")), ["continue"]),
    ("an exception that is passed on", raising(ValueError("bad")), ["continue", "continue"]),
    ("a cancelled task", raising(KeyboardInterrupt()), ["continue"]),
    ("an exit", raising(SystemExit(3)), ["continue"]),
    ("two writes", both_write, ["continue"]),
    ("an unknown command", static, ["frobnicate"]),
    ("a wrong set", static, ["set nothing 1"]),
    ("a wrong fork", static, ["fork 99"]),
    ("an unknown node", static, ["break bb", "until nowhere"]),
    ("what cannot be stored", holding(Connection, str), ["step", "set n 1"]),
    ("done with what cannot be stored", holding(Connection, str), ["continue"]),
    ("a watch that fails", static, ["watch absent.x", "step"]),
    ("an invalid output", ordered, ["continue", 'output 0 {"n": -1}']),
    ("an invalid set", ordered, ["set n -1"]),
]


@pytest.mark.parametrize(("name", "build", "lines"), STOPS, ids=[name for name, _, _ in STOPS])
def test_the_printed_hint_goes_on(
    store: CheckpointStore, name: str, build: Any, lines: list[str]
) -> None:
    debugger = Debugger(build([]), store)
    debugger.start({"n": 1} if "functional" in name else NO_START)
    said(debugger, *lines)
    before = debugger.last
    assert before is not None
    (shown,) = said(debugger, before.hint[0])
    assert isinstance(debugger.last, Stop) and debugger.last is not before, shown
    assert debugger.last.reason != "failed", shown
    debugger.quit()


def test_there_are_forty_kinds_of_stop() -> None:
    assert len({name for name, _, _ in STOPS}) == len(STOPS) >= 40
