"""Calls that the model wrote as text, in an engine whose stream is scripted here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.engines.embedded import LocalModel
from harness.engines.embedded.wire import WrittenCalls
from harness.models import STREAMED, assembled

NAME = "scripted.gguf"
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("convert", "weather")]
CALL = '{"name": "convert", "arguments": {"amount": 3, "unit": "Åm"}}'
WEATHER = '{"name": "weather", "arguments": {"city": "Oslo"}}'


def _chunks(pieces: Sequence[str], finish: str | None = "stop") -> list[Any]:
    """Return llama.cpp's chunks of an answer in these pieces."""
    deltas: list[Any] = [{"role": "assistant", "content": None}]
    deltas += [{"content": piece} for piece in pieces]
    rows: list[Any] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish:
        rows.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [*rows, {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}]


def _fed(chunks: list[Any], request: Any) -> list[Any]:
    written = WrittenCalls(request)
    return [*(known for chunk in chunks for known in written.feed(chunk)), *written.rest()]


def _choice(chunks: list[Any]) -> Any:
    [choice] = assembled(chunks)["choices"]
    return choice


def _functions(choice: Any) -> list[Any]:
    calls = [call["function"] for call in choice["message"].get("tool_calls", [])]
    return [{"name": call["name"], "arguments": json.loads(call["arguments"])} for call in calls]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """A model whose engine streams `model.pieces`."""
    path = tmp_path / NAME
    path.write_bytes(b"GGUF")
    scripted: Any = LocalModel(str(path))

    async def sent(method: str, where: str, *_: Any, **__: Any) -> Any:
        if where == "/props":
            return httpx.Response(200, json={"chat_template": "{{ tools }}"}), None

        async def lines() -> AsyncGenerator[bytes]:
            for chunk in _chunks(scripted.pieces, scripted.finish):
                yield f"data: {json.dumps(chunk)}\n\n".encode()
            yield b"data: [DONE]\n\n"

        return httpx.Response(200, content=lines()), None

    monkeypatch.setattr(scripted, "_sent", sent)
    scripted.finish = "stop"
    return scripted


def _asked(model: Any, pieces: Sequence[str], **fields: Any) -> list[Any]:
    """The choice of the whole answer, and what the chunks of the streamed one make."""
    model.pieces = pieces
    body = {"model": model._name, "messages": [{"role": "user", "content": "?"}], **fields}

    async def work() -> list[Any]:
        whole = await model.answer(body)
        stream = await model.answer(body | STREAMED)
        return [whole["choices"][0], _choice([chunk async for chunk in stream])]

    return asyncio.run(work())


def test_a_reply_that_is_a_call_becomes_one_whole_and_streamed(model: Any) -> None:
    for choice in _asked(model, [CALL[:9], CALL[9:]], tools=TOOLS):
        assert _functions(choice) == [json.loads(CALL)]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] is None


def test_several_calls_are_numbered_and_one_is_left_where_one_is_wanted(model: Any) -> None:
    pieces = ["```json\n", f"{CALL}\n", WEATHER, "\n```"]
    for choice in _asked(model, pieces, tools=TOOLS):
        assert _functions(choice) == [json.loads(CALL), json.loads(WEATHER)]
        assert len({call["id"] for call in choice["message"]["tool_calls"]}) == 2
    for choice in _asked(model, pieces, tools=TOOLS, parallel_tool_calls=False):
        assert _functions(choice) == [json.loads(CALL)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": TOOLS, "tool_choice": "none"},
        {"tools": TOOLS[1:]},
        {"tools": TOOLS, "response_format": {"type": "json_object"}},
        {"tools": TOOLS, "grammar": "root ::= .*"},
    ],
)
def test_a_text_stays_text_where_no_such_call_was_offered(model: Any, fields: Any) -> None:
    for choice in _asked(model, [CALL], **fields):
        assert choice["message"] == {"role": "assistant", "content": CALL}
        assert choice["finish_reason"] == "stop"


def test_a_reply_that_was_cut_is_no_call(model: Any) -> None:
    """The text might have gone on."""
    model.finish = "length"
    for choice in _asked(model, [CALL], tools=TOOLS):
        assert choice["message"]["content"] == CALL
        assert choice["finish_reason"] == "length"


def test_a_stream_that_breaks_off_keeps_its_text() -> None:
    fed = _fed(_chunks([CALL], None), {"tools": TOOLS})
    assert _choice(fed)["message"]["content"] == CALL


def test_calls_that_the_engine_found_by_itself_are_left_to_it() -> None:
    part = {"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{}"}}
    called = {"choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": None}]}
    chunks = _chunks([CALL[:5]], "tool_calls")
    chunks.insert(2, called)
    assert _fed(chunks, {"tools": TOOLS}) == chunks


def test_only_what_begins_like_a_call_is_held_back() -> None:
    written = WrittenCalls({"tools": TOOLS})

    def passed(*pieces: str) -> list[str]:
        return [
            known["choices"][0]["delta"]["content"]
            for piece in pieces
            for known in written.feed(_chunks([piece])[1])
        ]

    assert passed("{", '"na', 'me": "') == []
    assert passed("Tom", " and") == ["{", '"na', 'me": "', "Tom", " and"]
    written = WrittenCalls({"tools": TOOLS})
    assert passed("The", " answer") == ["The", " answer"]


openings = st.sampled_from(["", "{", "[", "```json\n", "<tool_call>", CALL[:20], CALL, WEATHER])
prose = st.text(st.characters(exclude_categories=["Cs"]))


@st.composite
def pieces(draw: st.DrawFn, text: st.SearchStrategy[str]) -> list[str]:
    """A text, divided anywhere."""
    whole = draw(text)
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]


@given(pieces(st.builds("".join, st.tuples(openings, prose.filter(str.strip)))))
def test_ordinary_text_is_never_changed(parts: list[str]) -> None:
    chunks = _chunks(parts)
    assert _choice(_fed(chunks, {"tools": TOOLS})) == _choice(chunks)


@given(pieces(prose))
def test_text_that_does_not_begin_like_a_call_comes_as_it_came(parts: list[str]) -> None:
    chunks = _chunks([part for part in ["So:", *parts] if part])
    written = WrittenCalls({"tools": TOOLS})
    assert [written.feed(chunk) for chunk in chunks] == [[chunk] for chunk in chunks]


forms = st.sampled_from(
    [CALL, f"[{CALL}]", f"```json\n{WEATHER}\n```", f"<tool_call>\n{CALL}\n</tool_call>"]
)


@given(pieces(forms))
def test_a_call_is_read_wherever_its_chunks_are_divided(parts: list[str]) -> None:
    choice = _choice(_fed(_chunks(parts), {"tools": TOOLS}))
    assert len(_functions(choice)) == 1
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
