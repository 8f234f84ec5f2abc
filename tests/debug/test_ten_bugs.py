"""Ten bugs as graphs really have them, each found and mended with no model call repeated.

Every graph asks a LangChain chat model. `build` makes it with the bug or mended; a test finds the
bug by what the debugger shows, goes on with the mended graph, and counts the calls.
docs/concepts/debugger-walkthrough.md tells the same ten stories.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph, add_messages  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]  # langgraph ships no stubs
from langgraph.types import Send, interrupt

from harness.checkpoints import CheckpointStore, open_store
from harness.debug import KEEP, Breakpoint, Debugger, Event, Point, timeline

reduce_messages: Any = add_messages


class Model:
    """A LangChain chat model with scripted answers, and a list of what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._model = FakeListChatModel(responses=list(answers))
        self.asked: list[str] = []

    def ask(self, text: str) -> str:
        self.asked.append(text)
        return str(self._model.invoke([HumanMessage(text)]).content)


Node = Callable[[Any], Any]


def line(schema: Any, nodes: dict[str, Node], **routes: Node) -> Any:
    """Nodes one behind the other; a route replaces the edge behind its node."""
    builder: Any = StateGraph(schema)
    names = list(nodes)
    builder.add_edge(START, names[0])
    for number, (name, node) in enumerate(nodes.items()):
        builder.add_node(name, node)
        if name in routes:
            builder.add_conditional_edges(name, routes[name], [*names, END])
        elif number + 1 < len(names):
            builder.add_edge(name, names[number + 1])
    return builder.compile()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def events(debugger: Debugger) -> dict[str, Event]:
    """Return the last visit of each node."""
    return {event.node: event for event in timeline(debugger.graph, debugger.history())}


# 1. A key without a reducer: the second node's message takes the place of the first one's.


class Overwritten(TypedDict):
    messages: list[AnyMessage]


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], reduce_messages]


def test_1_wrong_reducer(store: CheckpointStore) -> None:
    model = Model("a plan", "a draft")

    def build(schema: Any) -> Any:
        def plan(state: Any) -> Any:
            return {"messages": [AIMessage(model.ask("plan"), id="1")]}

        def draft(state: Any) -> Any:
            return {"messages": [AIMessage(model.ask("draft"), id="2")]}

        return line(schema, {"plan": plan, "draft": draft})

    debugger = Debugger(build(Overwritten), store)
    debugger.breakpoints.watch("len(messages)")
    debugger.start({"messages": [HumanMessage("Go.", id="0")]})
    debugger.step()
    stop = debugger.last
    assert stop is not None
    assert stop.watches == {"len(messages)": 1}  # found: two went in, one is there
    first = events(debugger)["plan"].point
    keep = Point(first.ns, first.checkpoint, KEEP)
    debugger.fork(keep, graph=build(Appended))  # the same writes, another reducer
    stop = debugger.last
    assert stop is not None
    assert stop.watches == {"len(messages)": 2}
    assert [message.content for message in debugger.go().values["messages"]] == [
        "Go.",
        "a plan",
        "a draft",
    ]
    assert model.asked == ["plan", "draft"]


# 2. Two parallel nodes write one key that takes one value a step.


class One(TypedDict):
    notes: str


class Many(TypedDict):
    notes: Annotated[str, operator.add]


def test_2_lost_update(store: CheckpointStore) -> None:
    model = Model("left.", "right.")

    def build(schema: Any) -> Any:
        builder: Any = StateGraph(schema)
        for name in ("left", "right"):
            builder.add_node(name, lambda state, name=name: {"notes": model.ask(name)})  # pyright: ignore[reportUnknownLambdaType]  # a node of one line
            builder.add_edge(START, name)
        return builder.compile()

    debugger = Debugger(build(One), store)
    stop = debugger.start({"notes": ""}, hold=False)
    assert stop.failure is not None
    assert "Can receive only one value per step" in stop.failure.message  # found
    first = events(debugger)["left"].point
    keep = Point(first.ns, first.checkpoint, KEEP)
    stop = debugger.fork(keep, graph=build(Many), hold=False)
    assert len(stop.values["notes"]) == len("left.right.")
    assert sorted(model.asked) == ["left", "right"]


# 3. A route that sends a question to the wrong node.


class Routed(TypedDict, total=False):
    kind: str
    answer: str


