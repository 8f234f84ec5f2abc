"""`--context compress` with real clients: shortened once, expanded unseen, the prefix unchanged."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import openai
import pytest

from harness.record import Recording, Settings
from tests.record.asking import Open, ask
from tests.record.provider import Json, Said, Seen, provide
from tests.record.speaking import speaking

SETTINGS = Settings(200, "lexical")
SECRET_PLACE = "The spare key of the boat house hangs behind the third oar."
OUTPUT = "\n\n".join(
    [f"Note {at}. The weather of day {at} was calm and the lake lay still." for at in range(150)]
    + ["The ferry to the island leaves at 7:45 from pier 4."]
    + [
        f"Entry {at}. Nothing was caught on day {at}, and the nets were mended."
        for at in range(150)
    ]
    + [SECRET_PLACE]
)
QUESTION = "When does the ferry to the island leave?"
FINAL = "It leaves at 7:45."
CHAT_TOOLS: Any = [
    {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
]


def expanding(seen: Seen) -> Said:
    """Reads; asks for all of what it was given; answers."""
    told = json.dumps(seen.body, ensure_ascii=False)
    if "Thanks" in told:
        return Said("You are welcome.")
    if SECRET_PLACE in told:
        return Said(FINAL)
    found = re.search(r"expand ([0-9a-f]{10}) gives all", told)
    if found:
        return Said("Let me see.", [("expand", {"id": found[1]})])
    return Said("", [("read", {})])


def texts(body: Json) -> list[str]:
    """The tool outputs of a request, whatever its format."""
    found: list[str] = []
    for item in body.get("messages", body.get("input", [])):
        if item.get("role") == "tool":
            found.append(item["content"])
        elif item.get("type") == "function_call_output":
            found.append(item["output"])
        elif isinstance(item.get("content"), list):
            found += [one["content"] for one in item["content"] if one["type"] == "tool_result"]
    return found


def items(body: Json) -> list[Json]:
    return body.get("messages", body.get("input", []))


async def chat(opened: Open, streamed: bool) -> list[str]:
    said: list[str] = []
    client: Any = openai.AsyncOpenAI(base_url=f"{opened.url}/v1", api_key="key-of-chat")
    async with client:
        messages: list[Any] = [
            {"role": "system", "content": "Help. " * 500},
            {"role": "user", "content": QUESTION},
        ]
        for more in ("", "Thanks. " * 500):
            for _ in range(2 if not more else 1):
                if streamed:
                    async with client.chat.completions.stream(
                        model="m", messages=messages, tools=CHAT_TOOLS,
                        stream_options={"include_usage": True},
                    ) as stream:  # fmt: skip
                        got: Any = await stream.get_final_completion()
                else:
                    got = await client.chat.completions.create(
                        model="m", messages=messages, tools=CHAT_TOOLS
                    )
                message = got.choices[0].message
                said.append(message.content or "")
                assert got.usage
                said.append(str(got.usage.completion_tokens))
                dumped: Json = message.model_dump(exclude_none=True)
                dumped.pop("parsed", None)
                messages.append(dumped)
                for call in dumped.get("tool_calls", []):
                    assert call["function"]["name"] == "read"
                    result = {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT}
                    messages.append(result)
            messages.append({"role": "user", "content": "Thanks. " * 500})
    return said


async def responses(opened: Open, streamed: bool) -> list[str]:
    said: list[str] = []
    tools: Any = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
    client: Any = openai.AsyncOpenAI(base_url=f"{opened.url}/v1", api_key="key-of-resp")
    async with client:
        asked: list[Any] = [{"role": "user", "content": QUESTION}]
        for turn in range(3):
            given: Any = {"model": "m", "input": asked, "tools": tools, "instructions": "Help."}
            if streamed:
                async with client.responses.stream(**given) as stream:
                    events = [event async for event in stream]
                    numbers = [event.sequence_number for event in events]
                    assert numbers == sorted(set(numbers))
                    got = await stream.get_final_response()
            else:
                got = await client.responses.create(**given)
            assert [tool.name for tool in got.tools] == ["read"]
            assert got.usage
            said += [got.output_text, str(got.usage.output_tokens)]
            for item in got.output:
                asked.append(item.to_dict(exclude_unset=True))
                if item.type == "function_call":
                    assert item.name == "read"
                    asked.append({"type": "function_call_output", "call_id": item.call_id,
                                  "output": OUTPUT})  # fmt: skip
            if turn == 1:
                asked.append({"role": "user", "content": "Thanks. " * 500})
    return said


async def messages(opened: Open, streamed: bool) -> list[str]:
    anthropic: Any = import_module("anthropic")
    said: list[str] = []
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    async with anthropic.AsyncAnthropic(base_url=opened.url, api_key="key-of-ant") as client:
        talk: list[Any] = [{"role": "user", "content": QUESTION}]
        for turn in range(3):
            given = {"model": "m", "max_tokens": 99, "messages": talk, "tools": tools}
            if streamed:
                async with client.messages.stream(**given) as stream:
                    got = await stream.get_final_message()
            else:
                got = await client.messages.create(**given)
            said.append("".join(block.text for block in got.content if block.type == "text"))
            said.append(str(got.usage.output_tokens))
            talk.append({"role": "assistant", "content": [b.to_dict() for b in got.content]})
            used = [block for block in got.content if block.type == "tool_use"]
            assert all(block.name == "read" for block in used)
            results = [
                {"type": "tool_result", "tool_use_id": b.id, "content": OUTPUT} for b in used
            ]
            if results:
                talk.append({"role": "user", "content": results})
            if turn == 1:
                talk.append({"role": "user", "content": "Thanks. " * 500})
    return said


TALKS = {"chat": chat, "responses": responses, "messages": messages}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", TALKS)
def test_outputs_are_shortened_once_and_expanded_unseen(
    wire: str, streamed: bool, tmp_path: Path
) -> None:
    if wire == "messages" and find_spec("anthropic") is None:
        pytest.skip("the client library anthropic is not installed")
    talk = TALKS[wire]
    with provide(speaking(expanding)) as provider:
        said = ask(tmp_path / "r", provider.url, lambda opened: talk(opened, streamed), SETTINGS)
    assert said == ["", "7", f"Let me see.{FINAL}", "14", "You are welcome.", "7"]
    first, second, third, fourth = [seen.body for seen in provider.seen]

    [short] = texts(second)
    assert "7:45 from pier 4" in short
    assert SECRET_PLACE not in short
    assert len(short) < len(OUTPUT) / 10
    assert texts(third) == [short, OUTPUT], "the same bytes, and all of it after expand"
    assert texts(fourth) == [short, OUTPUT], "a later request carries both again"
    for one, other in ((first, second), (second, third), (third, fourth)):
        assert items(other)[: len(items(one))] == items(one), "the prefix stays"
        assert other["tools"] == one["tools"]
    assert json.dumps(first["tools"]).count('"expand"') == 1
    assert "Thanks. " * 500 in json.dumps(fourth), "what a user says is never shortened"
    if wire == "chat":
        assert fourth["messages"][0]["content"] == "Help. " * 500

    recording = Recording(tmp_path / "r")
    [kept] = recording.shortened()
    assert kept["before"] > 3000
    assert kept["after"] <= 200
    facts = [one.facts for one in recording.exchanges]
    assert [bool(one.get("compressed")) for one in facts] == [False, True, True]
    assert facts[1]["expanded"][0]["tokens"] > 3000
    assert facts[1]["usage"]["completion_tokens"] == 14
    again = ask(tmp_path / "r", None, lambda opened: talk(opened, streamed))
    assert again == said, "replayed without compressing anything"
