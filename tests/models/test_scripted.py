"""Replies from a file: chosen by what was asked or by their order, and labelled simulated."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.models import CallStore, Message, Reply, open_model


def ask(path: Path, *texts: str, calls: CallStore | None = None) -> Reply:
    """One call; the texts are turns of user and assistant."""
    roles = ("user", "assistant")
    messages: list[Message] = [
        {"role": roles[at % 2], "content": text} for at, text in enumerate(texts)
    ]
    return asyncio.run(open_model(f"scripted/{path}", calls=calls).complete(messages))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    replies: list[Any] = [
        {"match": "weather|rain", "text": "It rains."},
        {"tool_calls": [{"name": "python", "arguments": {"code": "print(1)"}}]},
        "Done.",
    ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(replies))
    return path


def test_replies_go_by_match_then_by_order(script: Path) -> None:
    assert ask(script, "How is the weather?").text == "It rains."
    first = ask(script, "Count.")
    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        ("python", '{"code": "print(1)"}')
    ]
    assert first.finish_reason == "tool_calls"
    assert ask(script, "Count.", "", "Go on.").text == "Done."
    assert ask(script, "Count.", "", "Go on.", "", "And?").text == "Done.", "the last one stays"


def test_lines_are_replies_too_and_a_changed_script_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    with CallStore(tmp_path / "calls.sqlite") as calls:
        for text in ("one", "two"):
            path.write_text(json.dumps(text) + "\n\n")
            assert ask(path, "?", calls=calls).text == text
        reply = ask(path, "?", calls=calls)
        assert reply.cached
        assert (reply.usage.cost_usd, reply.usage.tokens > 0) == (0.0, True)
    model = open_model(f"scripted/{path}")
    assert model.simulated


def test_a_script_can_refuse(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"error": 400, "text": "too long"}]')
    with pytest.raises(BadInput, match="too long"):
        ask(path, "?")
    path.write_text('[{"match": "nothing like it", "text": "x"}]')
    with pytest.raises(BadInput, match="no reply to 'Hello'"):
        ask(path, "Hello")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "at least one reply"),
        ('[{"says": "x"}]', "reply 0"),
        ('[{"match": "("}]', "no regular expression"),
        ("hello", "JSON list or JSONL"),
        ('"a"\n{', "JSON list or JSONL"),
    ],
)
def test_what_is_no_script_is_bad_input(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=says):
        open_model(f"scripted/{path}")
    with pytest.raises(BadInput, match="expected a script at"):
        open_model(f"scripted/{tmp_path}/missing.json")
