"""Tokens and cost of every task: counted where the call was, once, at its provider's price."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import open_store
from harness.core import Usage
from harness.debug import Debugger, cost_of
from harness.debug.terminal import Terminal


class Both(TypedDict):
    """Messages of two forms."""

    openai: dict[str, Any]
    atif: list[dict[str, Any]]


def said(text: str, prompt: int, completion: int) -> AIMessage:
    """A reply as LangChain's clients give it."""
    return AIMessage(
        text,
        usage_metadata={
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
        },
        response_metadata={"model_name": "gpt-4.1-mini-2025-04-14"},
    )


def think(_: MessagesState) -> dict[str, Any]:
    """In the sub-graph."""
    return {"messages": [said("so", 2000, 100)]}


def plan(_: MessagesState) -> dict[str, Any]:
    """Before it."""
    return {"messages": [said("go", 1000, 10)]}


def end(state: MessagesState) -> dict[str, Any]:
    """Hands a message on."""
    return {"messages": state["messages"][-1:]}


def graph() -> Any:
    """A plan, and a sub-graph that thinks and hands its messages on."""
    inner: Any = StateGraph(MessagesState)
    inner.add_node("think", think)
    inner.add_edge("__start__", "think")
    outer: Any = StateGraph(MessagesState)
    outer.add_node("plan", plan)
    outer.add_node("sub", inner.compile())
    outer.add_node("end", end)
    outer.add_edge("__start__", "plan")
    outer.add_edge("plan", "sub")
    outer.add_edge("sub", "end")
    return outer.compile()


def test_a_message_is_charged_to_the_node_that_made_it(tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(graph(), store)
        debugger.start({"messages": [HumanMessage("Hi.")]}, hold=False)
        shown: list[str] = []
        Terminal(debugger, shown.append).do("usage")
        assert shown[0].splitlines() == [
            "plan          1 runs  1,010 tokens $0.0004",
            "sub           1 runs  0 tokens $0.0000",
            "sub/think     1 runs  2,100 tokens $0.0010",
            "end           1 runs  0 tokens $0.0000",
            "all           4 runs  3,110 tokens $0.0014",
        ]
        total = sum(debugger.meter.tasks(store, "main").values(), Usage())
        assert total.calls == 2
        assert total.cost_usd == pytest.approx((3000 * 0.4 + 110 * 1.6) / 1e6)


def test_messages_of_other_kinds_and_unknown_prices(tmp_path: Path) -> None:
    openai = {"role": "assistant", "content": "a", "model": "mine",
              "usage": {"prompt_tokens": 5, "completion_tokens": 2}}  # fmt: skip
    atif = {"source": "agent", "message": "b" * 50,
            "metrics": {"prompt_tokens": 7, "completion_tokens": 1, "cost_usd": 0.5}}  # fmt: skip

    def node(_: Any) -> dict[str, Any]:
        return {"openai": openai, "atif": [atif]}

    builder: Any = StateGraph(Both)
    builder.add_node("node", node)
    builder.add_edge("__start__", "node")
    with open_store(tmp_path / "c.sqlite") as store:
        debugger = Debugger(builder.compile(), store)
        debugger.start({"openai": {}}, hold=False)
        (usage,) = debugger.meter.tasks(store, "main").values()
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) == (12, 3, None)
    assert cost_of("mine", 1, 1) is None
