"""Graphs of many shapes: nested, parallel, looping, with `Send`, `Command` and interrupts.

Every leaf node writes its name to a log when it runs and to the state's `path`, so that a run can
be compared with a fresh one by what ran and by what came out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.types import interrupt
from pydantic import BaseModel

Log = list[str]
Build = Callable[[Log], Any]


class State(TypedDict, total=False):
    """State of every graph here."""

    path: Annotated[list[str], operator.add]
    n: int


class Part(TypedDict):
    """Result of parallel sub-graphs."""

    path: Annotated[list[str], operator.add]


class Model(BaseModel):
    """State as a model."""

    path: Annotated[list[str], operator.add] = []
    n: int = 0


@dataclass(frozen=True)
class Shape:
    """A graph with its input.

    Attributes:
        build: makes the graph; its nodes write to the log.
        answers: to the interrupts, in their order.
        sequential: one leaf node runs at a time, so what follows a checkpoint is a tail of the log.
    """

    name: str
    build: Build
    answers: tuple[Any, ...] = ()
    sequential: bool = True
    start: Any = None


def leaf(log: Log, name: str, **more: Any) -> Callable[[Any], dict[str, Any]]:
    """A node that leaves its name."""

    def node(state: Any) -> dict[str, Any]:
        log.append(name)
        return {"path": [name], **more}

    return node


def counter(log: Log, name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that counts its visits in `n`."""

    def node(state: Any) -> dict[str, Any]:
        log.append(name)
        return {"path": [f"{name}{state.get('n', 0)}"], "n": state.get("n", 0) + 1}

    return node


def asker(log: Log, name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that asks and leaves the answer."""

    def node(state: Any) -> dict[str, Any]:
        answer = interrupt(f"{name}?")
        log.append(name)
        return {"path": [f"{name}={answer}"]}

    return node


def builder(schema: Any = State, **options: Any) -> Any:
    """An empty graph."""
    return StateGraph(schema, **options)


def chain(nodes: dict[str, Any], schema: Any = State, **options: Any) -> Any:
    """Nodes one behind the other, compiled."""
    graph = builder(schema)
    previous = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(previous, name)
        previous = name
    graph.add_edge(previous, END)
    return graph.compile(**options)


def fan(before: Any, branches: dict[str, Any], after: Any, schema: Any = State) -> Any:
    """One node, parallel branches, one node."""
    graph = builder(schema)
    graph.add_node("before", before)
    graph.add_node("after", after)
    graph.add_edge(START, "before")
    for name, node in branches.items():
        graph.add_node(name, node)
        graph.add_edge("before", name)
    graph.add_edge(list(branches), "after")
    return graph.compile()


def loop(body: Any, times: int, **options: Any) -> Any:
    """A node that is visited again until `n` is reached; the body counts."""

    def again(state: State) -> str:
        return END if state.get("n", 0) >= times else "body"

    graph = builder()
    graph.add_node("body", body)
    graph.add_edge(START, "body")
    graph.add_conditional_edges("body", again, [END, "body"])
    return graph.compile(**options)


def leaves(log: Log, *names: str) -> dict[str, Any]:
    """Leaf nodes by name."""
    return {name: leaf(log, name) for name in names}


def inner(log: Log, prefix: str = "i", count: int = 3, **options: Any) -> Any:
    """A sub-graph of a few nodes that returns its own part of the path."""
    return chain(leaves(log, *(f"{prefix}{k}" for k in range(count))), **options)


def calling(graph: Any) -> Callable[[Any], dict[str, Any]]:
    """A function that calls a graph and hands on what it added."""

    def node(state: Any) -> dict[str, Any]:
        out = graph.invoke({"path": [], "n": state.get("n", 0)})
        return {"path": out["path"]}

    return node


def calling_twice(first: Any, second: Any) -> Callable[[Any], dict[str, Any]]:
    """A function that calls two graphs, one behind the other."""

    def node(state: Any) -> dict[str, Any]:
        path = first.invoke({"path": []})["path"]
        return {"path": path + second.invoke({"path": path})["path"]}

    return node
