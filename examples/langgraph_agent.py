"""A LangGraph graph of messages; its nodes may use any client, here openai's."""

import os
from typing import Any

from langchain_core.messages import convert_to_openai_messages
from langgraph.graph import MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.prebuilt import tools_condition
from openai import OpenAI

PRICES = {"desk lamp": 19, "notebook": 2.5, "office chair": 149}
ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
PRICE = {"name": "price", "description": "The price of one item.", "parameters": ITEM}
TOOLS: Any = [{"type": "function", "function": PRICE}]


def think(state: MessagesState) -> dict[str, Any]:
    """One call of the model; the skill's text stands in the system message."""
    messages: Any = convert_to_openai_messages(state["messages"])
    completion = OpenAI().chat.completions.create(
        model=os.environ["OPENAI_MODEL"], messages=messages, tools=TOOLS
    )
    return {"messages": [completion.choices[0].message.to_dict()]}


def look_up(state: MessagesState) -> dict[str, Any]:
    """The results of the tool calls of the last message."""
    results: list[dict[str, str]] = []
    for call in getattr(state["messages"][-1], "tool_calls", []):
        price = str(PRICES.get(call["args"]["item"].removesuffix("s"), "unknown"))
        results.append({"role": "tool", "tool_call_id": call["id"], "content": price})
    return {"messages": results}


builder: Any = StateGraph(MessagesState)
builder.add_node(think).add_node("tools", look_up)
builder.set_entry_point("think").add_edge("tools", "think")
graph = builder.add_conditional_edges("think", tools_condition).compile()
