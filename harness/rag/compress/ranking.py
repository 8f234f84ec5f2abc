"""Scores of units for a query, and their order.

BM25 over the words of the query, the identifiers that it asks for, and whether it is about
everything; then the order: pre-filter, critic, identifiers, bridges, or coverage.

The formula of BM25 is that of Lucene (Robertson & Zaragoza 2009; Kamphuis et al. 2020), as in
bm25s, with which the tests compare it. An index would cost more than the one query that is asked of
it, and the units may not fit in memory: only the words of the query are counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import TYPE_CHECKING

from harness.rag.compress.types import Critic, Query, Unit
from harness.rag.retrieve import words

if TYPE_CHECKING:
    from harness.rag.compress.pool import Pool

K1, B = 1.5, 0.75


class Statistics:
    """Number of units, their length, and in how many of them each word of a query stands.

    Args:
        terms: the query's words, with weights.
    """

    def __init__(self, terms: Mapping[str, float]) -> None:
        self.terms = dict(terms)
        self.units = 0
        self.length = 0
        self.frequency: Counter[str] = Counter()

    def add(self, tokens: Sequence[str]) -> None:
        """Count one unit."""
        self.units += 1
        self.length += len(tokens)
        self.frequency.update(self.terms.keys() & set(tokens))

    def score(self, tokens: Sequence[str]) -> float:
        """BM25 of one unit."""
        counts = Counter(token for token in tokens if token in self.terms)
        norm = K1 * (1 - B + B * len(tokens) * self.units / max(1, self.length))
        score = 0.0
        for term, count in counts.items():
            holding = self.frequency[term]
            idf = math.log(1 + (self.units - holding + 0.5) / (holding + 0.5))
            score += self.terms[term] * idf * count / (count + norm)
        return score


def bm25(terms: Mapping[str, float], units: Iterable[Sequence[str]]) -> list[float]:
    """Scores of units, given as their words.

    Args:
        terms: the query's words, with weights.
        units: words of each.
    """
    statistics, texts = Statistics(terms), list(units)
    for tokens in texts:
        statistics.add(tokens)
    return [statistics.score(tokens) for tokens in texts]


def query_terms(text: str) -> dict[str, float]:
    """Words of a query, each with weight 1."""
    return dict.fromkeys(words(text), 1.0)


def weighted_terms(query: Query) -> dict[str, float]:
    """Words of the query with weight 1, further words of the instruction with 1/4."""
    return {**dict.fromkeys(words(query.instruction), 0.25), **query_terms(query.query)}


class LexicalCritic:
    """Scores by the words that a unit shares with the query and the instruction.

    No model, no training, any language. Words of the instruction count a quarter: it says what to
    keep, mostly in words of its own.
    """

    name = "lexical"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """BM25 over the units of the call; 0 for a unit without a word of the query."""
        return bm25(weighted_terms(query), (words(f"{unit.heading} {unit.text}") for unit in units))


_WHOLE = re.compile(
    r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overview|abstract of|outline of|tl;?dr|"
    r"main (?:points?|ideas?|topics?|themes?|findings?|arguments?)|key (?:points?|takeaways?)|"
    r"gist|synopsis|recap|in a nutshell|whole (?:document|text|meeting|book|paper)|"
    r"(?:entire|full) (?:document|text|meeting|book|paper)|what is (?:this|the) "
    r"(?:document|text|paper|article|book|meeting|report) about)\b"
    r"|总结|概括|概述|摘要|要約|まとめ|zusammenfass|résum|resum(?:en|ir|o)\b|riassun",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\bhow (?:many times|often) (?:does|do|is|are|did|was|were)\b|"
    r"\bnumber of (?:times|occurrences)\b|\bcount (?:the|how|all|every)\b|"
    r"\b(?:most|least) (?:common|frequent(?:ly)?|often)\b.{0,40}"
    r"\b(?:words?|terms?|names?)\b|\bfrequency of\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"\b(?:about|discuss\w*|regarding|concerning|on|said|thoughts?|opinions?)\b")
_TOKEN = re.compile(r"[\w$@#](?:[\w$@#./:\\+-]*[\w$@#])?")
_QUOTED = re.compile(r"[\"“«「`]([^\"“”«»「」`\n]{2,80})[\"”»」`]")
_MOST = 16
_SHARE = 50


def identifiers(text: str) -> set[str]:
    """Tokens with a digit, a joint (`_`, `-`, `.`, `/`), an inner capital or capitals only.

    In lower case, so that a key is found however it is written.
    """
    return {match.casefold() for match in _TOKEN.findall(text) if _is_identifier(match)}


def asked_for(query: str) -> set[str]:
    """Identifiers of a query, and what it has in quotation marks."""
    return identifiers(query) | {match.casefold() for match in _QUOTED.findall(query)}


def _is_identifier(token: str) -> bool:
    if len(token) < 2 or (token.isalpha() and token[1:].islower()):  # nearly every word
        return False
    has_digit = any(map(str.isdigit, token))
    has_joint = any(joint in token for joint in "_-./\\:+@#$")
    return has_digit or has_joint or any(map(str.isupper, token[1:]))


class Occurrences:
    """In which units each identifier stands.

    Args:
        texts: of the units, in order.
        size: units of the whole input, where these are only some of them.
    """

    def __init__(self, texts: Sequence[str], size: int = 0) -> None:
        self._most = min(_MOST, max(2, max(size, len(texts)) // _SHARE))
        self._of = [identifiers(text) for text in texts]
        self._texts = texts
        self._where: dict[str, list[int]] = {}
        for index, names in enumerate(self._of):
            for name in names:
                self._where.setdefault(name, []).append(index)

    def find(self, names: Iterable[str]) -> set[int]:
        """Units with a rare one of `names`: in at most 16 units, and at most 2 % of them all."""
        units: set[int] = set()
        for name in names:
            where = self._where.get(name, [])
            if not where and " " in name:  # quoted words
                where = [index for index, text in enumerate(self._texts) if name in text.casefold()]
            if len(where) <= self._most:
                units.update(where)
        return units

    def closure(self, seeds: Collection[int], tokens: Sequence[int], budget: int) -> set[int]:
        """Units reached from `seeds` by shared rare identifiers: a chain of variables whole.

        Follows `VAR X2 = VAR X1` in both directions to a fixed point, as long as the units
        reached hold no more than `budget` tokens; the nearest come first.
        """
        reached, frontier = set[int](seeds), set[int](seeds)
        spent = sum(tokens[index] for index in reached)
        while frontier:
            names = {name for index in frontier for name in self._of[index]}
            frontier = self.find(names) - reached
            for index in sorted(frontier):
                spent += tokens[index]
                if spent > budget:
                    return reached
                reached.add(index)
        return reached


def asks_for_whole(query: str) -> str | None:
    """Explain why a query needs the whole document: `no query`, `summary` or `count`; else None.

    A summary of what was said about something is a question about that thing.
    """
    if not query.strip():
        return "no query"
    if _COUNT.search(query):
        return "count"
    match = _WHOLE.search(query)
    if match and not _SUBJECT.search(query[match.end() :].lower()):
        return "summary"
    return None


# Of a bridge's score from 0 to 1, in three standard deviations of the critic's.
BRIDGE_WEIGHT = 0.2
# Units whose names are followed by bridges.
BEST = 4
_CLOSURE_SHARE = 0.5
_NAME = re.compile(
    r"(?<![.!?] )(?<!^)(?:[A-Z][\w'-]+)(?:(?: (?:of|the|de|von|van|da))? [A-Z][\w'-]+)*"
)


@dataclass(frozen=True)
class Ranked:
    """Units with their scores, best first.

    Attributes:
        pool: the units.
        scores: one for each.
        order: places of the units that may be kept, best first.
        critic: what scored.
        warnings: of the ranking.
    """

    pool: Pool
    scores: Sequence[float]
    order: Sequence[int]
    critic: str
    warnings: Sequence[str]


def rank(
    pool: Pool,
    query: Query,
    critic: Critic,
    budget: int,
    *,
    expand: bool = True,
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
        expand: follow chains and bridges.
    """
    tokens = [words(f"{unit.heading} {unit.text}") for unit in pool.units]
    occurrences = Occurrences([unit.text for unit in pool.units], pool.size)
    seeds = occurrences.find(asked_for(query.query)) if expand else set[int]()
    reason = asks_for_whole(query.query)
    if reason and not seeds:  # a query for a rare name is no question about the whole
        order = coverage_order(pool, tokens, budget)
        scores = [0.0] * len(order)
        for position, index in enumerate(order):
            scores[index] = 1 - position / len(order)
        warning = (
            "the query counts over the whole text: kept evenly, but a count of it will be wrong"
            if reason == "count"
            else "the query is about the whole text: kept evenly instead of pruned"
        )
        return Ranked(pool, scores, order, f"coverage ({reason})", [warning])
    if isinstance(critic, LexicalCritic):
        scores = bm25(weighted_terms(query), tokens)
    else:
        from harness.rag.compress.prefilter import by_meaning, passing

        passed = passing(pool, query, tokens, meaning=by_meaning(critic))
        scored = critic.score(query, [pool.units[index] for index in passed])
        lexical = bm25(weighted_terms(query), tokens)
        floor, most = min(scored), max(lexical) or 1.0
        # Units that the critic did not read rank behind all that it read, in the order of BM25.
        scores = [floor - 2 + score / most if score else 0.0 for score in lexical]
        for index, score in zip(passed, scored, strict=True):
            scores[index] = float(score)
    # A single unit has no standard score but 0.
    warnings = (
        []
        if any(scores) or len(scores) == 1
        else [f"nothing in the input shares a word with {query.query!r}"]
    )
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
        range(len(scores)), key=lambda index: (index not in first, -scores[index], index)
    )
    # Units with a score of exactly 0, for which nothing speaks, are left out.
    order = [index for index in order if scores[index] or index in first] or order[:1]
    return Ranked(pool, scores, order, critic.name, warnings)


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
    for index, before in enumerate(pool.before):
        by_stretch.setdefault(min(stretches - 1, before * stretches // length), []).append(index)
    for members in by_stretch.values():
        members.sort(key=lambda index: (-central[index], index))
    rounds = max(map(len, by_stretch.values()))
    return [
        members[turn]
        for turn in range(rounds)
        for members in by_stretch.values()
        if turn < len(members)
    ]


def _bridge_scores(
    query: Query, units: Sequence[Unit], scores: Sequence[float], tokens: Sequence[Sequence[str]]
) -> list[float]:
    """For each unit, from 0 to 1, how much it is about the names in the best units.

    These are the bridges of multi-hop questions: named by an answer, not by the question.
    """
    query_words = weighted_terms(query)
    best = sorted(range(len(units)), key=lambda index: -scores[index])[:BEST]
    terms: dict[str, float] = {}
    for position, index in enumerate(best):
        for name in _NAME.findall(units[index].text):
            for word in set(words(name)) - query_words.keys():
                terms.setdefault(word, 1 / (1 + position))  # the best unit comes first
    shared = bm25(terms, tokens) if terms else [0.0] * len(units)
    most = max(shared) or 1.0
    return [score / most for score in shared]
