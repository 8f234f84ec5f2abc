"""Pairs of a Proposer as claims of the response; what it left out is added by rule."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rag.check.blind.replies import Pair
from harness.rag.check.claims import extract
from harness.rag.check.claims.detect import statements
from harness.rag.check.numbers import Period, Quantity, read
from harness.rag.check.types import Claim, ClaimType

_QUANTITIES = ("number", "cell", "derived")
_VALUES = (*_QUANTITIES, "date", "entity")


def proposed(response: str, asked: str, pairs: Sequence[Pair]) -> list[Claim]:
    """Claims with a proposer's questions where there is one for their value, else with a rule's.

    What is claimed is decided by the response, not by the Proposer: a pair whose answer is not in
    the response is dropped, and what it did not ask about is asked by rule, so that asking less
    cannot pass.
    """
    left = list(pairs)
    claims: list[Claim] = []
    for claim in extract(response, asked):
        pair = _pair_for(claim, left)
        if pair is not None:
            left.remove(pair)
            update = {"question": pair.question, "value": claim.text}
            claims.append(claim.model_copy(update=update))
        else:
            claims.append(claim)
    for pair in left:
        start = response.find(pair.answer)
        if start >= 0 and not any(_same_place(start, pair.answer, one) for one in claims):
            claims.append(_added(response, asked, pair, start))
    return sorted(claims, key=lambda one: (one.start, -one.end))


def _pair_for(claim: Claim, pairs: Sequence[Pair]) -> Pair | None:
    """The pair that asks for the value of a claim."""
    if claim.type not in _VALUES:
        return None
    for pair in pairs:
        if pair.answer == claim.text or (
            claim.text in pair.answer and len(pair.answer) <= 2 * len(claim.text)
        ):
            return pair
        if claim.type in _QUANTITIES and claim.text.startswith(pair.answer):  # without its unit
            return pair
    return None


def _same_place(start: int, text: str, claim: Claim) -> bool:
    return claim.start == start and claim.end == start + len(text)


def _added(response: str, asked: str, pair: Pair, start: int) -> Claim:
    return Claim(
        text=pair.answer, type=_kind(pair.answer), start=start, end=start + len(pair.answer),
        sentence=_around(response, start), asked=asked, question=pair.question, value=pair.answer,
    )  # fmt: skip


def _kind(answer: str) -> ClaimType:
    values = read(answer)
    if any(isinstance(one, Quantity) for one in values):
        return "number"
    return "date" if any(isinstance(one, Period) for one in values) else "entity"


def _around(response: str, at: int) -> str:
    return next(
        (response[start:end] for start, end in statements(response) if start <= at < end), ""
    )
