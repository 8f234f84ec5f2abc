"""Special cases of `--context`: mixed calls, kept responses, failures, secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import openai
import pytest

from harness.record import Recording
from tests.record.asking import Open, ask
from tests.record.provider import Answer, Json, Provider, Said, Seen, provide
from tests.record.speaking import speaking
from tests.record.test_context import (
    CHAT_TOOLS,
    OUTPUT,
    QUESTION,
    SECRET_PLACE,
    SETTINGS,
    expanding,
)


def both(seen: Seen) -> Said:
    """Calls our tool and the agent's in one answer."""
    told = json.dumps(seen.body, ensure_ascii=False)
    found = re.search(r"expand ([0-9a-f]{10}) gives all", told)
    if "second result" in told:
        return Said("Done.")
    if found:
        return Said("", [("expand", {"id": found[1]}), ("read", {"n": 2})])
    return Said("", [("read", {"n": 1})])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_call_beside_the_agents_own_is_answered_when_it_comes_back(
    streamed: bool, tmp_path: Path
) -> None:
    async def work(opened: Open) -> list[Any]:
        client: Any = openai.AsyncOpenAI(base_url=f"{opened.url}/v1", api_key="key-of-chat")
        talk: list[Any] = [{"role": "user", "content": QUESTION}]
        for output in (OUTPUT, "second result", ""):
            if streamed:
                async with client.chat.completions.stream(
                    model="m", messages=talk, tools=CHAT_TOOLS
                ) as stream:
                    got: Any = await stream.get_final_completion()
            else:
                got = await client.chat.completions.create(
                    model="m", messages=talk, tools=CHAT_TOOLS
                )
            dumped: Json = got.choices[0].message.model_dump(exclude_none=True)
            talk.append(dumped)
            talk += [
                {"role": "tool", "tool_call_id": call["id"], "content": output}
                for call in dumped.get("tool_calls", [])
            ]
        await client.close()
        return talk

    with provide(speaking(both)) as provider:
        talk = ask(tmp_path / "r", provider.url, work, SETTINGS)
    calls = [call["function"]["name"] for one in talk for call in one.get("tool_calls", [])]
    assert calls == ["read", "read"]
    assert talk[-1]["content"] == "Done."
    last = provider.seen[-1].body["messages"]
    assert [one["role"] for one in last] == [
        "user", "assistant", "tool", "assistant", "tool", "tool",
    ]  # fmt: skip
    answered = [call["id"] for call in last[3]["tool_calls"]]
    assert [one["tool_call_id"] for one in last[4:]] == answered
    assert [one["content"] for one in last[4:]] == [OUTPUT, "second result"]


def test_a_response_that_the_upstream_keeps_goes_on_from_its_last_leg(tmp_path: Path) -> None:
    async def work(opened: Open) -> str:
        tools = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
        given: Any = {"model": "m", "tools": tools}
        got: Any = {}
        results: Any = QUESTION
        for output in (OUTPUT, "second result", ""):
            body = {**given, "input": results}
            if got:
                body["previous_response_id"] = got["id"]
            got = (await opened.post("/v1/responses", body)).json()
            results = [
                {"type": "function_call_output", "call_id": item["call_id"], "output": output}
                for item in got["output"]
                if item["type"] == "function_call"
            ]
        return got["output"][0]["content"][0]["text"]

    def script(seen: Seen) -> Said:
        told = json.dumps(seen.body, ensure_ascii=False)
        found = re.search(r"expand ([0-9a-f]{10}) gives all", told)
        if "second result" in told:
            return Said("Done.")
        if SECRET_PLACE in told:
            return Said("", [("expand", {"id": "0000000000"}), ("read", {"n": 2})])
        return Said("", [("expand", {"id": found[1]}) if found else ("read", {"n": 1})])

    with provide(speaking(script)) as provider:
        assert ask(tmp_path / "r", provider.url, work, SETTINGS) == "Done."
    first, second, third, fourth = [seen.body for seen in provider.seen]
    assert "previous_response_id" not in first
    assert second["previous_response_id"] == third["previous_response_id"] == "resp_1"
    assert fourth["previous_response_id"] == "resp_5", "the client knows resp_3 alone"
    assert [one["call_id"] for one in fourth["input"]] == ["call_5_0", "call_5_1"]
    assert "no part has the ID" in fourth["input"][0]["output"]


def test_small_outputs_secrets_and_requests_without_tools_stay_as_they_are(tmp_path: Path) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz"
    talk: list[Json] = [
        {"role": "user", "content": QUESTION},
        {"role": "tool", "tool_call_id": "a", "content": "short"},
        {"role": "tool", "tool_call_id": "b", "content": f"{key}\n{OUTPUT}"},
    ]

    async def work(opened: Open) -> None:
        await opened.post("/v1/chat/completions", {"model": "m", "messages": talk})
        plain = {"model": "m", "messages": [{"role": "user", "content": OUTPUT}]}
        await opened.post("/v1/chat/completions", plain)

    with provide(speaking(lambda _: Said("ok"))) as provider:
        ask(tmp_path / "r", provider.url, work, SETTINGS)
    assert provider.seen[0].body == {"model": "m", "messages": talk}
    assert provider.seen[1].body["messages"][0]["content"] == OUTPUT
    raw = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert key.encode() not in raw
    assert key not in json.dumps(Recording(tmp_path / "r").events)


def test_an_upstream_that_fails_after_expand_is_an_error_of_the_stream(tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        if len(provider.seen) == 2:
            return Answer({"error": {"message": "overloaded"}}, status=529)
        return speaking(expanding)(provider, seen)

    body: Json = {"model": "m", "stream": True, "tools": CHAT_TOOLS, "messages": [
        {"role": "user", "content": QUESTION},
        {"role": "tool", "tool_call_id": "b", "content": OUTPUT},
    ]}  # fmt: skip

    async def work(opened: Open) -> str:
        return (await opened.post("/v1/chat/completions", body)).text

    with provide(script) as provider:
        text = ask(tmp_path / "r", provider.url, work, SETTINGS)
    assert "overloaded" in text
    assert "Let " in text
