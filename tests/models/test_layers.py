"""A layer in front of a back end: what goes through it, and what does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.core import LimitReached
from harness.core import Refused as Stopped
from harness.models import SPENT, Body, Message, Model, Refused, Reply, layered

ASKED: Body = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "seed": 3,
    "stop": "x",
}


def completion(text: str, **more: Any) -> Body:
    message = {"role": "assistant", "content": text, **more}
    return {
        "id": "a", "created": 7, "model": "m-1", "service_tier": "x",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "odd": 1},
    }  # fmt: skip


class Shouting:
    """A layer that shouts at the model, and stops what speaks of bombs."""

    def __init__(self, model: Model) -> None:
        self.spec, self.simulated, self.constrains = model.spec, False, False
        self._model = model

    async def complete(self, messages: list[Message], **options: Any) -> Reply:
        if "limit" in str(messages):
            raise LimitReached("no more")
        loud = [{**row, "content": str(row["content"]).upper()} for row in messages]
        reply = await self._model.complete(loud, **options)
        if "bomb" in reply.text:
            raise Stopped("the guard behind: Unsafe")
        return reply


def ask(body: Body, answer: Body) -> tuple[Body, list[Body]]:
    seen: list[Body] = []

    async def backend(body: Body) -> Body:
        seen.append(body)
        return answer

    async def work() -> Body:
        answered = await layered(backend, Shouting)(body)
        assert isinstance(answered, dict)
        return answered

    return asyncio.run(work()), seen


def test_the_layer_sees_the_request_and_the_parameters_stay() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    answered, seen = ask({**ASKED, "tools": tools, "stream": True}, completion("fine"))
    assert seen[0]["messages"][0]["content"] == "HI"
    assert (seen[0]["seed"], seen[0]["stop"], seen[0]["tools"]) == (3, "x", tools)
    assert "stream" not in seen[0], "an answer is whole before anything of it is seen"
    assert answered["choices"][0]["message"]["content"] == "fine"
    assert (answered["id"], answered["model"], answered["created"]) == ("a", "m-1", 7)
    assert answered["usage"]["odd"] == 1


def test_parts_of_an_answer_that_no_layer_sees_do_not_go_on() -> None:
    hidden = {"function_call": {"name": "f", "arguments": "a bomb"}, "refusal": "a bomb"}
    answered, _ = ask(ASKED, completion("fine", **hidden))
    assert "bomb" not in str(answered)
    two = completion("fine")
    two["choices"] *= 2
    with pytest.raises(Refused, match="expected one answer"):
        ask(ASKED, two)
    with pytest.raises(Refused, match="n: expected 1"):
        ask({**ASKED, "n": 2}, completion("fine"))


def test_what_was_stopped_behind_an_answer_was_paid_for() -> None:
    with pytest.raises(Refused, match="behind: Unsafe") as stopped:
        ask(ASKED, completion("a bomb"))
    assert (stopped.value.status, SPENT in stopped.value.headers) == (400, True)
    limited = {**ASKED, "messages": [{"role": "user", "content": "limit"}]}
    with pytest.raises(Refused, match="no more") as refused:
        ask(limited, completion("fine"))
    assert (refused.value.status, SPENT in refused.value.headers) == (429, False)
