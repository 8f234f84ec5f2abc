"""A query: BM25 over its words, the names that it asks for, and whether it is about everything.

The formula of BM25 is that of Lucene (Robertson & Zaragoza 2009; Kamphuis et al. 2020), as in
bm25s, with which the tests compare it. An index would cost more than the one query that is asked of
it, and the units may not fit in memory: only the words of the query are counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve import words

K1, B = 1.5, 0.75


class Statistics:
    """How many units there are, how long they are, and in how many each word of a query stands.

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
        shared = self.terms.keys() & set(tokens)
        if not shared:
            return 0.0
        counts = Counter(token for token in tokens if token in shared)
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
        for place, names in enumerate(self._of):
            for name in names:
                self._where.setdefault(name, []).append(place)

    def find(self, names: Iterable[str]) -> set[int]:
        """Units with a rare one of `names`: in at most 16 units, and at most 2 % of them all."""
        units: set[int] = set()
        for name in names:
            where = self._where.get(name, [])
            if not where and " " in name:  # quoted words
                where = [place for place, text in enumerate(self._texts) if name in text.casefold()]
            if len(where) <= self._most:
                units.update(where)
        return units

    def closure(self, seeds: Collection[int], tokens: Sequence[int], budget: int) -> set[int]:
        """Units reached from `seeds` by shared rare identifiers: a chain of variables whole.

        Follows `VAR X2 = VAR X1` in both directions to a fixed point, as long as the units
        reached hold no more than `budget` tokens; the nearest come first.
        """
        reached: set[int] = set(seeds)
        frontier: set[int] = set(seeds)
        spent = sum(tokens[place] for place in reached)
        while frontier:
            names = {name for place in frontier for name in self._of[place]}
            new = self.find(names) - reached
            frontier = set()
            for place in sorted(new):
                if spent + tokens[place] > budget:
                    return reached
                spent += tokens[place]
                reached.add(place)
                frontier.add(place)
        return reached


def asks_for_whole(query: str) -> str | None:
    """Why a query needs the whole document: `no query`, `summary` or `count`; None if it does not.

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
