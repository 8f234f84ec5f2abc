"""Claims and facts about the same thing that cannot both be true: finding them, and making them.

An auditor without a model: only direct contradictions count, as EVPV asks of its auditor; what no
fact speaks of is let pass. And spoilt constraints, to see what verification is worth: DROP and FLIP
(EVPV, section 5.4). Every line has its own draw, the same at every rate: at a higher rate, what was
spoilt at a lower one is spoilt still, in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Literal, NamedTuple

from harness.vision.premises.values import Constraints, Finding, Solution

_TOKEN = re.compile(r"-?\d+(?:[.,]\d+)*|[^\W\d_]+")
_IDLE = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "of", "in", "at", "on", "for", "to", "and",
     "has", "have", "its", "it", "value", "values", "shows", "stands", "says", "reads", "image",
     "picture", "chart"}
)  # fmt: skip
# Words for relations that exclude each other.
_OPPOSITES = (
    ("higher", "lower"), ("highest", "lowest"), ("above", "below"), ("left", "right"),
    ("larger", "smaller"), ("largest", "smallest"), ("more", "fewer"), ("before", "after"),
    ("first", "last"), ("rises", "falls"), ("taller", "shorter"), ("greater", "less"),
)  # fmt: skip
_OPPOSITE = dict(_OPPOSITES) | {second: first for first, second in _OPPOSITES}


class _Read(NamedTuple):
    """A sentence taken apart: words that name things, the numbers, and words for relations."""

    words: tuple[str, ...]
    numbers: tuple[float, ...]
    relations: tuple[str, ...]


def contradiction(claim: str, fact: str) -> bool:
    """Return True if claim and fact name the same things and differ in the value or in a relation.

    The last number is the value; numbers before it are names, such as years.
    """
    claimed, stated = _read(claim), _read(fact)
    if not stated.words or set(claimed.words) != set(stated.words):
        return False
    if claimed.relations or stated.relations:
        opposed = tuple(_OPPOSITE[relation] for relation in stated.relations)
        return claimed.words == stated.words and bool(opposed) and claimed.relations == opposed
    if not claimed.numbers or claimed.numbers == stated.numbers:
        return False
    return bool(stated.numbers) and claimed.numbers[:-1] == stated.numbers[:-1]


def audit_by_rules(solution: Solution, constraints: Sequence[str]) -> tuple[Finding, ...]:
    """All contradictions between the premises of a solution and constraints, as `high`.

    Args:
        solution: its premises are audited one by one.
        constraints: caption and facts.
    """
    return tuple(
        Finding(step=number, claim=step.premise, constraint=constraint, severity="high")
        for number, step in enumerate(solution.steps)
        if step.premise is not None
        for constraint in constraints
        if contradiction(step.premise, constraint)
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


Corruption = Literal["drop", "flip"]
_FACTORS = (0.5, 0.8, 1.2, 1.5, 2.0)
_SHIFTS = (-2, -1, 1, 2)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RELATION = re.compile(rf"\b({'|'.join(_OPPOSITE)})\b", re.IGNORECASE)


def corrupt(constraints: Constraints, kind: Corruption, rate: float, seed: str) -> Constraints:
    """Constraints whose caption and facts are each dropped or flipped with probability `rate`.

    Args:
        constraints: what was extracted.
        kind: `drop` takes a line out; `flip` changes one number of it, or one relation.
        rate: in [0, 1].
        seed: names the draw.

    Raises:
        ValueError: if `rate` lies outside [0, 1].
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"expected a rate in [0, 1], found {rate!r}")
    lines = [constraints.caption, *constraints.facts]
    for number, line in enumerate(lines):
        rng = Random(f"{kind}:{seed}:{number}")
        if rng.random() < rate:
            lines[number] = flipped(line, rng) if kind == "flip" else ""
    facts = tuple(line for line in lines[1:] if line)
    return Constraints(caption=lines[0], facts=facts, uncertain=constraints.uncertain)


def flipped(line: str, rng: Random) -> str:
    """The line with one number changed, else one relation turned round, else as it was.

    A number becomes v * {0.5, 0.8, 1.2, 1.5, 2} + {-2, -1, 1, 2}, with as many decimals as it had,
    and never stays what it is.
    """
    if numbers := list(_NUMBER.finditer(line)):
        match = rng.choice(numbers)
        decimals, value = len(match[0].partition(".")[2]), float(match[0])
        drawn = (value * rng.choice(_FACTORS) + rng.choice(_SHIFTS) for _ in range(20))
        texts = (f"{number:.{decimals}f}" for number in drawn)
        changed = next((text for text in texts if text != match[0]), f"{value + 1:.{decimals}f}")
    elif relations := list(_RELATION.finditer(line)):
        match = rng.choice(relations)
        changed = _OPPOSITE[match[0].lower()]
    else:
        return line
    return line[: match.start()] + changed + line[match.end() :]
