"""Conversations as ATIF trajectories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, Trajectory, Usage
from harness.core.trajectory import FinalMetrics, Metrics
from harness.record.conversations import Conversation, Spoken
from harness.record.wires import Turn
from harness.trajectories.building import Builder, Source
from harness.trajectories.lenient import Notes, listing, mapping, string

_SOURCES: dict[str, Source] = {"system": "system", "user": "user", "assistant": "agent"}


def trajectory_of(
    conversation: Conversation, trajectory_id: str, session: str, agent: str
) -> Trajectory:
    """One conversation.

    Args:
        conversation: with at least one turn.
        trajectory_id: of the trajectory.
        session: of the command.
        agent: its name.
    """
    notes = Notes()
    builder = Builder(notes)
    for turn, spoken in conversation.moves:
        _take(builder, turn, spoken)
    last = conversation.spoken[-1]
    body = mapping(last.exchange.asked.body)
    tools = [tool for entry in listing(body.get("tools")) if (tool := mapping(entry))]
    facts: dict[str, JsonValue] = {
        "source": "record",
        "wire": last.wire.name,
        "exchanges": [spoken_turn.exchange.number for spoken_turn in conversation.spoken],
        **notes.facts(),
    }
    errors = [
        _failed(spoken_turn) for spoken_turn in conversation.spoken if not spoken_turn.exchange.good
    ]
    if errors:
        facts["errors"] = list[JsonValue](errors)
    steps = builder.steps()
    return Trajectory(
        session_id=session,
        trajectory_id=trajectory_id,
        agent=AgentInfo(
            name=agent,
            version="unknown",
            model_name=string(last.answer.get("model")) or string(body.get("model")) or None,
            tool_definitions=tuple(tools) or None,
        ),
        steps=steps,
        final_metrics=_sum(conversation, len(steps)),
        extra={"harness": facts},
    )


def _take(builder: Builder, turn: Turn, spoken: Spoken | None) -> None:
    if turn.role == "tool":
        builder.result(turn.call_id, turn.text)
        return
    moment = None
    if spoken is not None:
        moment = datetime.fromtimestamp(spoken.exchange.time, UTC).isoformat()
    draft = builder.begin(_SOURCES[turn.role], moment, turn.text)
    if turn.reasoning:
        draft.thoughts.append(turn.reasoning)
    for call in turn.calls:
        builder.call(draft, call.id, call.name, call.arguments)
    if spoken is not None:
        draft.model = string(spoken.answer.get("model")) or None
        draft.metrics = _metrics(spoken)
        draft.extra = {"exchange": spoken.exchange.number, **_context(spoken)}


def _context(spoken: Spoken) -> dict[str, JsonValue]:
    """What was compressed for this reply, and what the model asked to see again."""
    facts = spoken.exchange.facts
    return {name: facts[name] for name in ("compressed", "expanded") if facts.get(name)}


def _usage(spoken: Spoken) -> Usage | None:
    raw: Any = spoken.exchange.facts.get("usage")
    if raw:
        return Usage.model_validate(raw)
    tokens = spoken.wire.tokens(spoken.answer)
    if tokens is None:
        return None
    return Usage(
        calls=1,
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        cached_tokens=tokens.cached,
        cost_usd=None,
    )


def _metrics(spoken: Spoken) -> Metrics | None:
    usage = _usage(spoken)
    if usage is None:
        return None
    return Metrics(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
    )


def _sum(conversation: Conversation, steps: int) -> FinalMetrics:
    """Sums of what is known: a server that streams may give no usage."""
    used = [usage for turn in conversation.spoken if (usage := _usage(turn)) is not None]
    if not used:
        return FinalMetrics(total_steps=steps)
    total = sum(used, Usage())
    return FinalMetrics(
        total_prompt_tokens=total.prompt_tokens,
        total_completion_tokens=total.completion_tokens,
        total_cached_tokens=total.cached_tokens,
        total_cost_usd=total.cost_usd,
        total_steps=steps,
        extra=None if len(used) == len(conversation.spoken) else {"usage_unknown": True},
    )


def _failed(turn: Spoken) -> str:
    exchange = turn.exchange
    reason = exchange.facts.get("error")
    status = f"HTTP {exchange.status}" if exchange.status else "no response"
    ended = exchange.outcome or "the recorder was stopped"
    return f"exchange {exchange.number}: {status}, {reason or ended}"
