"""Guards around a model, which the gateway serves to any agent, and as nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import JsonValue

from harness.core import Refused, listing, mapping, string
from harness.judge.guards.models import Guard
from harness.judge.guards.policy import GuardPolicy, Place
from harness.models import Message, Model, Reply, Sampling
from harness.models.wire import LISTENER

# Roles of the operator and of the model.
_OWN = ("system", "developer", "assistant")
Node = Callable[[dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]


class GuardedModel:
    """A model with a guard in front and behind: the layer that `open_gateway` serves.

    Texts that are redacted go on as the policy's notice. A text that stops raises `Refused`, as one
    does that waits for a person (there is none in a call). Nothing is streamed: a client that asks
    for a stream gets the answer at once when the guard has allowed all of it.

    Args:
        model: answers.
        guard: labels what goes in and comes out.
        policy: what is done.
    """

    def __init__(self, model: Model, guard: Guard, policy: GuardPolicy) -> None:
        self.spec, self.simulated = model.spec, model.simulated
        self.constrains = model.constrains
        self._model, self._guard, self._policy = model, guard, policy

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.Model.complete`.

        Raises:
            Refused: if the policy stops the request or the answer.
        """
        guarded = list(messages)
        for position, message in enumerate(guarded):
            # What tools return speaks to the model as well; its own turns were guarded before.
            if message.get("role") not in _OWN and (text := text_of(message)):
                checked = await applied(self._guard, self._policy, "in", text)
                if checked != text:
                    guarded[position] = {**message, "content": checked}
        silence = LISTENER.set(None)  # chunks would pass the guard by
        try:
            reply = await self._model.complete(
                guarded, tools=tools, sampling=sampling, response_format=response_format
            )
        finally:
            LISTENER.reset(silence)
        prompt = next((text_of(row) for row in reversed(guarded) if row.get("role") == "user"), "")
        parts = [reply.text, reply.reasoning or "", *(call.arguments for call in reply.tool_calls)]
        output = "\n".join(filter(None, parts))
        if (
            output
            and (checked := await applied(self._guard, self._policy, "out", output, prompt))
            != output
        ):
            emptied = {"reasoning": None, "raw_text": None, "tool_calls": ()}
            return reply.model_copy(update={**emptied, "text": checked, "finish_reason": "stop"})
        return reply


async def applied(
    guard: Guard, policy: GuardPolicy, place: Place, text: str, prompt: str = ""
) -> str:
    """A text as the policy lets it pass: itself, or the notice.

    Raises:
        Refused: if it is stopped, or a person would have to look.
    """
    guarded = await (guard.check(text) if place == "in" else guard.check(prompt, text))
    action = policy.action(guarded, place)
    if action == "allow":
        return text
    if action == "redact":
        return policy.notice
    why = guarded.label if guarded else "the guard is down"
    categories = f" ({', '.join(guarded.categories)})" if guarded and guarded.categories else ""
    raise Refused(
        f"the guard {'behind' if place == 'out' else 'in front'}: {why}{categories}: {action}"
    )


def guard_in(guard: Guard, policy: GuardPolicy) -> Node:
    """A node in front of an agent: checks the last message of the state's `messages`.

    `interrupt` waits for a person (`langgraph.types.interrupt`), whose reply `allow` lets it pass.
    """
    return _node(guard, policy, "in")


def guard_out(guard: Guard, policy: GuardPolicy) -> Node:
    """A node behind an agent: checks its last message against what was asked."""
    return _node(guard, policy, "out")


def _node(guard: Guard, policy: GuardPolicy, place: Place) -> Node:
    async def check(state: dict[str, Any]) -> dict[str, Any]:
        messages = listing(state.get("messages"))
        if not messages:
            return {}
        text, earlier = text_of(messages[-1]), messages[:-1]
        question = text_of(earlier[-1]) if earlier and place == "out" else ""
        guarded = await (guard.check(text) if place == "in" else guard.check(question, text))
        action = policy.action(guarded, place)
        label = guarded.label if guarded else None
        if action == "interrupt":
            from langgraph.types import interrupt

            action = "allow" if interrupt({"text": text, "label": label}) == "allow" else "stop"
        if action == "stop":
            raise Refused(f"guard_{place}: {label or 'the guard is down'}: stop")
        if action == "allow":
            return {"guard": {"place": place, "label": label, "action": action}}
        last: Any = messages[-1]
        redacted: Any = (
            {**mapping(last), "content": policy.notice}
            if isinstance(last, dict)
            else last.model_copy(update={"content": policy.notice})
        )
        return {
            "messages": [*earlier, redacted] if isinstance(last, dict) else [redacted],
            "guard": {"place": place, "label": label, "action": action},
        }

    check.__name__ = f"guard_{place}"
    return check


def text_of(message: Any) -> str:
    """All text of a message: of the OpenAI API as a dict, or of LangChain as an object."""
    content: Any = mapping(message).get("content") if isinstance(message, dict) else message.content
    if isinstance(content, str):
        return content
    parts = listing(content)
    return "\n".join(string(part) or string(mapping(part).get("text")) for part in parts)
