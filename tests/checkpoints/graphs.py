"""Graphs and values that the tests of the store save."""

from __future__ import annotations

import operator
import random
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs


class Talk(TypedDict):
    """Plain lists of plain messages, and a counter."""

    messages: Annotated[list[dict[str, str]], operator.add]
    turn: int


def talk(turns: int, seed: int = 0, *, typed: bool = False) -> Any:
    """A graph of one node that appends a message of 1 kB, `turns` times; LangChain's if `typed`."""
    source = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,;"

    def speak(state: Talk) -> dict[str, Any]:
        text = "".join(source.choices(letters, k=1000))
        said = AIMessage(text) if typed else {"role": "assistant", "content": text}
        return {"messages": [said], "turn": state["turn"] + 1}

    def route(state: Talk) -> str:
        return END if state["turn"] >= turns else "speak"

    builder: Any = StateGraph(Talk)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", route)
    return builder


def thread(name: str, limit: int = 1000) -> RunnableConfig:
    """The config of a thread."""
    return {"configurable": {"thread_id": name}, "recursion_limit": limit}


def size(path: Path) -> int:
    """Bytes of a SQLite file with its log."""
    return sum(part.stat().st_size for part in path.parent.glob(path.name + "*"))
