"""Spoilt constraints, to see what verification is worth: DROP and FLIP (EVPV, section 5.4).

Every line has its own draw, the same at every rate: at a higher rate, what was spoilt at a lower
one is spoilt still, in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Literal

from harness.vision.premises.rules import OPPOSITES
from harness.vision.premises.types import Constraints

Corruption = Literal["drop", "flip"]
FACTORS = (0.5, 0.8, 1.2, 1.5, 2.0)
SHIFTS = (-2, -1, 1, 2)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RELATIONS = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}
_RELATION = re.compile(rf"\b({'|'.join(_RELATIONS)})\b", re.IGNORECASE)


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
    spoil: Callable[[str, Random], str] = flipped if kind == "flip" else _gone
    lines: list[str] = []
    for number, line in enumerate((constraints.caption, *constraints.facts)):
        rng = Random(f"{kind}:{seed}:{number}")
        lines.append(spoil(line, rng) if rng.random() < rate else line)
    facts = tuple(line for line in lines[1:] if line)
    return Constraints(caption=lines[0], facts=facts, uncertain=constraints.uncertain)


def flipped(line: str, rng: Random) -> str:
    """The line with one number changed, else one relation turned round, else as it was.

    A number becomes v * {0.5, 0.8, 1.2, 1.5, 2} + {-2, -1, 1, 2}, with as many decimals as it had,
    and never stays what it is.
    """
    if numbers := list(_NUMBER.finditer(line)):
        match = rng.choice(numbers)
        return line[: match.start()] + _other(match[0], rng) + line[match.end() :]
    if relations := list(_RELATION.finditer(line)):
        match = rng.choice(relations)
        return line[: match.start()] + _RELATIONS[match[0].lower()] + line[match.end() :]
    return line


def _other(number: str, rng: Random) -> str:
    decimals = len(number.partition(".")[2])
    for _ in range(20):
        value = float(number) * rng.choice(FACTORS) + rng.choice(SHIFTS)
        if (text := f"{value:.{decimals}f}") != number:
            return text
    return f"{float(number) + 1:.{decimals}f}"


def _gone(line: str, rng: Random) -> str:
    return ""
