"""LangChain's chat model with a tool: a function that the harness calls."""

import os
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

PRICES = {"desk lamp": 19, "notebook": 2.5, "office chair": 149}


@tool
def price(item: str) -> str:
    """The price of one item."""
    return str(PRICES.get(item.removesuffix("s"), "unknown"))


def answer(prompt: str, workdir: str, skill: str | None) -> str:
    """Answer one task; `skill` is the folder of a skill, or None."""
    messages: list[BaseMessage] = [HumanMessage(prompt)]
    if skill:
        messages.insert(0, SystemMessage(Path(skill, "SKILL.md").read_text()))
    chat: Any = ChatOpenAI(model=os.environ["OPENAI_MODEL"])
    model = chat.bind_tools([price])
    reply = model.invoke(messages)
    while reply.tool_calls and len(messages) < 12:
        messages += [reply, *(price.invoke(call) for call in reply.tool_calls)]
        reply = model.invoke(messages)
    return reply.text
