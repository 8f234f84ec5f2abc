"""Questions about the whole document: every part of it is represented, none is pruned away."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from harness.rag.compress.pool import Pool

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
    central = _centrality(tokens)
    length = max(1, pool.total)
    by_stretch: dict[int, list[int]] = {}
    for at, before in enumerate(pool.before):
        by_stretch.setdefault(min(stretches - 1, before * stretches // length), []).append(at)
    for members in by_stretch.values():
        members.sort(key=lambda at: (-central[at], at))
    rounds = max(map(len, by_stretch.values()))
    return [
        members[turn]
        for turn in range(rounds)
        for members in by_stretch.values()
        if turn < len(members)
    ]


def _centrality(tokens: Sequence[Sequence[str]]) -> list[float]:
    within = Counter(word for one in tokens for word in set(one))
    total = Counter(word for one in tokens for word in one)
    n = len(tokens)
    weight = {word: math.log(1 + total[word]) * math.log(1 + n / within[word]) for word in within}
    return [
        math.fsum(weight[word] for word in set(one)) / (8 + len(set(one))) if one else 0.0
        for one in tokens
    ]
