"""Trades: what an agent is told, what it is not told, and how analysts put it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from harness.core import Value, read_yaml

FOLDER = Path(__file__).parent / "trades"
IDLE = (
    "Read the message with care before deciding.",
    "Think about what the sender really wants.",
    "Double-check the result before it is given.",
    "Be careful with similar cases.",
    "Make sure that all details are taken into account.",
)
_RANGE = re.compile(r"<(\d+)-(\d+)>")
Kind = Literal["policy", "true", "opposite", "correlate", "invented", "habit", "restated", "idle"]
"""`policy` is planted and `true` holds without being planted; `habit`, `restated` and `idle` say
nothing that the agent does not do or know; the others are false."""


class Policy(Value):
    """A rule that the agent is not told.

    Attributes:
        name: of the policy.
        right: label that it demands.
        wrong: label that the agent chooses.
        ticket: sentences of tickets to which it applies.
        near: sentences of tickets that look alike, for which `wrong` is the right label.
        acts: sentences of the agent that chooses `wrong`, rightly or wrongly.
        lessons: wordings of the policy.
        opposite: wordings of its opposite.
        praise: true lessons from passed runs about the tickets that look alike.
    """

    name: str
    right: str
    wrong: str
    ticket: tuple[str, ...]
    near: tuple[str, ...]
    acts: tuple[str, ...]
    lessons: tuple[str, ...]
    opposite: tuple[str, ...]
    praise: tuple[str, ...]


class Statement(NamedTuple):
    """A wording of an analyst: its kind, and the policy or other thing that it is about."""

    kind: Kind
    about: str
    text: str


class Trade(Value):
    """An agent, its tickets, and what can be said about them.

    Attributes:
        name: of the trade.
        system: system prompt; it states no policy.
        ask: frame of the first message, with `{n}` and `{ticket}`.
        answer: frame of the answer, with `{label}`.
        tool: name of the tool that every run calls, and what it returns; None without tools.
        filler: sentences of tickets about nothing.
        items: values of `<item>`.
        routine: sentences of the agent about nothing.
        policies: planted causes.
        plain: label, ticket and sentence of the agent where nothing goes wrong.
        habits: a sentence of nearly all runs, then lessons that praise or demand it.
        restated: lessons that repeat the system prompt.
        correlates: a policy, a sentence of its tickets that has nothing to do with it, then lessons
            that blame it: spurious correlates.
        invented: lessons about nothing that is so.
    """

    name: str
    system: str
    ask: str
    answer: str
    tool: tuple[str, str] | None
    filler: tuple[str, ...]
    items: tuple[str, ...]
    routine: tuple[str, ...]
    policies: tuple[Policy, ...]
    plain: tuple[tuple[str, str, str], ...]
    habits: tuple[tuple[str, ...], ...]
    restated: tuple[str, ...]
    correlates: tuple[tuple[str, ...], ...]
    invented: tuple[str, ...]

    def statements(self) -> list[Statement]:
        """Every wording that an analyst may use."""
        rows: list[Statement] = []
        for policy in self.policies:
            groups: tuple[tuple[Kind, tuple[str, ...]], ...] = (
                ("policy", policy.lessons), ("opposite", policy.opposite), ("true", policy.praise),
            )  # fmt: skip
            rows += [Statement(kind, policy.name, text) for kind, texts in groups for text in texts]
        for line, *texts in self.habits:
            rows += [Statement("habit", line, text) for text in texts]
        for _, line, *texts in self.correlates:
            rows += [Statement("correlate", line, text) for text in texts]
        rows += [Statement("restated", text, text) for text in self.restated]
        rows += [Statement("invented", text, text) for text in self.invented]
        return rows + [Statement("idle", text, text) for text in IDLE]

    def filled(self, text: str, chance: Random) -> str:
        """A sentence with its numbers and its item drawn."""
        text = text.replace("<item>", chance.choice(self.items))
        return _RANGE.sub(lambda span: str(chance.randint(int(span[1]), int(span[2]))), text)


@cache
def load_trades(name: Literal["development", "held_out"]) -> tuple[Trade, ...]:
    """The trades of a file.

    Raises:
        ValidationError: if one has another shape.
    """
    return tuple(Trade.model_validate(row) for row in read_yaml(FOLDER / f"{name}.yaml"))
