"""Grouping of requests into conversations, and events that come in any pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.core import Trajectory
from harness.core.redaction import Redactor
from harness.models import event_bytes
from harness.record import Recording
from harness.record.wires import Splitter, data_of
from tests.record.asking import Open, ask
from tests.record.provider import Answer, Json, Provider, Said, Seen, provide
from tests.record.speaking import speaking

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def echo(seen: Seen) -> Said:
    """Repeats the last thing that was said."""
    asked = seen.body.get("messages") or seen.body["input"]
    return Said(f"You said {asked if isinstance(asked, str) else asked[-1]['content']}")


def trajectories(folder: Path) -> list[Trajectory]:
    recording = Recording(folder)
    [session] = recording.sessions()
    return recording.trajectories(session, Redactor())


def said(trajectory: Trajectory) -> list[Any]:
    return [step.message for step in trajectory.steps]


async def turn(opened: Open, talk: list[Json], text: str) -> list[Json]:
    asked = [*talk, user(text)]
    got = await opened.post(CHAT, {"model": "m", "messages": asked})
    return [*asked, got.json()["choices"][0]["message"]]


def test_two_agents_at_once_are_two_trajectories(tmp_path: Path) -> None:
    async def work(opened: Open) -> None:
        one, other = await turn(opened, [], "one"), await turn(opened, [], "two")
        other = await turn(opened, other, "four")
        one = await turn(opened, one, "three")
        await turn(opened, one, "five")

    with provide(speaking(echo)) as provider:
        ask(tmp_path / "r", provider.url, work)
    first, second = trajectories(tmp_path / "r")
    assert said(first) == [
        "one", "You said one", "three", "You said three", "five", "You said five",
    ]  # fmt: skip
    assert said(second) == ["two", "You said two", "four", "You said four"]
    assert first.harness["exchanges"] == [1, 4, 5]


def test_samples_of_one_prompt_are_apart_and_go_on_with_their_own_reply(tmp_path: Path) -> None:
    def numbered(provider: Provider, seen: Seen) -> Answer:
        return speaking(lambda _: Said(f"reply {len(provider.seen)}"))(provider, seen)

    async def work(opened: Open) -> None:
        one, other = await turn(opened, [], "same"), await turn(opened, [], "same")
        await turn(opened, one, "after one")
        await turn(opened, other, "after two")

    with provide(numbered) as provider:
        ask(tmp_path / "r", provider.url, work)
    first, second = trajectories(tmp_path / "r")
    assert said(first) == ["same", "reply 1", "after one", "reply 3"]
    assert said(second) == ["same", "reply 2", "after two", "reply 4"]


def test_a_failed_request_and_its_retry_are_one_turn(tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        if len(provider.seen) == 1:
            return Answer({"error": {"message": "overloaded"}}, status=503)
        return speaking(echo)(provider, seen)

    async def work(opened: Open) -> None:
        await opened.post(CHAT, {"model": "m", "messages": [user("hello")]})
        await opened.post(CHAT, {"model": "m", "messages": [user("hello")]})

    with provide(script) as provider:
        ask(tmp_path / "r", provider.url, work)
    [found] = trajectories(tmp_path / "r")
    assert said(found) == ["hello", "You said hello"]
    assert found.harness["errors"] == ["exchange 1: HTTP 503, complete"]


def test_responses_that_the_server_keeps_are_one_conversation(tmp_path: Path) -> None:
    async def work(opened: Open) -> None:
        first = await opened.post(RESPONSES, {"model": "m", "input": "one"})
        more = {"model": "m", "input": "two", "previous_response_id": first.json()["id"]}
        await opened.post(RESPONSES, more)
        await opened.post(RESPONSES, {"model": "m", "input": "other"})

    with provide(speaking(echo)) as provider:
        ask(tmp_path / "r", provider.url, work)
    first, second = trajectories(tmp_path / "r")
    assert said(first) == ["one", "You said one", "two", "You said two"]
    assert said(second) == ["other", "You said other"]


def test_a_streamed_call_without_arguments_has_none(tmp_path: Path) -> None:
    def script(provider: Provider, seen: Seen) -> Answer:
        answer = speaking(lambda _: Said("", [("stop", {})]))(provider, seen)
        assert isinstance(answer.value, list)
        for event in answer.value:
            if event.get("type") == "content_block_delta":
                event["delta"]["partial_json"] = ""
        return Answer(answer.value)

    async def work(opened: Open) -> None:
        body = {"model": "m", "max_tokens": 9, "stream": True, "messages": [user("go")]}
        await opened.post("/v1/messages", body)

    with provide(script) as provider:
        ask(tmp_path / "r", provider.url, work)
    [found] = trajectories(tmp_path / "r")
    calls = found.steps[-1].tool_calls or ()
    assert [(call.function_name, call.arguments) for call in calls] == [("stop", {})]


@given(st.lists(st.text(max_size=20), max_size=6), st.data())
def test_events_are_the_same_in_any_pieces(texts: list[str], data: st.DataObject) -> None:
    events = [event_bytes({"type": "t", "text": text}) for text in texts]
    stream, splitter, found = b"".join(events), Splitter(), list[bytes]()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[start:end])
    assert found == events
    assert splitter.rest == b""
    assert [data_of(event)["text"] for event in found] == texts