def test_3_bad_route(store: CheckpointStore) -> None:
    model = Model("MATH", "4")

    def build(mended: bool) -> Any:
        def classify(state: Any) -> Any:
            return {"kind": model.ask("kind?")}

        def search(state: Any) -> Any:
            raise AssertionError("nothing to find")

        def calculate(state: Any) -> Any:
            return {"answer": model.ask("2+2")}

        def route(state: Any) -> str:
            kind = state["kind"].lower() if mended else state["kind"]
            return "calculate" if kind == "math" else "search"

        nodes = {"classify": classify, "search": search, "calculate": calculate}
        return line(Routed, nodes, classify=route, search=lambda state: END)

    debugger = Debugger(build(False), store)
    debugger.start({}, hold=False)
    found = events(debugger)["classify"]
    assert (dict(found.wrote), found.goes_to) == ({"kind": "MATH"}, ("search",))  # found
    stop = debugger.edit_output(found.point, dict(found.wrote), graph=build(True))
    assert stop.task is not None
    assert stop.task.node == "calculate"
    assert debugger.go().values["answer"] == "4"
    assert model.asked == ["kind?", "2+2"]


# 4. The answer to an interrupt is read under a key that it does not have.


class Approved(TypedDict, total=False):
    draft: str
    sent: bool


def test_4_mis_keyed_interrupt(store: CheckpointStore) -> None:
    model = Model("Dear all")

    def build(mended: bool) -> Any:
        def write(state: Any) -> Any:
            return {"draft": model.ask("write")}

        def approve(state: Any) -> Any:
            answer = interrupt({"draft": state["draft"]})
            return {"sent": answer["approved" if mended else "approve"]}

        return line(Approved, {"write": write, "approve": approve})

    debugger = Debugger(build(False), store)
    debugger.start({}, hold=False)
    stop = debugger.answer({"approved": True})
    assert stop.failure is not None
    assert stop.failure.frames[-1].locals["answer"] == "{'approved': True}"  # found
    debugger.reload(build(True))
    stop = debugger.go()
    assert (stop.reason, stop.values["sent"]) == ("done", True)  # and nobody is asked again
    assert model.asked == ["write"]


# 5. A node sorts the list that it was given, and a later one sees it so.


class Ranked(TypedDict, total=False):
    found: list[str]
    best: str
    first: str


def test_5_mutated_state(store: CheckpointStore) -> None:
    model = Model("c b a", "c it is")

    def build(mended: bool) -> Any:
        def find(state: Any) -> Any:
            return {"found": model.ask("find").split()}

        def rank(state: Any) -> Any:
            found = list(state["found"]) if mended else state["found"]
            found.sort()
            return {"best": found[0]}

        def tell(state: Any) -> Any:
            return {"first": state["found"][0], "best": state["best"]}

        return line(Ranked, {"find": find, "rank": rank, "tell": tell})

    debugger = Debugger(build(False), store, find_mutations=True)
    stop = debugger.start({}, hold=False)
    assert stop.mutated == ("rank",)  # found
    assert stop.values["first"] == "a"
    point = events(debugger)["rank"].point
    stop = debugger.fork(point, graph=build(True), hold=False)
    assert (stop.mutated, stop.values["first"], stop.values["best"]) == ((), "c", "a")
    assert model.asked == ["find"]


# 6. A tool's error is handed to the model as if it were a result.


def test_6_swallowed_tool_error(store: CheckpointStore) -> None:
    model = Model("look up 7", "The row is 49.")

    def build(mended: bool) -> Any:
        def call(state: Any) -> Any:
            return {"messages": [AIMessage(model.ask("what to do"), id="1")]}

        def tool(state: Any) -> Any:
            table: dict[Any, int] = {7: 49} if mended else {"7": 49}
            try:
                result = str(table[7])
            except KeyError as error:
                result = f"Error: {error!r}"
            return {"messages": [ToolMessage(result, tool_call_id="t", id="2")]}

        def answer(state: Any) -> Any:
            return {"messages": [AIMessage(model.ask(state["messages"][-1].content), id="3")]}

        return line(Appended, {"call": call, "tool": tool, "answer": answer})

    debugger = Debugger(build(False), store)
    debugger.breakpoints.add(Breakpoint("*", condition="'Error' in last(messages).content"))
    stop = debugger.start({"messages": [HumanMessage("Row 7?", id="0")]}, hold=False)
    assert stop.task is not None
    assert (stop.reason, stop.task.node) == (
        "breakpoint",
        "answer",
    )  # found, before the model sees it
    point = events(debugger)["tool"].point
    stop = debugger.fork(point, graph=build(True), hold=False)
    assert stop.values["messages"][-1].content == "The row is 49."
    assert model.asked == ["what to do", "49"]


# 7. A loop that ends one visit too late.


class Counted(TypedDict):
    drafts: Annotated[list[str], operator.add]


