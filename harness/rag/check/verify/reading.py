"""What the checker reads of a sentence: its words by kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from harness.rag.check.verify.stems import WORD, stem
from harness.rag.check.verify.wordlists import (
    CALENDAR,
    FALLING,
    FUNCTION_WORDS,
    NUMBER_WORDS,
    RISING,
)

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Reading:
    """A sentence as words.

    Attributes:
        words: verbatim, in order.
        stems: of the words.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]

    @cached_property
    def content(self) -> tuple[int, ...]:
        """Places of the words that carry the statement: no function words, no signs."""
        return tuple(
            at
            for at, word in enumerate(self.words)
            if word.lower() not in FUNCTION_WORDS and (word[0].isalnum())
        )

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers in digits, separators of thousands removed; small number words too."""
        found: list[str] = []
        for word in self.words:
            if _DIGIT.search(word):
                found.append(re.sub(r",(?=\d{3})", "", word).strip(".,:/"))
            elif word.lower() in NUMBER_WORDS:
                found.append(NUMBER_WORDS[word.lower()])
        return tuple(found)

    @cached_property
    def names(self) -> tuple[int, ...]:
        """Places of words in capitals; of the first word only where it has a capital inside."""
        return tuple(
            at
            for at in self.content
            if any(letter.isupper() for letter in self.words[at][1 if at == 0 else 0 :])
        )

    @cached_property
    def dates(self) -> tuple[int, ...]:
        """Places of months, days of the week and years."""
        return tuple(
            at for at, word in enumerate(self.words)
            if word.lower() in CALENDAR or re.fullmatch(r"1[5-9]\d\d|20\d\d", word)
        )  # fmt: skip

    def count(self, kind: frozenset[str]) -> int:
        """Words of a kind; contractions with "n't" count as negations."""
        return sum(word.lower().replace("\u2019", "'") in kind for word in self.words)

    def directions(self) -> tuple[int, int]:
        """Words of rising and of falling."""
        return sum(one in RISING for one in self.stems), sum(one in FALLING for one in self.stems)


@lru_cache(maxsize=1 << 12)
def read(text: str) -> Reading:
    """The words of a sentence; those of the last few thousand texts are kept."""
    words = tuple(WORD.findall(text))
    return Reading(words, tuple(stem(word) for word in words))


def pairs(stems: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbouring stems."""
    return list(pairwise(stems))
