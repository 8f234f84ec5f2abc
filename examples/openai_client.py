"""The openai client alone: a command with a loop over tool calls."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI

PRICES = {"desk lamp": 19, "notebook": 2.5, "office chair": 149}
ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
PRICE = {"name": "price", "description": "The price of one item.", "parameters": ITEM}
TOOLS: Any = [{"type": "function", "function": PRICE}]


def answer(prompt: str, skill: str = "") -> str:
    """Ask until the model calls no tool any more; `skill` is the folder of a skill, or empty."""
    messages: list[Any] = [{"role": "user", "content": prompt}]
    if skill:
        messages.insert(0, {"role": "system", "content": Path(skill, "SKILL.md").read_text()})
    client = OpenAI()  # reads OPENAI_BASE_URL and OPENAI_API_KEY, which the harness sets
    while True:
        completion = client.chat.completions.create(
            model=os.environ["OPENAI_MODEL"], messages=messages, tools=TOOLS
        )
        reply: Any = completion.choices[0].message
        if not reply.tool_calls or len(messages) > 12:
            return reply.content or ""
        messages.append(reply)
        for call in reply.tool_calls:
            item = json.loads(call.function.arguments)["item"].removesuffix("s")
            price = str(PRICES.get(item, "unknown"))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": price})


if __name__ == "__main__":
    print(answer(*sys.argv[1:]))
