"""Meaning and worth of the rules of a skill in a trade."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lab.triage.analyst import AFTERWARDS
from lab.triage.trade import Statement, Trade

UNKNOWN = Statement("invented", "", "")
"""A line that nobody wrote."""
ALIKE = 0.5
"""Share of the words of two wordings, of all of theirs, that are in both if one comes of the other:
the merge takes reasons off, moves conditions and writes refusals in capitals."""


class Verdict(NamedTuple):
    """A skill against its trade.

    Attributes:
        planted: policies of the trade.
        kept: those that a rule says and none turns round.
        rules: rules of the skill.
        false: rules that are false.
        empty: rules that say what the agent is told or does anyway, or nothing.
        said: what each rule says, in order.
    """

    planted: int
    kept: int
    rules: int
    false: int
    empty: int
    said: tuple[Statement, ...]


def judge(trade: Trade, rules: Sequence[str]) -> Verdict:
    """Judge the rules of a skill.

    Args:
        trade: with its policies and all that analysts may say.
        rules: lines of the skill, without their bullets.
    """
    statements = tuple(meaning(trade, rule) for rule in rules)
    kinds = [statement.kind for statement in statements]
    stated, denied = (
        {statement.about for statement in statements if statement.kind == kind}
        for kind in ("policy", "opposite")
    )
    return Verdict(
        planted=len(trade.policies),
        kept=len(stated - denied),
        rules=len(statements),
        false=sum(kind in ("opposite", "correlate", "invented") for kind in kinds),
        empty=sum(kind in ("habit", "restated", "idle") for kind in kinds),
        said=statements,
    )


def meaning(trade: Trade, rule: str) -> Statement:
    """The statement that a rule is a wording of; :data:`UNKNOWN` where it is none."""
    text = rule
    for ending in filter(None, AFTERWARDS):
        text = text.replace(ending.strip(), "")
    words = _words(text)

    def alike(statement: Statement) -> float:
        statement_words = _words(statement.text)
        return len(words & statement_words) / max(1, len(words | statement_words))

    best = max(trade.statements(), key=alike)
    return best if alike(best) >= ALIKE else UNKNOWN


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
