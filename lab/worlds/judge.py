"""Meaning of a skill in the words of its world, and results of held-out tasks with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.skills import count_tokens
from lab.worlds.runs import Attempt, Held, WorldTask, outcome
from lab.worlds.world import World

Worth = Literal["remedy", "harm", "friend", "habit", "idle"]
RARE = 0.05
FREQUENT = 2
"""Failed train runs that must show a cause before anyone is asked to find it."""


class Measures(NamedTuple):
    """Measures of a skill.

    Attributes:
        passed: share of the held-out tasks that pass with it.
        passed_free: the same if its length cost nothing.
        tokens: its length.
        rules: its bullets.
        distinct: meanings among them; bullets that say nothing of the world count once each.
        precision: share of the bullets that say a remedy; None without bullets.
        recall: share of the causes seen in two failed train runs or more that it remedies; None
            where there is none.
        rare_recall: the same for causes in at most 5 % of the tasks.
        friend: whether a bullet is about a false friend; None where the world has none.
        harm: bullets that ask for what makes attempts fail.
    """

    passed: float
    passed_free: float
    tokens: int
    rules: int
    distinct: int
    precision: float | None
    recall: float | None
    rare_recall: float | None
    friend: bool | None
    harm: int


@dataclass(frozen=True)
class Judge:
    """Judges skills of one world on held-out tasks.

    Attributes:
        world: with its reader.
        held_out: tasks that no method has seen.
        seen: cause -> number of failed train runs that show it.
    """

    world: World
    held_out: Sequence[WorldTask]
    seen: Mapping[str, int]

    def measure(self, skill: str) -> Measures:
        """Measure a skill."""
        lines = rules(skill)
        worths = [worth(self.world, line) for line in lines]
        held = hear(self.world, skill)
        cured = {name for name, share in held.advice.items() if share > 0.5}
        causes = [
            sign
            for sign in self.world.signs
            if sign.role == "cause" and self.seen.get(sign.name, 0) >= FREQUENT
        ]
        rare = [sign for sign in causes if self.world.rate(sign) <= RARE]
        return Measures(
            passed=self.pass_rate([held] * len(self.held_out)),
            passed_free=self.pass_rate([held._replace(tokens=0)] * len(self.held_out)),
            tokens=held.tokens,
            rules=len(lines),
            distinct=len({meaning(self.world, line) for line in lines}),
            precision=_share([value == "remedy" for value in worths]),
            recall=_share([sign.name in cured for sign in causes]),
            rare_recall=_share([sign.name in cured for sign in rare]),
            friend="friend" in worths if self.world.roles["friend"] else None,
            harm=worths.count("harm"),
        )

    def pass_rate(self, skills: Sequence[Held]) -> float:
        """Share of the held-out tasks that pass, each with its own skill."""
        pairs = zip(self.held_out, skills, strict=True)
        return sum(outcome(self.world, task, held).passed for task, held in pairs) / len(skills)


def visible(attempts: Sequence[Attempt]) -> Counter[str]:
    """Cause or trap -> number of failed attempts whose transcript shows it."""
    return Counter(
        shown.sign for run in attempts if not run.passed for shown in run.shown if shown.struck
    )


def hear(world: World, skill: str) -> Held:
    """Read a skill as the agent does: of several lines about a sign, each counts alike."""
    votes: dict[str, list[bool]] = {}
    for line in skill.splitlines():
        for name, remedy in stances(world, line).items():
            votes.setdefault(name, []).append(remedy)
    advice = {name: sum(remedies) / len(remedies) for name, remedies in votes.items()}
    return Held(advice, count_tokens(skill))


def stances(world: World, line: str) -> dict[str, bool]:
    """Sign -> whether the line says its remedy, or the opposite; without signs it says both of."""
    stated: dict[str, set[bool]] = {}
    for statement in world.reader.read(line):
        stated.setdefault(statement.sign, set()).add(statement.right == statement.ordered)
    return {name: remedy.pop() for name, remedy in stated.items() if len(remedy) == 1}


def meaning(world: World, line: str) -> Hashable:
    """Return one key for all lines that say the same of signs; else the line itself."""
    return frozenset(stances(world, line).items()) or line.strip("- ")


def worth(world: World, line: str) -> Worth:
    """Return the effect of one line."""
    by_sign = stances(world, line)
    harmful = [remedy for name, remedy in by_sign.items() if world.by_name[name].harmful]
    if harmful:
        return "remedy" if all(harmful) else "harm"
    roles = {world.by_name[name].role for name in by_sign}
    return "friend" if "friend" in roles else "habit" if "habit" in roles else "idle"


def rules(skill: str) -> list[str]:
    """The bullets of a skill; links to its references are none."""
    lines = [line.strip() for line in skill.splitlines()]
    return [line for line in lines if line.startswith("- ") and not line.startswith("- [")]


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None
