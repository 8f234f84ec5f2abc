"""Objects that the Python of the pages uses and does not make: graphs, a debugger, a trajectory."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph, add_messages  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]  # langgraph ships no stubs

from harness.checkpoints import open_store
from harness.core import Trajectory
from harness.debug import KEEP, Debugger, Point, timeline
from tests.docs import desk

__all__ = ["KEEP", "HumanMessage", "Point", "builder", "debugger", "mended", "timeline"]
_reduce: Any = add_messages


class Overwritten(TypedDict):
    messages: list[AnyMessage]


class Appended(TypedDict):
    messages: Annotated[list[AnyMessage], _reduce]


def _graph(schema: Any) -> Any:
    graph: Any = StateGraph(schema)
    graph.add_node("plan", lambda _: {"messages": [AIMessage("a plan", id="1")]})  # pyright: ignore[reportUnknownLambdaType]  # a node of one line
    graph.add_node("draft", lambda _: {"messages": [AIMessage("a draft", id="2")]})  # pyright: ignore[reportUnknownLambdaType]  # a node of one line
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "draft")
    return graph


builder = _graph(Appended)
mended = builder.compile()
_store = open_store(Path(mkdtemp()) / "c.sqlite")
debugger = Debugger(_graph(Overwritten).compile(), _store.__enter__())
trajectory = Trajectory.model_validate(desk.trajectory("90-1", "fail"))
