"""What a query asks for: names that are looked up as written, or the whole document."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

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
