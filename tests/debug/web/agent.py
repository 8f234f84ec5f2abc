"""A graph with a loop, a sub-graph and a node that breaks, for a page to show."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

HOSTILE = "<img src=x onerror=\"document.title='taken over'\"><script>alert(1)</script>\x1b[31m"


class State(TypedDict, total=False):
    """State of the agent."""

    path: Annotated[list[str], operator.add]
    n: int
    messages: list[dict[str, Any]]


def plan(_: State) -> dict[str, Any]:
    """Say something with markup in it."""
    return {"path": ["plan"], "messages": [{"role": "user", "content": HOSTILE}]}


def read(state: State) -> dict[str, Any]:
    """Count."""
    return {"path": ["read"], "n": state.get("n", 0) + 1}


def check(_: State) -> dict[str, Any]:
    """Look."""
    return {"path": ["check"]}


def write(state: State) -> dict[str, Any]:
    """Break where too much was read."""
    if state.get("n", 0) > 5:
        raise ValueError(f"too much: {state.get('n')}")
    return {"path": ["write"]}


def _route(state: State) -> str:
    return "write" if state.get("n", 0) >= 3 else "work"


_inner: Any = StateGraph(State)
_inner.add_node("read", read)
_inner.add_edge(START, "read")
graph: Any = StateGraph(State)
graph.add_node("plan", plan)
graph.add_node("work", _inner.compile())
graph.add_node("check", check)
graph.add_node("write", write)
graph.add_edge(START, "plan")
graph.add_edge("plan", "work")
graph.add_edge("work", "check")
graph.add_conditional_edges("check", _route, ["write", "work"])
graph.add_edge("write", END)