def test_7_loop_that_goes_on(store: CheckpointStore) -> None:
    model = Model("one", "two", "three", "four")

    def build(mended: bool) -> Any:
        def draft(state: Any) -> Any:
            return {"drafts": [model.ask("draft")]}

        def route(state: Any) -> str:
            return END if len(state["drafts"]) > (1 if mended else 2) else "draft"

        return line(Counted, {"draft": draft}, draft=route)

    debugger = Debugger(build(False), store)
    debugger.breakpoints.add(Breakpoint("draft", visit=3))
    stop = debugger.start({"drafts": []}, hold=False)
    assert stop.reason == "breakpoint"  # found: two were asked for, a third visit begins
    last = [e for e in timeline(debugger.graph, debugger.history()) if e.done][-1]
    stop = debugger.edit_output(last.point, dict(last.wrote), graph=build(True))
    assert (stop.reason, stop.values) == ("done", {"drafts": ["one", "two"]})
    assert model.asked == ["draft", "draft"]


# 8. A node returns a key that the state does not have, and nothing is saved.


class Answered(TypedDict, total=False):
    raw: str
    answer: str


def test_8_key_that_nobody_has(store: CheckpointStore) -> None:
    model = Model("ANSWER: 12", "checked 12")

    def build(mended: bool) -> Any:
        def ask(state: Any) -> Any:
            return {"raw": model.ask("question")}

        def parse(state: Any) -> Any:
            return {"answer" if mended else "anwser": state["raw"].removeprefix("ANSWER: ")}

        def check(state: Any) -> Any:
            return {"raw": model.ask(state["answer"])}

        return line(Answered, {"ask": ask, "parse": parse, "check": check})

    debugger = Debugger(build(False), store)
    stop = debugger.start({}, hold=False)
    assert stop.failure is not None
    assert (stop.failure.type, stop.failure.message) == ("KeyError", "'answer'")
    found = events(debugger)["parse"]
    assert found.done
    assert found.wrote == ()  # found: it ran, and wrote nothing
    stop = debugger.fork(found.point, graph=build(True), hold=False)
    assert stop.values == {"raw": "checked 12", "answer": "12"}
    assert model.asked == ["question", "12"]


# 9. One of the packets of a fan-out lacks what the worker needs.


class Fanned(TypedDict, total=False):
    topics: list[str]
    texts: Annotated[list[str], operator.add]


def test_9_packet_without_its_topic(store: CheckpointStore) -> None:
    model = Model("x, y", "about", "about")

    def build() -> Any:
        def plan(state: Any) -> Any:
            return {"topics": model.ask("topics").split(", ")}

        def spread(state: Any) -> Any:
            first, last = state["topics"]
            return [Send("write", {"topic": first}), Send("write", {"topics": last})]

        def write(state: Any) -> Any:
            topic = state["topic"]
            return {"texts": [f"{model.ask(topic)} {topic}"]}

        return line(Fanned, {"plan": plan, "write": write}, plan=spread, write=lambda state: END)

    debugger = Debugger(build(), store)
    stop = debugger.start({})
    while stop.failure is None:
        stop = debugger.step()
    assert stop.failure.frames[-1].locals["state"] == "{'topics': 'y'}"  # found
    stop = debugger.serve({"texts": [f"{model.ask('y')} y"]})  # its neighbour's text is kept
    assert stop.values["texts"] == ["about x", "about y"]
    assert model.asked == ["topics", "x", "y"]


# 10. A sub-graph's result has a key that its parent does not know.


class Inner(TypedDict, total=False):
    question: str
    result: str


class Outer(TypedDict, total=False):
    question: str
    answer: str
    told: str


class OuterMended(Outer, total=False):
    result: str


def test_10_result_that_stays_in_the_sub_graph(store: CheckpointStore) -> None:
    model = Model("42", "told")

    def build(mended: bool) -> Any:
        def think(state: Any) -> Any:
            return {"result": model.ask(state["question"])}

        def tell(state: Any) -> Any:
            return {"told": model.ask(str(state.get("result")))}

        inner = line(Inner, {"think": think})
        return line(OuterMended if mended else Outer, {"inner": inner, "tell": tell})

    debugger = Debugger(build(False), store)
    debugger.breakpoints.add(Breakpoint("tell"))
    debugger.start({"question": "why"}, hold=False)
    found = events(debugger)
    assert dict(found["inner/think"].wrote) == {"result": "42"}
    assert "result" not in debugger.state()  # found: it is in the sub-graph, and stays there
    end = debugger.history().latest(found["inner/think"].point.ns)
    assert end is not None
    debugger.fork(Point(end.ns, end.id), graph=build(True))
    assert debugger.state()["result"] == "42"
    assert debugger.go().values["told"] == "told"
    assert model.asked == ["why", "42"]
