"""Units in order of rank: pre-filter, critic, identifiers asked for, bridges, or coverage."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from statistics import pstdev

from harness.core import BadInput
from harness.rag.compress.pool import Pool, Ranked
from harness.rag.compress.query import (
    LexicalCritic,
    Occurrences,
    asked_for,
    asks_for_whole,
    bm25,
    weighted_terms,
)
from harness.rag.compress.types import Calibrated, Critic, Query, Unit
from harness.rag.retrieve import words

# Tokens from which a critic other than BM25 reads only what the pre-filter lets through.
CASCADE_FROM = 24_000
# Of a bridge's score from 0 to 1, in three standard deviations of the critic's.
BRIDGE_WEIGHT = 0.2
# Units whose names are followed by bridges.
BEST = 4
_CLOSURE_SHARE = 0.5
_NAME = re.compile(
    r"(?<![.!?] )(?<!^)(?:[A-Z][\w'-]+)(?:(?: (?:of|the|de|von|van|da))? [A-Z][\w'-]+)*"
)


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
    share rare identifiers with them; then the others by the critic's score and, added to it, by
    the names in the best of them. A query about the whole document gets coverage instead.

    Args:
        pool: the units.
        query: what is asked.
        critic: scores the units that pass the pre-filter.
        budget: tokens; bounds how far a chain is followed.
        recall: share of the evidence to keep: units below the critic's threshold are left out.
        expand: follow chains and bridges.
        cascade: pre-filter long inputs for a critic that reads them slowly.

    Raises:
        BadInput: for a recall target with a critic that is not calibrated.
    """
    tokens = [words(f"{unit.heading} {unit.text}") for unit in pool.units]
    occurrences = Occurrences([unit.text for unit in pool.units], pool.size)
    seeds = occurrences.find(asked_for(query.query)) if expand else set[int]()
    reason = asks_for_whole(query.query)
    if reason and not seeds:  # a query for a rare name is no question about the whole
        order = coverage_order(pool, tokens, budget)
        scores = [0.0] * len(order)
        for position, place in enumerate(order):
            scores[place] = 1 - position / len(order)
        warning = (
            "the query counts over the whole text: kept evenly, but a count of it will be wrong"
            if reason == "count"
            else "the query is about the whole text: kept evenly instead of pruned"
        )
        return Ranked(pool, scores, order, f"coverage ({reason})", [warning])
    scores = _scores(pool, query, critic, tokens, cascade=cascade)
    enough = set(range(len(scores)))
    if recall is not None:
        if not isinstance(critic, Calibrated):
            raise BadInput(
                f"the critic {critic.name!r} is not calibrated for a recall target: expected "
                "'fused', or a budget or ratio in its place"
            )
        least = critic.threshold(recall, scores)
        enough = {place for place, score in enumerate(scores) if score >= least}
    warnings = [] if any(scores) else [f"nothing in the input shares a word with {query.query!r}"]
    first: set[int] = set()
    if expand and any(scores):
        if seeds:
            first = occurrences.closure(seeds, pool.tokens, int(_CLOSURE_SHARE * budget))
        width = 3 * pstdev(scores)
        bridges = _bridge_scores(query, pool.units, scores, tokens)
        scores = [
            score + BRIDGE_WEIGHT * bridge * width if score or bridge else 0.0
            for score, bridge in zip(scores, bridges, strict=True)
        ]
    order = sorted(
        range(len(scores)), key=lambda place: (place not in first, -scores[place], place)
    )
    # Units with a score of exactly 0, for which nothing speaks, are left out.
    order = [place for place in order if scores[place] or place in first] or order[:1]
    chosen = [place for place in order if place in enough or place in first]
    return Ranked(pool, scores, chosen or order[:1], critic.name, warnings)


def coverage_order(pool: Pool, tokens: Sequence[Sequence[str]], budget: int) -> list[int]:
    """Places of units so that any prefix covers the text evenly, the most central first.

    The text is divided into equal stretches, as many as units fit the budget; each gives its most
    central unit, then its second, and so on. Centrality is the mean idf-weighted share of a unit's
    words in the whole (the centroid of Radev et al. 2004), which prefers neither long nor short
    units; the first unit of a stretch wins a tie.

    Args:
        pool: the units.
        tokens: words of each.
        budget: tokens.
    """
    if not pool.units:
        return []
    mean = max(1.0, sum(pool.tokens) / len(pool.tokens))
    stretches = max(1, int(budget / (2 * mean)))
    length = max(1, pool.total)
    distinct = [set(unit_tokens) for unit_tokens in tokens]
    within = Counter(word for unit_words in distinct for word in unit_words)
    total = Counter(word for unit_tokens in tokens for word in unit_tokens)
    weight = {
        word: math.log(1 + total[word]) * math.log(1 + len(tokens) / within[word])
        for word in within
    }
    central = [
        math.fsum(weight[word] for word in unit_words) / (8 + len(unit_words))
        for unit_words in distinct
    ]
    by_stretch: dict[int, list[int]] = {}
    for place, before in enumerate(pool.before):
        by_stretch.setdefault(min(stretches - 1, before * stretches // length), []).append(place)
    for members in by_stretch.values():
        members.sort(key=lambda place: (-central[place], place))
    rounds = max(map(len, by_stretch.values()))
    return [
        members[turn]
        for turn in range(rounds)
        for members in by_stretch.values()
        if turn < len(members)
    ]


def _scores(
    pool: Pool, query: Query, critic: Critic, tokens: Sequence[Sequence[str]], *, cascade: bool
) -> list[float]:
    lexical = bm25(weighted_terms(query), tokens)
    if isinstance(critic, LexicalCritic):
        return lexical
    if not cascade or sum(pool.tokens) <= CASCADE_FROM:
        return [float(score) for score in critic.score(query, pool.units)]
    from harness.rag.compress.prefilter import Meaning, by_meaning, passing

    meaning = Meaning(pool.units) if by_meaning(critic) else None
    passed = passing(pool, query, tokens, meaning)
    scored = critic.score(query, [pool.units[place] for place in passed])
    floor, most = min(scored), max(lexical) or 1.0
    # Units that the critic did not read rank behind all that it read, in the order of BM25.
    scores = [floor - 2 + score / most if score else 0.0 for score in lexical]
    for place, score in zip(passed, scored, strict=True):
        scores[place] = float(score)
    return scores


def _bridge_scores(
    query: Query, units: Sequence[Unit], scores: Sequence[float], tokens: Sequence[Sequence[str]]
) -> list[float]:
    """For each unit, from 0 to 1, how much it is about the names in the best units.

    These are the bridges of multi-hop questions: named by an answer, not by the question.
    """
    query_words = set(words(query.text))
    best = sorted(range(len(units)), key=lambda place: -scores[place])[:BEST]
    terms: dict[str, float] = {}
    for position, place in enumerate(best):
        for name in _NAME.findall(units[place].text):
            for word in set(words(name)) - query_words:
                terms[word] = max(terms.get(word, 0.0), 1 / (1 + position))
    if not terms:
        return [0.0] * len(units)
    shared = bm25(terms, tokens)
    most = max(shared) or 1.0
    return [score / most for score in shared]
