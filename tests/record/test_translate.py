"""Clients of messages and responses before a server that speaks chat completions only."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.core import BadInput
from harness.models import Budget
from harness.record import Plan, find_upstream
from harness.record.wires import ChatTransport, objects, wire_of
from harness.trajectories import open_trajectories
from tests.record import clients
from tests.record.provider import DONE, Answer, Json, Provider, Said, Script, Seen, provide
from tests.record.running import KEYS, PYTHON, running
from tests.record.speaking import speaking
from tests.record.test_clients import assert_no_key, assert_two_turns, looking_up

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
ASKED: dict[str, Json] = {
    MESSAGES: {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "cairn?"}]},
    RESPONSES: {"model": "m", "input": "cairn?"},
}


def chat_only(provider: Provider, seen: Seen) -> Answer:
    """A server that knows one path, as vLLM and the embedded engine were for long."""
    if seen.path not in (CHAT, "/v1/models"):
        return Answer({"error": {"message": f"no {seen.path}"}}, status=404)
    return speaking(looking_up)(provider, seen)


@pytest.mark.slow
@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_real_clients_work(client: str, tmp_path: Path) -> None:
    if find_spec(client) is None:
        pytest.skip(f"the client library {client} is not installed")
    command = [*PYTHON, clients.OPENAI if client == "openai" else clients.ANTHROPIC]
    folder = tmp_path / "recording"
    with provide(chat_only) as provider:
        plan = Plan(folder, find_upstream(provider.url, translate=True), Budget())
        first = running(plan, command, KEYS)
        asked = [seen for seen in provider.seen if seen.path != "/v1/models"]
    assert first.report.command_exit == 0, first.output
    assert {seen.path for seen in asked} == {CHAT}
    assert {seen.headers["authorization"][7:] for seen in asked} <= set(KEYS.values())
    assert "A cairn is a heap of stones." in first.output
    for trajectory in open_trajectories(folder / "trajectories"):
        assert_two_turns(trajectory)
    assert_no_key(folder)


def posted(path: str, body: Json, script: Any) -> tuple[httpx.Response, list[Seen]]:
    """The response to one request through the translation, and what the server saw."""
    with provide(script) as provider:

        async def work() -> httpx.Response:
            transport = ChatTransport(None, httpx.AsyncHTTPTransport())
            async with httpx.AsyncClient(transport=transport, base_url=provider.url) as client:
                return await client.post(path, json=body)

        return asyncio.run(work()), provider.seen


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
@pytest.mark.parametrize("text", ["Two words", ""])
def test_a_stream_says_what_a_whole_answer_says(path: str, text: str) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        calls: list[tuple[str, Json]] = [("look_up", {"word": "cairn"}), ("stop", {})]
        return speaking(lambda _: Said(text, calls))(provider, seen)

    wire = wire_of("POST", path)
    assert wire
    whole, _ = posted(path, ASKED[path], script)
    stream, seen = posted(path, {**ASKED[path], "stream": True}, script)
    assert seen[0].body["stream_options"] == {"include_usage": True}
    events = objects(stream.content.split(b"\n\n"))
    made = wire.assemble(events)
    one, other = wire.reply(whole.json()), wire.reply(made)
    assert (one.text, [call.name for call in one.calls]) == (text, ["look_up", "stop"])
    assert (other.text, other.calls) == (one.text, one.calls)
    assert wire.tokens(made) == wire.tokens(whole.json())
    numbers = [event["sequence_number"] for event in events if "sequence_number" in event]
    assert numbers == list(range(len(numbers)))


def part(name: str = "", text: str = "", **more: Any) -> Json:
    """A part of a call as a chunk of a chat stream has it."""
    named = {"name": name} if name else {}
    return {**more, "function": {**named, "arguments": text}}


PARALLEL: dict[str, list[list[Json]]] = {
    "one number for all": [
        [part("look_up", '{"word": "cairn"}', index=0, id="a")],
        [part("stop", '{"at": 1}', index=0, id="b")],
    ],
    "no numbers": [
        [part("look_up", '{"word": ', id="a")],
        [part(text='"cairn"}')],
        [part("stop", '{"at": 1}', id="b")],
    ],
    "neither numbers nor ids": [
        [part("look_up", '{"word": "cairn"}')],
        [part("stop", '{"at": 1}')],
    ],
    "in turns": [
        [part("look_up", index=0, id="a"), part("stop", index=1, id="b")],
        [part(text='{"word": ', index=0), part(text='{"at"', index=1)],
        [part(text=": 1}", index=1)],
        [part(text='"cairn"}', index=0)],
    ],
    "arguments before the name": [
        [part(text='{"word": ', index=0, id="a")],
        [part("look_up", '"cairn"}', index=0), part("stop", '{"at": 1}', index=1, id="b")],
    ],
    "named in every chunk": [
        [part("look_up", '{"word": ', index=0, id="a")],
        [part("look_up", '"cairn"}', index=0, id="a")],
        [part("stop", '{"at": 1}', index=1, id="b")],
    ],
}


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
@pytest.mark.parametrize("form", PARALLEL)
def test_parallel_calls_stay_apart(path: str, form: str) -> None:
    deltas: list[Json] = [{"content": "Two."}, *({"tool_calls": one} for one in PARALLEL[form])]
    chunks: list[Json] = [
        {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"
    stream, _ = posted(path, {**ASKED[path], "stream": True}, always(Answer([*chunks, DONE])))
    events = objects(stream.content.split(b"\n\n"))
    wire = wire_of("POST", path)
    assert wire
    reply = wire.reply(wire.assemble(events))
    expected = [("look_up", {"word": "cairn"}), ("stop", {"at": 1})]
    made = [(call.name, json.loads(call.json)) for call in reply.calls]
    assert (reply.text, made) == ("Two.", expected)
    # What clients run a call by is whole, and nothing comes behind it.
    ended: list[int] = []
    for event in events:
        at = event.get("output_index", event.get("index", -1))
        assert at not in ended
        if event["type"] in ("content_block_stop", "response.output_item.done"):
            ended.append(at)
        if event["type"] == "response.output_item.done" and at:
            assert json.loads(event["item"]["arguments"]) == expected[at - 1][1]
    assert ended == [0, 1, 2]


def test_a_response_repeats_the_settings_that_were_asked_for() -> None:
    asked = {**ASKED[RESPONSES], "temperature": 0, "parallel_tool_calls": False, "top_p": None}
    answer = posted(RESPONSES, asked, chat_only)[0].json()
    assert (answer["temperature"], answer["parallel_tool_calls"]) == (0, False)
    assert (answer["top_p"], answer["tool_choice"]) == (1.0, "auto")


def test_a_conversation_of_messages_reaches_the_server_whole() -> None:
    pixel = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    talk: list[Json] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."},
                                     {"type": "image", "source": pixel}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "see", "input": {"at": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "text", "text": "a cat"}]},
            {"type": "text", "text": "And?"}]},
    ]  # fmt: skip
    body = {
        "model": "m", "max_tokens": 9, "messages": talk, "stop_sequences": ["."], "top_k": 3,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "see", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "see", "disable_parallel_tool_use": True},
    }  # fmt: skip
    _, [seen] = posted(MESSAGES, body, chat_only)
    function = {"name": "see", "parameters": {"type": "object"}}
    call = {"id": "t1", "type": "function", "function": {"name": "see", "arguments": '{"at": 1}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert seen.body == {
        "model": "m", "max_tokens": 9, "stop": ["."], "top_k": 3, "parallel_tool_calls": False,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "see"}},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}, image]},
            {"role": "assistant", "content": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t1", "content": "a cat"},
            {"role": "user", "content": "And?"},
        ],
    }  # fmt: skip


def test_items_of_one_answer_are_one_message() -> None:
    body: Json = {
        "model": "m", "instructions": "Be brief.", "max_output_tokens": 9,
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}},
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look."}]},
            {"type": "reasoning", "id": "r", "summary": []},
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "a", "name": "see", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "see", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "a cat"},
            {"type": "function_call_output", "call_id": "b", "output": "a dog"},
        ],
    }  # fmt: skip
    _, [seen] = posted(RESPONSES, body, chat_only)
    roles = [message["role"] for message in seen.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert [call["id"] for call in seen.body["messages"][2]["tool_calls"]] == ["a", "b"]
    schema: Json = {"name": "n", "schema": {}, "strict": True}
    assert seen.body["response_format"] == {"type": "json_schema", "json_schema": schema}
    assert seen.body["max_tokens"] == 9


def test_thoughts_alone_are_no_message() -> None:
    thoughts = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    items = [{"role": "user", "content": "Look."}, thoughts, {"role": "user", "content": "So?"}]
    _, [seen] = posted(RESPONSES, {"model": "m", "input": items}, chat_only)
    assert [message["content"] for message in seen.body["messages"]] == ["Look.", "So?"]


REFUSED: list[tuple[str, Json, str]] = [
    (RESPONSES, {"previous_response_id": "resp_1"}, "previous_response_id"),
    (RESPONSES, {"tools": [{"type": "web_search"}]}, "web_search"),
    (RESPONSES, {"input": [{"type": "item_reference", "id": "x"}]}, "item_reference"),
    (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "w"}]}, "web_search_20250305"),
    (MESSAGES, {"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "document"),
]


@pytest.mark.parametrize(("path", "field", "named"), REFUSED)
def test_what_chat_cannot_say_is_refused_by_its_name(path: str, field: Json, named: str) -> None:
    got, seen = posted(path, ASKED[path] | field, chat_only)
    assert (got.status_code, seen) == (400, [])
    assert named in got.json()["error"]["message"]


def always(answer: Answer) -> Script:
    """A script that says the same to everything."""

    def script(provider: Provider, seen: Seen) -> Answer:
        return answer

    return script


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
def test_errors_reach_the_client_in_its_form(path: str) -> None:
    limited = Answer({"error": {"message": "slow down"}}, status=429)
    got, _ = posted(path, ASKED[path], always(limited))
    assert (got.status_code, got.json()["error"]["message"]) == (429, "slow down")
    assert got.json().get("type") == ("error" if path == MESSAGES else None)
    empty, _ = posted(path, ASKED[path], always(Answer({"choices": []})))
    assert empty.status_code == 502
    streamed = Answer([{"error": {"message": "out of memory"}}])
    stream, _ = posted(path, {**ASKED[path], "stream": True}, always(streamed))
    [event] = objects(stream.content.split(b"\n\n"))
    assert event["type"] == "error"
    assert "out of memory" in json.dumps(event)


@pytest.mark.parametrize("path", [MESSAGES, RESPONSES])
def test_a_stream_without_an_end_is_no_answer(path: str) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        whole = chat_only(provider, seen)
        assert isinstance(whole.value, list)
        return Answer(whole.value[:3])

    with pytest.raises(httpx.RemoteProtocolError, match="before its finish_reason"):
        posted(path, {**ASKED[path], "stream": True}, script)


@pytest.mark.parametrize(
    ("path", "said"), [(MESSAGES, "max_tokens"), (RESPONSES, "max_output_tokens")]
)
def test_an_answer_that_was_cut_off_says_so(path: str, said: str) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        answer = speaking(lambda _: Said("a b"))(provider, seen)
        assert isinstance(answer.value, dict)
        answer.value["choices"][0]["finish_reason"] = "length"
        return answer

    got, _ = posted(path, ASKED[path], script)
    body = got.json()
    assert (body.get("stop_reason") or body["incomplete_details"]["reason"]) == said


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        return speaking(looking_up)(provider, Seen(CHAT, seen.headers, seen.body))

    async def ask(url: str) -> int:
        upstream = find_upstream(url, translate=True)
        async with upstream.client() as client:
            return (await client.post(upstream.url(MESSAGES, {}), json=ASKED[MESSAGES])).status_code

    for name in ("http_proxy", "all_proxy", "no_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with provide(script) as provider:
        monkeypatch.setenv("HTTP_PROXY", provider.url)
        assert asyncio.run(ask("http://model.invalid/v1")) == 200
        assert [seen.path for seen in provider.seen] == [f"http://model.invalid{CHAT}"]
        monkeypatch.setenv("HTTP_PROXY", "127.0.0.1:9")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert asyncio.run(ask(provider.url)) == 200
    assert provider.seen[-1].path == CHAT


def test_a_model_of_this_process_is_always_translated_for() -> None:
    upstream = find_upstream("simulated/lookup")
    assert upstream.translate
    with pytest.raises(BadInput, match="--translate and --guard need --model or --base-url"):
        find_upstream(None, translate=True)

    async def work() -> Any:
        async with upstream.client() as client:
            got = await client.post(upstream.url(MESSAGES, {}), json=ASKED[MESSAGES])
            return got.json()

    answer = asyncio.run(work())
    assert answer["role"] == "assistant"
    assert answer["content"][0]["text"]
