"""Replies written in a file, as a model: for examples, demonstrations and tests.

`scripted/<file>` reads a JSON list, or JSONL with one reply per line: a text, or an object.

| field | meaning |
|---|---|
| `text` | what the model says |
| `tool_calls` | list of `{"name", "arguments"}`; `arguments` is an object |
| `reasoning` | its thoughts, where the server would separate them |
| `match` | regular expression that the last user message must contain |
| `error` | HTTP status to refuse with; `text` is the reason |

The first reply whose `match` is found answers, as often as it is asked for. Replies without `match`
are given by their order: the n-th to a request that holds n assistant messages, and the last one to
all later ones. So a script answers a request always in the same way, whatever ran before it.
Its answers are labelled simulated wherever those of a simulator are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Self

from pydantic import Field, JsonValue, TypeAdapter, ValidationError, model_validator

from harness.core import BadInput, Value, digest, read_foreign
from harness.models.types import Body, Refused

_BYTES_PER_TOKEN = 4


class ScriptedCall(Value):
    """A tool call of a scripted reply."""

    name: str
    arguments: dict[str, JsonValue] = {}


class ScriptedReply(Value):
    """A reply of a script; see the module's table."""

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    reasoning: str | None = None
    match: str | None = None
    error: int | None = Field(default=None, ge=400, le=599)

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _match_is_a_pattern(self) -> Self:
        try:
            re.compile(self.match or "")
        except re.error as error:
            raise ValueError(f"match {self.match!r} is no regular expression: {error}") from error
        return self


class Script:
    """The replies of a file, as a back end.

    Attributes:
        name: digest of the replies: a changed script shares no cached answer with the old one.

    Raises:
        BadInput: if the file is no script.
    """

    def __init__(self, path: Path) -> None:
        try:
            text = read_foreign(path).decode("utf-8-sig")
            # Only line feeds end a line: other separators may stand in a reply.
            lines = [line for line in text.split("\n") if line.strip()]
            values = json.loads(text) if text.lstrip()[:1] == "[" else map(json.loads, lines)
            self._replies = TypeAdapter(list[ScriptedReply]).validate_python(list(values))
        except OSError as error:
            raise BadInput(f"expected a script at {str(path)!r}: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise BadInput(f"{path}: reply {where}: {first['msg']}") from error
        except ValueError as error:
            raise BadInput(f"{path}: expected a JSON list or JSONL of replies: {error}") from error
        if not self._replies:
            raise BadInput(f"{path}: expected at least one reply, found none")
        dumped = [reply.model_dump(mode="json") for reply in self._replies]
        self.name = f"{path.stem}-{digest(dumped)[:12]}"

    async def answer(self, body: Body) -> Body:
        """The completion that the script has for a request.

        Raises:
            Refused: if the reply is an error, or no `match` is found and no reply goes by order.
        """
        messages: list[dict[str, Any]] = body["messages"]
        reply = self._chosen(messages)
        if reply.error is not None:
            raise Refused(reply.error, reply.text or "the script refuses this")
        request = digest({name: body[name] for name in sorted(body)})[:16]
        calls = [
            {
                "id": f"call_{request}_{number}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for number, call in enumerate(reply.tool_calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning is not None:
            message["reasoning_content"] = reply.reasoning
        if calls:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop"
        prompt, completion = _tokens(messages), _tokens([reply.text, calls])
        return {
            "id": f"scripted-{request}",
            "object": "chat.completion",
            "created": 0,
            "model": f"scripted-{self.name}",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }

    def _chosen(self, messages: list[dict[str, Any]]) -> ScriptedReply:
        question = next((m["content"] for m in reversed(messages) if m.get("role") == "user"), "")
        text = question if isinstance(question, str) else json.dumps(question, ensure_ascii=False)
        for reply in self._replies:
            if reply.match is not None and re.search(reply.match, text):
                return reply
        ordered = [reply for reply in self._replies if reply.match is None]
        if not ordered:
            raise Refused(404, f"the script has no reply to {text[:200]!r}")
        turn = sum(message.get("role") == "assistant" for message in messages)
        return ordered[min(turn, len(ordered) - 1)]


def _tokens(value: Any) -> int:
    """Pretended tokens: four bytes each."""
    return -(-len(json.dumps(value, ensure_ascii=False).encode()) // _BYTES_PER_TOKEN)
