"""The gateway's record of an agent that is not ours, as the steps of its trajectory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.agents import AgentContext, AgentRun, Recorder, Sample, observed
from harness.core import Usage
from harness.models import Exchange, Message, ModelCall, Reply, Sampling
from harness.trajectories import collect_stats, content_text

SAMPLE = Sample("t", "t", "How many?", Path())


class Silent:
    """A model that is not asked."""

    spec, simulated, constrains = "openai/x", False, False

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Reply:
        raise AssertionError(messages, tools, sampling, response_format)


CONTEXT = AgentContext(model=Silent())


def reply(text: str, *calls: str) -> Reply:
    asked = tuple(ModelCall(id=name, name=name, arguments='{"a": 1}') for name in calls)
    usage = Usage(calls=1, prompt_tokens=5, completion_tokens=2)
    return Reply(
        call_id=f"call {text}", text=text, tool_calls=asked, finish_reason="stop", model="x",
        usage=usage,
    )  # fmt: skip


def attempt(answer: str | None, *exchanges: Exchange) -> AgentRun:
    recorder = Recorder("py:a.py:f", SAMPLE, CONTEXT)
    recorder.message("user", SAMPLE.prompt)
    if answer is not None:
        recorder.agent_text(answer)
    invalid = "it ended early" if answer is None else None
    return observed(recorder.run(answer, invalid), SAMPLE, CONTEXT, exchanges)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def test_results_stand_beside_their_calls_and_nothing_is_said_twice() -> None:
    begun = [{"role": "system", "content": "Be brief."}, user("How many?")]
    back: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "count", "function": {"name": "count", "arguments": "{}"}}],
    }
    result: Message = {"role": "tool", "tool_call_id": "count", "content": "7"}
    other = ([user("Elsewhere")], reply("yes"))  # another conversation, in between
    run = attempt(
        "7", (begun, reply("", "count")), other, ([*begun, back, result], reply("It is 7"))
    )
    said = [(step.source, content_text(step.message)) for step in run.trajectory.steps]
    assert said == [
        ("system", "Be brief."), ("user", "How many?"), ("agent", ""), ("user", "Elsewhere"),
        ("agent", "yes"), ("agent", "It is 7"), ("agent", "7"),
    ]  # fmt: skip
    observation = run.trajectory.steps[2].observation
    assert observation is not None
    assert [content_text(row.content or "") for row in observation.results] == ["7"]
    stats = collect_stats([run.trajectory])
    assert stats.tool_calls == {"count": 1}
    assert (stats.prompt_tokens, run.usage.tokens) == (15, 21)


def test_a_prompt_that_no_request_repeats_stands_first() -> None:
    run = attempt("7", ([{"role": "system", "content": "Be brief."}, user("Q")], reply("7")))
    sources = [(step.source, content_text(step.message)) for step in run.trajectory.steps]
    assert sources[:3] == [("user", "How many?"), ("system", "Be brief."), ("user", "Q")]


def test_an_answer_that_is_the_last_reply_is_no_step_of_its_own() -> None:
    run = attempt("7", ([user("How many?")], reply("7\n")))
    assert [step.source for step in run.trajectory.steps] == ["user", "agent"]


def test_the_same_message_said_again_in_a_conversation_is_a_step_again() -> None:
    more: list[Message] = [user("How many?"), user("go on"), user("go on")]
    run = attempt("b", (more[:2], reply("a")), (more, reply("b")))
    texts = [content_text(step.message) for step in run.trajectory.steps]
    assert texts == ["How many?", "go on", "a", "go on", "b"]


def test_why_an_attempt_is_invalid_is_counted() -> None:
    assert collect_stats([attempt(None).trajectory]).errors == {"it ended early": 1}
