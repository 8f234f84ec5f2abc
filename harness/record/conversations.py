"""Grouping of exchanges into conversations, as ATIF trajectories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, Trajectory, Usage, decoding, listing, mapping, string
from harness.core.trajectory import FinalMetrics, Metrics
from harness.record.exchanges import Exchange, json_of
from harness.record.wires import Body, Wire, is_stream, objects, turn_key, wire_of
from harness.trajectories.building import Builder
from harness.trajectories.lenient import Notes
from harness.trajectories.messages import Turn


@dataclass(frozen=True)
class Spoken:
    """An exchange as conversation.

    Attributes:
        turns: of the request.
        reply: of the model; None where none came.
        answer: the whole response.
    """

    exchange: Exchange
    wire: Wire
    turns: list[Turn]
    reply: Turn | None
    answer: Body

    @property
    def earlier(self) -> str:
        """The response that the request names as the one it goes on from."""
        return string(mapping(self.exchange.request.body).get("previous_response_id"))

    @property
    def usage(self) -> Usage | None:
        """Return the recorded use, else the answer's own count; None if nobody counted."""
        recorded: Any = self.exchange.facts.get("usage")
        if recorded:
            return Usage.model_validate(recorded)
        tokens = self.wire.tokens(self.answer)
        if tokens is None:
            return None
        return Usage(
            calls=1,
            prompt_tokens=tokens.prompt,
            completion_tokens=tokens.completion,
            cached_tokens=tokens.cached,
            cost_usd=None,
        )


@dataclass
class Conversation:
    """One session of an agent, as its requests show it.

    Attributes:
        moves: turns in order; those that the model answered here come with their exchange.
        spoken: its exchanges in order.
        history: keys of the turns of its last request.
        ids: of its responses.
    """

    moves: list[tuple[Turn, Spoken | None]] = field(
        default_factory=list[tuple[Turn, "Spoken | None"]]
    )
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    history: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    ids: set[str] = field(default_factory=set[str])

    def fits(self, spoken: Spoken) -> int:
        """Score how well a request continues this conversation: 0 if not, else higher is better."""
        if spoken.earlier:
            return 1 if spoken.earlier in self.ids else 0
        keys = [turn_key(turn) for turn in spoken.turns]
        length = len(self.history)
        last = self.spoken[-1].reply
        if keys[:length] != self.history or (len(keys) == length and last is not None):
            return 0
        agrees = last is not None and len(keys) > length and keys[length] == turn_key(last)
        return 2 * length + agrees + 1

    def take(self, spoken: Spoken) -> None:
        """Go on with an exchange."""
        fresh = spoken.turns if spoken.earlier else spoken.turns[len(self.history) :]
        answered = bool(self.spoken) and self.spoken[-1].reply is not None
        if answered and fresh and fresh[0].role == "assistant":
            fresh = fresh[1:]  # the reply that is here already, as the client gave it back
        self.moves += [(turn, None) for turn in fresh]
        if spoken.reply is not None:
            self.moves.append((spoken.reply, spoken))
        self.spoken.append(spoken)
        if not spoken.earlier:
            self.history = [turn_key(turn) for turn in spoken.turns]
        self.ids.add(string(spoken.answer.get("id")))


def conversations(exchanges: Iterable[Exchange]) -> list[Conversation]:
    """The conversations of a session, in the order in which they began.

    A request that begins as an earlier one did goes on with it.
    """
    begun: list[Conversation] = []
    for spoken in filter(None, map(_speak, exchanges)):
        fits = [conversation.fits(spoken) for conversation in begun]
        best = max(fits, default=0)
        if not best:
            begun.append(Conversation())
        (begun[fits.index(best)] if best else begun[-1]).take(spoken)
    return begun


def _speak(exchange: Exchange) -> Spoken | None:
    """An exchange of a known format; None for another one."""
    wire = wire_of(exchange.request.method, exchange.request.path)
    body = mapping(exchange.request.body)
    if wire is None or not body:
        return None
    answer: Body = {}
    if exchange.status is not None and exchange.status < 400:
        if is_stream(exchange.headers.get("content-type", "")):
            answer = wire.assemble(objects(exchange.data))
        else:
            answer = mapping(json_of(b"".join(exchange.data)))
    reply = wire.reply(answer) if answer else None
    if reply is not None and not (reply.text or reply.reasoning or reply.calls):
        reply = None if exchange.outcome != "complete" else reply
    return Spoken(exchange, wire, wire.turns(body), reply, answer)


@decoding("a recording")
def trajectory_of(
    conversation: Conversation, trajectory_id: str, session: str, agent: str
) -> Trajectory:
    """One conversation as a trajectory.

    Args:
        conversation: with at least one turn.
        trajectory_id: of the trajectory.
        session: of the command.
        agent: its name.
    """
    notes = Notes()
    builder = Builder(notes)
    for turn, spoken in conversation.moves:
        draft = builder.take(turn)
        if spoken is None:
            continue
        exchange, usage = spoken.exchange, spoken.usage
        draft.timestamp = datetime.fromtimestamp(exchange.time, UTC).isoformat()
        draft.model = string(spoken.answer.get("model")) or None
        context = {name: exchange.facts.get(name) for name in ("compressed", "expanded")}
        draft.extra = {"exchange": exchange.number}
        draft.extra |= {name: value for name, value in context.items() if value}
        if usage is not None:
            draft.metrics = Metrics(
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cached_tokens=usage.cached_tokens,
                cost_usd=usage.cost_usd,
            )
    last = conversation.spoken[-1]
    body = mapping(last.exchange.request.body)
    tools = [tool for entry in listing(body.get("tools")) if (tool := mapping(entry))]
    metadata: dict[str, JsonValue] = {
        "source": "record",
        "wire": last.wire.name,
        "exchanges": [spoken.exchange.number for spoken in conversation.spoken],
        **notes.facts(),
    }
    errors: list[JsonValue] = []
    for exchange in (spoken.exchange for spoken in conversation.spoken):
        if not exchange.good:
            status = f"HTTP {exchange.status}" if exchange.status else "no response"
            reason = exchange.facts.get("error") or exchange.outcome or "the recorder was stopped"
            errors.append(f"exchange {exchange.number}: {status}, {reason}")
    if errors:
        metadata["errors"] = errors
    steps = builder.steps()
    final = FinalMetrics(total_steps=len(steps))
    # Sums of what is known: a server that streams may give no usage.
    used = [usage for spoken in conversation.spoken if (usage := spoken.usage) is not None]
    if used:
        total = sum(used, Usage())
        final = FinalMetrics(
            total_prompt_tokens=total.prompt_tokens,
            total_completion_tokens=total.completion_tokens,
            total_cached_tokens=total.cached_tokens,
            total_cost_usd=total.cost_usd,
            total_steps=len(steps),
            extra=None if len(used) == len(conversation.spoken) else {"usage_unknown": True},
        )
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
        final_metrics=final,
        extra={"harness": metadata},
    )
