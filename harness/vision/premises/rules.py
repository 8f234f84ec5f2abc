"""An auditor without a model: a claim and a fact about the same thing that cannot both be true.

Only direct contradictions count, as EVPV asks of its auditor: what no fact speaks of is let pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from harness.vision.premises.types import Finding, Solution

_TOKEN = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+")
_IDLE = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "of", "in", "at", "on", "for", "to", "and",
     "has", "have", "its", "it", "value", "values", "shows", "stands", "says", "reads", "image",
     "picture", "chart"}
)  # fmt: skip
OPPOSITES: tuple[tuple[str, str], ...] = (
    ("higher", "lower"), ("highest", "lowest"), ("above", "below"), ("left", "right"),
    ("larger", "smaller"), ("largest", "smallest"), ("more", "fewer"), ("before", "after"),
    ("first", "last"), ("rises", "falls"), ("taller", "shorter"), ("greater", "less"),
)  # fmt: skip
"""Words for relations that exclude each other."""
_OPPOSITE = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}


class _Read(NamedTuple):
    """A sentence taken apart: words that name things, the numbers, and words for relations."""

    words: tuple[str, ...]
    numbers: tuple[float, ...]
    relations: tuple[str, ...]


def contradiction(claim: str, fact: str) -> bool:
    """Whether claim and fact name the same things and differ in the value or in a relation.

    The last number is the value; numbers before it are names, such as years.
    """
    said, known = _read(claim), _read(fact)
    if not known.words or set(said.words) != set(known.words):
        return False
    if said.relations or known.relations:
        same_order = said.words == known.words
        opposed = [_OPPOSITE[one] for one in known.relations]
        return same_order and bool(opposed) and list(said.relations) == opposed
    same_names = said.numbers[:-1] == known.numbers[:-1]
    return bool(said.numbers and known.numbers) and same_names and said.numbers != known.numbers


def audit_by_rules(solution: Solution, constraints: Sequence[str]) -> tuple[Finding, ...]:
    """All contradictions between the premises of a solution and constraints, as `high`.

    Args:
        solution: its premises are audited one by one.
        constraints: caption and facts.
    """
    return tuple(
        Finding(step=number, claim=step.premise, constraint=fact, severity="high")
        for number, step in enumerate(solution.steps)
        if step.premise is not None
        for fact in constraints
        if contradiction(step.premise, fact)
    )


@lru_cache(maxsize=65_536)  # claims and facts come again for every candidate and every rate
def _read(text: str) -> _Read:
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    numbers = [token for token in tokens if token[-1].isdigit()]
    words = [token for token in tokens if not token[-1].isdigit()]
    return _Read(
        tuple(word for word in words if word not in _IDLE and word not in _OPPOSITE),
        tuple(float(number.replace(",", "")) for number in numbers if number.count(".") <= 1),
        tuple(word for word in words if word in _OPPOSITE),
    )
