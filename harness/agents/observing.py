"""The trajectory of an agent that is not ours: its model calls, as the gateway saw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from harness.agents.recording import Recorder
from harness.agents.types import AgentContext, AgentRun, Sample
from harness.core import Observation, ObservationResult, Step, without_thoughts
from harness.models import Exchange
from harness.trajectories import content_text
from harness.trajectories.building import ROLES
from harness.trajectories.messages import Turn, arguments_of, message_turns


class Observer(Recorder):
    """Collects the steps of an attempt from the calls that its agent made."""

    def __init__(self, agent: str, sample: Sample, context: AgentContext) -> None:
        super().__init__(agent, sample, context)
        self._said = Counter[tuple[str, str, str]]()

    def begin(self, steps: Iterable[Step]) -> None:
        """Messages that the agent was started with, in their order; requests repeat them."""
        for step in steps:
            text = content_text(step.message)
            self.message(step.source, text)
            self._said[_said(Turn(ROLES[step.source], text))] += 1

    def exchange(self, exchange: Exchange) -> None:
        """A model call of an agent that is not ours, as the gateway saw it.

        Requests repeat what was said before, and those of several conversations may alternate: a
        turn becomes a step as often as a single request holds it.
        """
        messages, reply = exchange
        turns = [turn for message in messages for turn in message_turns(message)]
        turn_counts = Counter(map(_said, turns))
        fresh = turn_counts - self._said
        self._said |= turn_counts
        for turn in turns:
            if not fresh[_said(turn)]:
                continue
            fresh[_said(turn)] -= 1
            if turn.role == "tool":
                self._result(turn)
            elif turn.role == "assistant":
                self.agent_text(turn.text)
            else:
                self.message(turn.role, turn.text)
        self.reply(reply)
        for call in reply.tool_calls:
            self.tool(call.id, call.name, arguments_of(call.arguments))
        self._said[_said(Turn("assistant", reply.text))] += 1

    def _result(self, turn: Turn) -> None:
        """A tool's result, beside the latest call of its id; without one, a message."""
        for number, step in reversed(list(enumerate(self._steps))):
            if any(call.tool_call_id == turn.call_id for call in step.tool_calls or ()):
                results = step.observation.results if step.observation else ()
                result = ObservationResult(source_call_id=turn.call_id, content=turn.text)
                observation = Observation(results=(*results, result))
                self._steps[number] = step.model_copy(update={"observation": observation})
                return
        self.message("user", turn.text)


def observed(
    attempt: AgentRun, sample: Sample, context: AgentContext, exchanges: Iterable[Exchange]
) -> AgentRun:
    """An attempt of an agent that is not ours, with its model calls between prompt and answer.

    Args:
        attempt: as the agent's process told it: messages, then the answer if there is one.
        sample: was attempted.
        context: in which.
        exchanges: the calls of its account.
    """
    recorder = Observer(attempt.trajectory.agent.name, sample, context)
    steps = attempt.trajectory.steps
    calls = list(exchanges)
    # What the first request repeats has its place there, such as behind a system message.
    first = [turn for message in (calls[0][0] if calls else ()) for turn in message_turns(message)]
    repeated = set(map(_said, first))
    recorder.begin(
        step
        for step in steps
        if step.source != "agent"
        and _said(Turn(ROLES[step.source], content_text(step.message))) not in repeated
    )
    reply = ""
    for exchange in calls:
        recorder.exchange(exchange)
        reply = exchange[1].text
    for step in steps:
        text = content_text(step.message)
        if step.source == "agent" and without_thoughts(text) != reply.strip():
            recorder.agent_text(text)
    run = recorder.run(attempt.answer, attempt.invalid)
    if context.on_event is not None:
        for step in run.trajectory.steps:
            for event in _events(step):
                context.on_event({"sample": sample.id, **event})
    return run


def _events(step: Step) -> Iterator[dict[str, Any]]:
    """A step as the events that an agent of ours tells while it runs."""
    kind = "reply" if step.source == "agent" else step.source
    yield {"type": kind, "text": content_text(step.message)}
    for call in step.tool_calls or ():
        yield {"type": "tool", "name": call.function_name, "arguments": call.arguments}
    for result in step.observation.results if step.observation else ():
        yield {"type": "observation", "text": content_text(result.content or "")}


def _said(turn: Turn) -> tuple[str, str, str]:
    """Return a turn's key: agents give replies back without blanks, or with thoughts."""
    text = without_thoughts(turn.text) if turn.role == "assistant" else turn.text
    return turn.role, text.strip(), turn.call_id
