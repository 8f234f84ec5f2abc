"""What the checker reads of a sentence: its words by kind, their stems and related words.

Stems are the key of everything lexical here. Which words mean the same, the opposite or the more
general thing is looked up in a packaged table of stems, made from WordNet 3.1 by
`lab.training.lexicon`; its licence lies beside it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from harness.rag.retrieve import terms

LEXICON = Path(__file__).parent.parent / "weights" / "lexicon.json.gz"
WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%$\u20ac\u00a3]")
"""A word, a number with its separators, or a sign that gives a number its meaning."""
_FORMS = (
    "be am is are was were been|begin began begun|become became|break broke broken"
    "|bring brought|build built|buy bought|catch caught|choose chose chosen|come came|do did done"
    "|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen"
    "|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|get got gotten"
    "|give gave given|go went gone|grow grew grown|have has had|hear heard|hide hid hidden"
    "|hold held|keep kept|know knew known|lead led|leave left|lend lent|lose lost|make made"
    "|mean meant|meet met|pay paid|ride rode ridden|rise rose risen|run ran|say said|see saw seen"
    "|sell sold|send sent|shake shook shaken|shoot shot|show shown|shrink shrank shrunk"
    "|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent"
    "|stand stood|steal stole stolen|stick stuck|strike struck|swim swam swum|take took taken"
    "|teach taught|tell told|think thought|throw threw thrown|understand understood|wake woke"
    "|wear wore worn|win won|withdraw withdrew|write wrote written|good better best"
    "|bad worse worst|man men|woman women|child children|person people|foot feet|mouse mice"
    "|tooth teeth|life lives|wife wives|half halves"
)
_BASE = {
    form: words[0] for words in (group.split() for group in _FORMS.split("|")) for form in words
}


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Stem of one word, in lower case; a number or sign stays as it is."""
    lower = word.lower().replace("\u2019", "'").removesuffix("'s")
    lower = _BASE.get(lower, lower)
    stemmed = terms(lower) if lower.isalpha() else []
    return stemmed[0] if len(stemmed) == 1 else lower


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """a an the and or but if of in on at by for with from to into onto than then that this these
    those it its it's is are was were be been being am do does did done has have had having he she
    they him their her hers them theirs his we us our you your i me my who whom whose which what
    when where how why as so such there here also too very just about over under after before
    during between through up down out off again can could may might must shall should will would
    not no nor own same s t re ve ll d 's each both any all some most more less other another
    while because until although though however"""
)
NEGATIONS = _words(
    """not no never none nobody nothing neither nor without cannot can't won't don't doesn't didn't
    isn't aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't hardly rarely
    barely fail fails failed refuse refuses refused deny denies denied unable lack lacks lacked
    stop stops stopped prevent prevents prevented avoid avoids"""
)
_RISING_WORDS = (
    "more higher increase increased rise rose risen up above over exceed exceeded greater "
    "larger grow grew growth gain gained better best most improve after later win won maximum "
    "upper add added strong stronger positive "
)
RISING = frozenset(map(stem, _RISING_WORDS.split()))
_FALLING_WORDS = (
    "less lower decrease decreased fall fell fallen down below under smaller fewer shrink drop "
    "dropped decline declined loss lost worse worst least worsen before earlier lose minimum "
    "reduce reduced weak weaker negative "
)
FALLING = frozenset(map(stem, _FALLING_WORDS.split()))
ABSOLUTES = _words("all every each only always never entirely none solely must any")
HEDGES = _words(
    """may might could possibly perhaps about around approximately nearly almost some often
    sometimes usually likely reportedly allegedly expected planned would should can"""
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
CALENDAR = frozenset(map(str.lower, MONTHS)) | _words(
    "monday tuesday wednesday thursday friday saturday sunday"
)
NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
    "twenty": "20",
}  # fmt: skip


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
            place
            for place, word in enumerate(self.words)
            if word.lower() not in FUNCTION_WORDS and word[0].isalnum()
        )

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numbers in digits, separators of thousands removed; small number words too."""
        return tuple(
            re.sub(r",(?=\d{3})", "", word).strip(".,:/")
            if re.search(r"\d", word)
            else NUMBER_WORDS[word.lower()]
            for word in self.words
            if re.search(r"\d", word) or word.lower() in NUMBER_WORDS
        )

    @cached_property
    def names(self) -> tuple[int, ...]:
        """Places of words in capitals; of the first word only where it has a capital inside."""
        return tuple(
            place
            for place in self.content
            if any(letter.isupper() for letter in self.words[place][1 if place == 0 else 0 :])
        )

    @cached_property
    def dates(self) -> tuple[int, ...]:
        """Places of months, days of the week and years."""
        return tuple(
            place
            for place, word in enumerate(self.words)
            if word.lower() in CALENDAR or re.fullmatch(r"1[5-9]\d\d|20\d\d", word)
        )

    def count(self, kind: frozenset[str]) -> int:
        """Words of a kind; contractions with "n't" count as negations."""
        return sum(word.lower().replace("\u2019", "'") in kind for word in self.words)

    def directions(self) -> tuple[int, int]:
        """Words of rising and of falling."""
        return sum(word in RISING for word in self.stems), sum(
            word in FALLING for word in self.stems
        )


@lru_cache(maxsize=1 << 12)
def read(text: str) -> Reading:
    """The words of a sentence; those of the last few thousand texts are kept."""
    words = tuple(WORD.findall(text))
    return Reading(words, tuple(map(stem, words)))


def pairs(stems: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbouring stems."""
    return list(pairwise(stems))


@cache
def _lexicon() -> dict[str, dict[str, frozenset[str]]]:
    stored: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(LEXICON.read_bytes()))
    return {
        relation: {word: frozenset(stems) for word, stems in table.items()}
        for relation, table in stored.items()
    }


def related(word: str, relation: Literal["same", "opposite", "wider"]) -> frozenset[str]:
    """Stems with a common meaning (derived words included), an opposite one (of adjectives also
    by way of the nearest opposed pair), or a more general one, one step up."""
    return _lexicon()[relation].get(word, frozenset())
