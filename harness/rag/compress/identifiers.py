"""Identifiers: names that stand for one thing and are looked up as they are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

_TOKEN = re.compile(r"[\w$@#](?:[\w$@#./:\\+-]*[\w$@#])?")
_QUOTED = re.compile(r"[\"“«「`]([^\"“”«»「」`\n]{2,80})[\"”»」`]")
_MOST = 16
_SHARE = 50


def identifiers(text: str) -> set[str]:
    """Tokens with a digit, a joint (`_`, `-`, `.`, `/`), a capital inside or capitals only.

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
        for at, found in enumerate(self._of):
            for one in found:
                self._where.setdefault(one, []).append(at)

    def find(self, names: Iterable[str]) -> set[int]:
        """Units with a rare one of `names`: in at most 16 units, and at most 2 % of them all."""
        found: set[int] = set()
        for name in names:
            where = self._where.get(name) or self._quoted(name)
            if where and len(where) <= self._most:
                found.update(where)
        return found

    def _quoted(self, name: str) -> list[int]:
        if " " not in name:
            return []
        return [at for at, text in enumerate(self._texts) if name in text.casefold()]

    def closure(self, seeds: Collection[int], tokens: Sequence[int], budget: int) -> set[int]:
        """Units reached from `seeds` by shared rare identifiers: a chain of variables whole.

        Follows `VAR X2 = VAR X1` in both directions to a fixed point, as long as the units
        reached hold no more than `budget` tokens; the nearest come first.
        """
        reached: set[int] = set(seeds)
        frontier: set[int] = set(seeds)
        spent = sum(tokens[at] for at in reached)
        while frontier:
            names = Counter(name for at in frontier for name in self._of[at])
            new = self.find(names) - reached
            frontier = set()
            for at in sorted(new):
                if spent + tokens[at] > budget:
                    return reached
                spent += tokens[at]
                reached.add(at)
                frontier.add(at)
        return reached
