"""Numbers in words: forty-two, two and a half million, a dozen, three quarters, twenty-first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NTH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
SMALL: dict[str, int] = {word: value for value, word in enumerate(_SMALL.split())}
TENS: dict[str, int] = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
SCALES = {
    "hundred": 100,
    "dozen": 12,
    "thousand": 10**3,
    "lakh": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
ORDINALS: dict[str, int] = {
    **{word: value for value, word in enumerate(_NTH.split(), start=1)},
    **{word[:-1] + "ieth": value for word, value in TENS.items()},
    "hundredth": 100,
    "thousandth": 1000,
}
PARTS = {
    **{word: value for word, value in ORDINALS.items() if 2 < value <= 20 or value >= 100},
    "half": 2,
    "quarter": 4,
}
_PLURAL = {"halves": 2, **{f"{word}s": value for word, value in PARTS.items() if word != "half"}}
_SCALE_WORD = {**SCALES, **{f"{word}s": value for word, value in SCALES.items()}}
_NUMBER = "|".join(sorted((*SMALL, *TENS, *SCALES), key=len, reverse=True))
_ORDINAL = "|".join(sorted(ORDINALS, key=len, reverse=True))
_PART = "|".join(sorted((*PARTS, *_PLURAL), key=len, reverse=True))
_JOIN = r"(?:[ -]+and[ -]+|[ -]+)"
_PHRASE = re.compile(
    rf"\b(?:(?P<cardinal>(?:(?:a|half a)[ -]+(?={'|'.join(SCALES)})|)(?:{_NUMBER})"
    rf"(?:{_JOIN}(?:{_NUMBER}))*)(?:{_JOIN}a[ -]half(?P<scale>[ -]+(?:{'|'.join(SCALES)}))?)?"
    rf"(?:[ -]+(?P<part>{_PART}))?(?:[ -]+(?P<last>{_ORDINAL}))?"
    rf"|(?P<lone>(?:one|a)[ -](?:{_PART})|half)|(?P<ordinal>{_ORDINAL}))\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r" (?:in|out of)(?: every)? (?:two|three|four|five|six|eight|ten|\d)")
_HALF = re.compile(r"and[ -]+a[ -]+half", re.IGNORECASE)


@dataclass(frozen=True)
class Spelled:
    """A number in words.

    Attributes:
        start: first character.
        end: character behind the last one.
        value: what it says.
        step: worth of its last digit; 0 for a fraction.
        ordinal: whether it counts a place (third).
    """

    start: int
    end: int
    value: Fraction
    step: Fraction
    ordinal: bool = False


def spelled(text: str) -> Iterator[Spelled]:
    """Numbers in words, in order; a lone "one" is passed over, it is mostly a pronoun."""
    for match in _PHRASE.finditer(text):
        start, end = match.span()
        if match["ordinal"]:
            value = Fraction(ORDINALS[match["ordinal"].lower()])
            yield Spelled(start, end, value, Fraction(1), ordinal=True)
        elif match["lone"]:
            yield Spelled(start, end, Fraction(1, _denominator(match["lone"])), Fraction(0))
        elif _counts(match, text):
            yield _cardinal(match)


def _counts(match: re.Match[str], text: str) -> bool:
    """No pronoun (one of them), and no scale alone, which heads a column (RMB million)."""
    phrase = match[0].lower()
    if phrase == "one":
        return _SHARE.match(text, match.end()) is not None
    return re.split(r"[ -]", phrase)[0] not in SCALES


def _denominator(phrase: str) -> int:
    word = re.split(r"[ -]+", phrase.lower())[-1]
    return _PLURAL.get(word) or PARTS[word]


def _cardinal(match: re.Match[str]) -> Spelled:
    start, end = match.span()
    value, step = cardinal(match["cardinal"])
    if _HALF.search(match[0]):
        value += Fraction(1, 2)
        scale = SCALES[match["scale"].strip(" -").lower()] if match["scale"] else 1
        return Spelled(start, end, value * scale, Fraction(scale, 2))
    if match["part"]:
        return Spelled(start, end, value / _denominator(match["part"]), Fraction(0))
    if match["last"]:
        last = ORDINALS[match["last"].lower()]
        return Spelled(start, end, value + last, Fraction(1), ordinal=True)
    return Spelled(start, end, value, step)


def cardinal(phrase: str) -> tuple[Fraction, Fraction]:
    """(value, worth of the last word) of a cardinal in words."""
    total, group, step = Fraction(0), Fraction(0), 1
    words = [word for word in re.split(r"[ -]+", phrase.lower()) if word not in ("and", "a")]
    for word in words:
        if word == "half":
            group = Fraction(1, 2)
        elif word in SMALL or word in TENS:
            group += SMALL.get(word, TENS.get(word, 0))
            step = 10 if word in TENS else 1
        elif word in ("hundred", "dozen"):
            group = (group or Fraction(1)) * SCALES[word]
            step = SCALES[word]
        else:
            total += (group or Fraction(1)) * _SCALE_WORD[word]
            group, step = Fraction(0), _SCALE_WORD[word]
    return total + group, Fraction(step) if group == 0 or step >= 100 else Fraction(1)
