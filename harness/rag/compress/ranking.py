"""Units in order of rank: pre-filter, critic, identifiers asked for, bridges, or coverage."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import pstdev

from harness.core import BadInput
from harness.rag.compress.bm25 import bm25
from harness.rag.compress.bridging import bridge_scores
from harness.rag.compress.compressor import Ranked
from harness.rag.compress.coverage import asks_for_whole, coverage_order
from harness.rag.compress.critics.lexical import LexicalCritic, weighted_terms
from harness.rag.compress.identifiers import Occurrences, asked_for
from harness.rag.compress.pool import Pool
from harness.rag.compress.prefilter import Meaning, by_meaning, passing
from harness.rag.compress.types import Calibrated, Critic, Query
from harness.rag.retrieve.tokens import words

CASCADE_FROM = 24_000
"""Tokens from which a critic other than BM25 reads only what the pre-filter lets through."""
BRIDGE_WEIGHT = 0.2
"""Of a bridge's score from 0 to 1, in three standard deviations of the critic's."""
_CLOSURE_SHARE = 0.5


def rank(
    pool: Pool,
    query: Query,
    critic: Critic,
    budget: int,
    *,
    recall: float | None = None,
    expand: bool = True,
    cascade: bool = True,
) -> Ranked:
    """Score the pool's units and order them; ties go to the earlier one.

    Units with an identifier that the query asks for come first, with the chain of units that
    share rare identifiers with them; then the others by the critic's score and, behind it, by
    what the best of them name. A query about the whole document gets coverage instead.

    Args:
        pool: the units.
        query: what is asked.
        critic: scores the units that pass the pre-filter.
        budget: tokens; bounds how far a chain is followed.
        recall: share of the evidence to keep: units below the critic's threshold are left out.
        expand: follow chains and bridges.
        cascade: pre-filter long inputs for a critic that reads them slowly.
    """
    tokens = [words(f"{unit.heading} {unit.text}") for unit in pool.units]
    occurrences = Occurrences([unit.text for unit in pool.units], pool.size)
    seeds = occurrences.find(asked_for(query.query)) if expand else set[int]()
    whole = asks_for_whole(query.query)
    if whole and not seeds:  # what asks for a rare name is no question about the whole
        order = coverage_order(pool, tokens, budget)
        scores = [0.0] * len(order)
        for place, at in enumerate(order):
            scores[at] = 1 - place / len(order)
        return Ranked(pool, scores, order, f"coverage ({whole})", [_whole_warning(whole)])
    lexical = bm25(weighted_terms(query), tokens)
    scores = _scored(pool, query, critic, lexical, tokens, cascade=cascade)
    enough = _reaching(critic, recall, scores)
    warnings = [] if any(scores) else [f"nothing in the input shares a word with {query.query!r}"]
    first: set[int] = set()
    if expand and any(scores):
        first = (
            occurrences.closure(seeds, pool.tokens, int(_CLOSURE_SHARE * budget))
            if seeds
            else set()
        )
        bridges = bridge_scores(query, pool.units, scores, tokens)
        scores = _combined(scores, bridges)
    order = _order(scores, first)
    kept = [at for at in order if at in enough or at in first]
    return Ranked(pool, scores, kept or order[:1], critic.name, warnings)


def _scored(
    pool: Pool,
    query: Query,
    critic: Critic,
    lexical: Sequence[float],
    tokens: Sequence[Sequence[str]],
    *,
    cascade: bool,
) -> list[float]:
    if isinstance(critic, LexicalCritic):
        return list(lexical)
    if not cascade or sum(pool.tokens) <= CASCADE_FROM:
        return [float(score) for score in critic.score(query, pool.units)]
    meaning = Meaning(pool.units) if by_meaning(critic) else None
    passed = passing(pool, query, tokens, meaning)
    scored = critic.score(query, [pool.units[at] for at in passed])
    floor, most = min(scored), max(lexical) or 1.0
    # What the critic did not read ranks behind all that it read, in the order of BM25.
    scores = [floor - 2 + score / most if score else 0.0 for score in lexical]
    for at, score in zip(passed, scored, strict=True):
        scores[at] = float(score)
    return scores


def _reaching(critic: Critic, recall: float | None, scores: Sequence[float]) -> set[int]:
    """Places of the units that a recall target keeps; all without one."""
    if recall is None:
        return set(range(len(scores)))
    if not isinstance(critic, Calibrated):
        raise BadInput(
            f"the critic {critic.name!r} is not calibrated for a recall target: expected 'fused', "
            "or a budget or ratio in its place"
        )
    least = critic.threshold(recall, scores)
    return {at for at, score in enumerate(scores) if score >= least}


def _combined(scores: Sequence[float], bridges: Sequence[float]) -> list[float]:
    width = 3 * pstdev(scores)
    return [
        score + BRIDGE_WEIGHT * bridge * width if score or bridge else 0.0
        for score, bridge in zip(scores, bridges, strict=True)
    ]


def _order(scores: Sequence[float], first: set[int]) -> list[int]:
    """Places best first; units with a score of exactly 0, for which nothing speaks, left out."""
    places = sorted(range(len(scores)), key=lambda at: (at not in first, -scores[at], at))
    return [at for at in places if scores[at] or at in first] or places[:1]


def _whole_warning(why: str) -> str:
    if why == "count":
        return "the query counts over the whole text: kept evenly, but a count of it will be wrong"
    return "the query is about the whole text: kept evenly instead of pruned"
