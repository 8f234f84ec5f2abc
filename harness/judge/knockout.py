"""The best of n answers by n - 1 comparisons."""

from __future__ import annotations

import random
from collections.abc import Sequence

from harness.core import Usage, Value
from harness.judge.types import Judge, Question, Verdict


class Best(Value):
    """The winner of a knockout.

    Attributes:
        index: of the winner; None where half of the comparisons or more said nothing.
        comparisons: how many there were.
        invalid: of them, comparisons that said nothing.
        fault: why the first of these did.
        lost: votes that could not be read.
        agreed: comparisons whose two orders agreed, of those where both were asked.
        both: comparisons where both were asked.
        usage: of all calls.
    """

    index: int | None
    comparisons: int
    invalid: int
    fault: str = ""
    lost: int = 0
    agreed: int
    both: int
    usage: Usage


async def best_of(
    judge: Judge, question: Question, candidates: Sequence[str], *, seed: int = 0
) -> Best:
    """The best candidate: sequential knockout (Skill-RM, arXiv 2606.03980, best-of-n).

    Candidates are shuffled by the seed; each meets the best so far, and which of the two is shown
    as A is drawn. After a tie or an invalid comparison the seed decides who stays, so that no place
    in the list is favoured. With a judge that always sees which answer is better, the winner is the
    best one for every seed.

    Raises:
        ValueError: without a candidate.
    """
    if not candidates:
        raise ValueError("expected a candidate")
    draw = random.Random(seed)
    order = list(range(len(candidates)))
    draw.shuffle(order)
    best, *challengers = order
    verdicts: list[Verdict] = []
    for challenger in challengers:
        pair = [best, challenger]
        draw.shuffle(pair)
        verdict = await judge.compare(question, *(candidates[index] for index in pair))
        verdicts.append(verdict)
        winner = {"A": pair[0], "B": pair[1]}.get(verdict.preference or "")
        best = draw.choice(pair) if winner is None else winner
    invalid = sum(bool(verdict.invalid) for verdict in verdicts)
    agreements = [v.agreement for v in verdicts if v.agreement is not None]
    return Best(
        index=None if verdicts and 2 * invalid >= len(verdicts) else best,
        comparisons=len(verdicts),
        invalid=invalid,
        fault=next((verdict.invalid for verdict in verdicts if verdict.invalid), ""),
        lost=sum(verdict.lost for verdict in verdicts),
        agreed=sum(agreements),
        both=len(agreements),
        usage=sum((verdict.usage for verdict in verdicts), Usage()),
    )
