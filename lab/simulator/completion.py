"""Chat completions of the simulator."""

from __future__ import annotations

import json
from typing import Any

from harness.core import digest
from lab.simulator.agent import Move, next_move
from lab.simulator.analyst import analysis
from lab.simulator.conversation import Conversation, read_conversation
from lab.simulator.profile import Profile

_BYTES_PER_TOKEN = 4
_ARGUMENT = {"python": "code", "bash": "command", "read_skill_file": "path"}


def respond(profile: Profile, body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion for a request: a function of profile, request and its seed alone."""
    request = digest({name: body[name] for name in sorted(body) if name != "seed"})
    view = read_conversation(body)
    report = analysis(profile, view)
    if report is not None:
        move = Move(report)
    else:
        move = next_move(profile, view, request, int(body.get("seed") or 0))
    message, finish = _message(view, move, request)
    text, stop = str(message["content"] or ""), body.get("stop")
    for mark in (
        [stop] if isinstance(stop, str) else stop or ()
    ):  # cut at the first one, as servers do
        text = text.partition(str(mark))[0]
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if limit and len(text.encode()) > int(limit) * _BYTES_PER_TOKEN:
        text = text.encode()[: int(limit) * _BYTES_PER_TOKEN].decode("utf-8", "ignore")
        finish = "length"
    message["content"] = text
    written = text + json.dumps(message.get("tool_calls") or "")
    prompt = _tokens(json.dumps(body.get("messages"), ensure_ascii=False))
    completion = min(_tokens(written), int(limit)) if limit else _tokens(written)
    return {
        "id": f"simulated-{request[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": f"simulated-{profile.name}",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _message(view: Conversation, move: Move, request: str) -> tuple[dict[str, Any], str]:
    message: dict[str, Any] = {"role": "assistant", "content": move.text}
    if move.reasoning:
        message["reasoning_content"] = move.reasoning
    if not move.tool:
        return message, "stop"
    arguments = {_ARGUMENT[move.tool]: move.code}
    if view.text_protocol:
        action = json.dumps({"name": move.tool, "arguments": arguments}, ensure_ascii=False)
        message["content"] = f"Thought: {move.text}\nAction:\n{action}"
        return message, "stop"
    function = {"name": move.tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    message["tool_calls"] = [
        {"id": f"call_{request[:12]}", "type": "function", "function": function}
    ]
    return message, "tool_calls"


def _tokens(text: str) -> int:
    """Pretended tokens: four bytes each."""
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)
