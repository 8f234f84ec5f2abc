"""Refinement of the principles by which rubrics are made, over labelled pairs.

The paper refines general principles by evolution; its code does not hold the procedure. Ours: a
model proposes rewordings from the pairs that were judged wrongly, on the first half of the labels;
one is taken only where it is right about more pairs of the other half, by a paired test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from harness.core import Usage, Value
from harness.judge.asking import ask, text_field
from harness.judge.types import Judge, Preference, Question
from harness.models import Model, Sampling
from harness.stats import compare_rates

LONGEST_META = 4000
SHOWN, SHOWN_TEXT = 5, 1000
"""Pairs that were judged wrongly in a request; characters of each text."""


class LabelledPair(Value):
    """A pair with the side that people preferred."""

    question: Question
    a: str
    b: str
    label: Preference


class Refined(Value):
    """The result of a refinement.

    Attributes:
        meta: the principles: new ones, or those there were.
        accepted: rewordings that were taken.
        before: share of the held-out pairs judged rightly at first; invalid ones are left out.
        after: the same with `meta`.
        usage: of proposing; judges count their own.
    """

    meta: str
    accepted: int
    before: float
    after: float
    usage: Usage


async def refine(
    meta: str,
    pairs: Sequence[LabelledPair],
    make_judge: Callable[[str], Judge],
    proposer: Model,
    *,
    rounds: int = 3,
    level: float = 0.05,
) -> Refined:
    """Refine principles.

    Args:
        meta: those to begin with.
        pairs: labelled; odd ones teach, even ones decide.
        make_judge: a judge by given principles.
        proposer: rewords them.
        rounds: rewordings that are tried, at most.
        level: of the paired test.

    Raises:
        ValueError: with fewer than four pairs.
    """
    if len(pairs) < 4:
        raise ValueError("expected four labelled pairs or more")
    teaching, held_out = pairs[1::2], pairs[::2]
    usage, accepted = Usage(), 0
    current = first = await _right(make_judge(meta), held_out)
    for number in range(rounds):
        judged = await _right(make_judge(meta), teaching)
        wrong = [teaching[int(place)] for place, right in judged.items() if not right]
        wrong = [pair for pair in wrong if pair.label != "tie"][:SHOWN]  # neither is the better one
        if not wrong:
            break
        texts: dict[str, str] = {"principles": meta}
        for place, pair in enumerate(wrong, start=1):
            better, worse = (pair.a, pair.b) if pair.label == "A" else (pair.b, pair.a)
            shown = {"task": pair.question.prompt, "better": better, "worse": worse}
            texts |= {f"{name}_{place}": text[:SHOWN_TEXT] for name, text in shown.items()}
        asked = await ask(
            proposer, "openrs_refine", texts, {"principles": text_field(LONGEST_META)},
            sampling=Sampling(temperature=0.7, seed=number, max_tokens=LONGEST_META),
            count=len(wrong),
        )  # fmt: skip
        usage += asked.usage
        if asked.reply is None:
            continue
        proposal = asked.reply["principles"]
        rates = await _right(make_judge(proposal), held_out)
        paired = compare_rates(current, rates)
        # Every round is a test on the same pairs.
        significant = paired.p is not None and paired.p < level / rounds
        if significant and (paired.difference or 0.0) > 0:
            meta, current, accepted = proposal, rates, accepted + 1
    return Refined(
        meta=meta, accepted=accepted, before=_mean(first), after=_mean(current), usage=usage
    )


async def _right(judge: Judge, pairs: Sequence[LabelledPair]) -> dict[str, float]:
    """1 for each pair judged as labelled, 0 for another valid verdict, by place."""
    verdicts = await asyncio.gather(
        *(judge.compare(pair.question, pair.a, pair.b) for pair in pairs)
    )
    rows = enumerate(zip(verdicts, pairs, strict=True))
    return {
        str(place): float(verdict.preference == pair.label)
        for place, (verdict, pair) in rows
        if verdict.preference is not None
    }


def _mean(rates: dict[str, float]) -> float:
    return sum(rates.values()) / len(rates) if rates else 0.0
