"""From scores of single rubrics to a preference, outside the model (OpenRS, arXiv 2602.14069)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from harness.judge.types import Preference

Kind = Literal["fatal", "core", "important", "highlight"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WEIGHTS: dict[Kind, int] = {"core": 5, "important": 2, "highlight": 1}
STRONGEST = 2
_EPSILON = 1e-6


def aggregate(rows: Sequence[tuple[Kind, int]]) -> float:
    """S(A, B) of rubrics with scores in [-2, 2], above 0 where A is ahead.

    A fatal rubric that tells the answers apart decides alone (veto): S is the sum of the fatal
    scores. Else S = sum(w s) / (sum(w) + 1e-6) with the weights 5 (core), 2 (important) and 1
    (highlight), over rubrics that tell them apart.

    Raises:
        ValueError: for another kind or a score out of range. The official code passes over an
            unknown kind; here a reply that has one is invalid.
    """
    for kind, score in rows:
        if kind not in KINDS or not -STRONGEST <= score <= STRONGEST:
            raise ValueError(f"expected a rubric of {KINDS} scored in [-2, 2], got {(kind, score)}")
    if fatal := [score for kind, score in rows if kind == "fatal" and score]:
        return float(sum(fatal))
    weighed = [(WEIGHTS[kind], score) for kind, score in rows if score and kind != "fatal"]
    total = sum(weight for weight, _ in weighed)
    return sum(weight * score for weight, score in weighed) / (total + _EPSILON)


def signed(side: str, score: int) -> int:
    """A score of the official replies, which name a side (`A`, `B`, `S`) and a number.

    Raises:
        ValueError: if the two contradict each other: A with a number below 0, a side with 0, or
            none with a number. The official code lets the letter override the sign.
    """
    if side == "S" and score == 0:
        return 0
    if side == "A" and score > 0:
        return score
    if side == "B" and score != 0:  # written as a magnitude, or with its sign
        return -abs(score)
    raise ValueError(f"side {side!r} and score {score!r} contradict each other")


def decide(forward: float, backward: float, margin: float = 0.0) -> Preference:
    """The preference of S(A, B) and S(B, A): A iff S(A, B) > m and S(B, A) <= -m, B mirrored.

    Orders that disagree are a tie. Exchanging the two gives the opposite.
    """
    if forward > margin and backward <= -margin:
        return "A"
    if backward > margin and forward <= -margin:
        return "B"
    return "tie"
