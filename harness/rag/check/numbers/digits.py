"""Bare numbers: digits with separators of every kind, fractions, powers of ten, and words; the
irregular forms of other words, and the content words of a text.

1,234.5 and 1.234,5 and 12,34,567; 1½ and 3/4; 10^6 and 1.2e9; forty-two, two and a half million.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

from harness.core import SAME_SIGN

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
BASE_FORMS: dict[str, str] = {
    form: words[0] for words in (group.split() for group in _FORMS.split("|")) for form in words
}
"""Irregular forms of verbs and nouns, to their base."""
_WORD = re.compile(r"[A-Za-z][A-Za-z'&-]*[A-Za-z]|[A-Za-z]")
_STOP_WORDS = (
    "a an the of for in on at to by and or with from as was were is are be been being has "
    "had have it its this that these those their his her our they we he she which who than "
    "then into over under about after before during between both each other such not no also "
    "would will can could may million millions billion billions thousand thousands trillion "
    "percent percentage dollars dollar usd euros approximately roughly nearly around totaled "
    "totalled amounted reported stood came equal equalled respectively year years ended "
    "ending fiscal month months quarter january february march april june july august "
    "september october november december compared said there am pm where when while whose "
    "whom them him her me us you your if because since until so what how much many why did "
    "does amount amounts percentages except "
)
_STOP = frozenset(_STOP_WORDS.split())
_ENDING = re.compile(r"(?<=...)(?:ing|ed|es|(?<!s)s|e)$")
DecimalMark = Literal[".", ","]

# Digits with separators. A space groups thousands only where every group has three.
_DIGITS = (
    r"(?:\d{1,3}(?:(?P<sep>[,.' ])\d{3})(?:(?P=sep)\d{3})*(?!\d)(?:[.,]\d+)?"
    r"|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
)
_COMMA_DECIMAL = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}|\d{4,},\d+)(?![\d,.]\d)(?!\d)"
)
_POINT_DECIMAL = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d{1,2}|\d{4,}\.\d+)(?![\d,.]\d)(?!\d)"
)
_SUPER = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
CORE = re.compile(
    r"(?<![\w.,/])(?<![A-Za-z]-)(?:"
    rf"(?P<vulgar>\d*\s?[{_VULGAR}])"
    r"|(?:(?P<whole>\d+)[ -])?(?P<top>\d+)\s?/\s?(?P<bottom>[1-9]\d*)(?![\d/])"
    r"|(?P<power>10\^[-+]?\d+|10[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    rf"|(?P<digits>{_DIGITS})(?:\s?[x\u00d7*\u00b7]\s?10\s?\^?\s?(?P<ten>[-+]?\d+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)(?!\w)"
    r"|[eE](?P<exp>[-+]?\d+)(?!\w))?"
    r")"
)
"""A number in digits."""

_TENS = {
    word: 10 * value
    for value, word in enumerate(
        ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2
    )
}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_UNITS: dict[str, int] = {word: value for value, word in enumerate(_SMALL.split())} | _TENS
_NTH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
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
    **{word[:-1] + "ieth": value for word, value in _TENS.items()},
    "hundredth": 100,
    "thousandth": 1000,
}
_SINGLE_PARTS = {
    **{word: value for word, value in ORDINALS.items() if 2 < value <= 20 or value >= 100},
    "half": 2,
    "quarter": 4,
}
_PARTS = {
    **_SINGLE_PARTS,
    "halves": 2,
    **{f"{word}s": value for word, value in _SINGLE_PARTS.items() if word != "half"},
}
_NUMBER = "|".join(sorted((*_UNITS, *SCALES), key=len, reverse=True))
_ORDINAL = "|".join(sorted(ORDINALS, key=len, reverse=True))
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
_JOIN = r"(?:[ -]+and[ -]+|[ -]+)"
_PHRASE = re.compile(
    rf"\b(?:(?P<cardinal>(?:(?:a|half a)[ -]+(?={'|'.join(SCALES)})|)(?:{_NUMBER})"
    rf"(?:{_JOIN}(?:{_NUMBER}))*)(?:{_JOIN}a[ -]half(?P<scale>[ -]+(?:{'|'.join(SCALES)}))?)?"
    rf"(?:[ -]+(?P<part>{_PART}))?(?:[ -]+(?P<last>{_ORDINAL}))?"
    rf"|(?P<lone>(?:one|a)[ -](?:{_PART})|half)|(?P<article>an?|one)(?= \w+ and a half\b)"
    rf"|(?P<ordinal>{_ORDINAL}))\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r" (?:in|out of)(?: every)? (?:two|three|four|five|six|eight|ten|a hundred|a thousand|\d)"
)
_NOUN = re.compile(
    r" (?!of\b|to\b|in\b|more\b|less\b|by\b|and\b|or\b|as\b|than\b|are\b|is\b|were\b|was\b)[a-z]"
)
_THE = re.compile(r"\bthe $", re.IGNORECASE)
_HALF = re.compile(r"and[ -]+a[ -]+half", re.IGNORECASE)


class Core(NamedTuple):
    """A number without its surroundings; a step of 0 stands for an exact one."""

    start: int
    end: int
    value: Fraction
    step: Fraction
    spelled: bool = False
    ordinal: bool = False


def normalise(text: str) -> str:
    """`text` with full-width and foreign digits, signs and spaces as ASCII; of the same length."""
    return text if text.isascii() else text.translate(SAME_SIGN)


def decimal_mark(text: str) -> DecimalMark:
    """The decimal mark of a text, by its numbers that can be read in one way only; "." in doubt."""
    commas = len(_COMMA_DECIMAL.findall(text))
    return "," if commas > len(_POINT_DECIMAL.findall(text)) else "."


def parse_digits(digits: str, mark: DecimalMark = ".") -> tuple[Fraction, Fraction]:
    """(value, worth of the last digit) of digits with separators.

    Two different separators, one of them repeated, or a group of other than three digits leave
    one reading; else `mark` is the decimal mark.
    """
    plain = re.sub("[ ']", "", digits)
    last = max(plain.rfind(","), plain.rfind("."))
    decimal = plain[last] if last >= 0 else ""
    if decimal and not ("," in plain and "." in plain):
        grouped = len(plain) - last - 1 == 3 and 1 <= last <= 3 and plain[:last] != "0"
        if plain.count(decimal) > 1 or (grouped and decimal != mark):
            decimal = ""
    integer, _, fraction = plain.partition(decimal or " ")
    step = Fraction(1, 10 ** len(fraction))
    return int(re.sub("[,.]", "", integer + fraction) or "0") * step, step


def cores(text: str, mark: DecimalMark) -> Iterator[Core]:
    """Numbers of a normalised text: those in digits first, then those in words."""
    for match in CORE.finditer(text):
        step = Fraction(0)
        if match["vulgar"]:
            part = Fraction(unicodedata.numeric(match["vulgar"][-1])).limit_denominator(10)
            value = int(match["vulgar"][:-1].strip() or 0) + part
        elif match["bottom"]:
            value = int(match["whole"] or 0) + Fraction(int(match["top"]), int(match["bottom"]))
        elif match["power"]:
            value = _power_of_ten(match["power"][2:].lstrip("^"))
        else:
            power = _power_of_ten(match["ten"] or match["exp"] or "0")
            value, step = parse_digits(match["digits"], mark)
            value, step = value * power, step * power
        yield Core(*match.span(), value, step)
    yield from spelled(text)


def _power_of_ten(exponent: str) -> Fraction:
    """1e999999999 is no number that a text means; it would only cost memory."""
    return Fraction(10) ** max(-400, min(400, int(exponent.translate(_SUPER))))


def spelled(text: str) -> Iterator[Core]:
    """Numbers in words, in order.

    A lone "one" is passed over, which is mostly a pronoun, unless it counts (one in ten); so is a
    lone scale, which heads a column (RMB million).
    """
    for match in _PHRASE.finditer(text):
        span, phrase = match.span(), match[0].lower()
        if match["ordinal"]:
            value = Fraction(ORDINALS[match["ordinal"].lower()])
            yield Core(*span, value, Fraction(1), spelled=True, ordinal=True)
        elif match["article"]:
            yield Core(*span, Fraction(1), Fraction(1, 2), spelled=True)
        elif match["lone"]:
            word = re.split(r"[ -]+", phrase)[-1]
            part = Fraction(1, _PARTS[word])
            if phrase.startswith("a ") and word in ORDINALS and _NOUN.match(text, span[1]):
                yield Core(*span, Fraction(ORDINALS[word]), Fraction(1), spelled=True, ordinal=True)
                continue
            yield Core(*span, part, Fraction(0), spelled=True)
        elif (phrase != "one" or _SHARE.match(text, span[1])) and (
            re.split(r"[ -]", phrase)[0] not in SCALES
        ):
            yield _cardinal(match)


def _cardinal(match: re.Match[str]) -> Core:
    """A cardinal with what stands behind it: "and a half million", "quarters", "first"."""
    total, group, step = Fraction(0), Fraction(0), 1
    for word in re.split(r"[ -]+", match["cardinal"].lower()):
        if word == "half":
            group = Fraction(1, 2)
        elif word in _UNITS:
            group += _UNITS[word]
            step = 10 if word in _TENS else 1
        elif word in ("hundred", "dozen"):
            group = (group or Fraction(1)) * SCALES[word]
            step = SCALES[word]
        elif word not in ("and", "a"):
            total += (group or Fraction(1)) * SCALES[word]
            group, step = Fraction(0), SCALES[word]
    value, worth = total + group, Fraction(step if group == 0 or step >= 100 else 1)
    ordinal, before = False, match.string[: match.start()]
    if _HALF.search(match[0]):
        scale = SCALES[match["scale"].strip(" -").lower()] if match["scale"] else 1
        value, worth = (value + Fraction(1, 2)) * scale, Fraction(scale, 2)
    elif match["part"] in ("hundredth", "thousandth") and value == 1 and _THE.search(before):
        value, worth, ordinal = Fraction(ORDINALS[match["part"]]), Fraction(1), True
    elif match["part"]:
        value, worth = value / _PARTS[match["part"].lower()], Fraction(0)
    elif match["last"]:
        value += ORDINALS[match["last"].lower()]
        worth, ordinal = Fraction(1), True
    return Core(*match.span(), value, worth, spelled=True, ordinal=ordinal)


@lru_cache(maxsize=1 << 15)
def words(text: str) -> frozenset[str]:
    """Content words, lower case, endings off; numbers, months and words of amounts left out."""
    spelled: list[str] = _WORD.findall(normalise(text))
    lowered = (word.lower().strip("'-") for word in spelled)
    parts = (part for word in lowered for part in word.replace("'s", "").split("-"))
    # endings off: enough to join sale and sales, increase and increased
    return frozenset(
        _ENDING.sub("", BASE_FORMS.get(part, part)) for part in parts if part and part not in _STOP
    )


def coverage(expected: frozenset[str], present: Iterable[str]) -> float:
    """Share of the expected words that are present; 0 where none are expected."""
    return len(expected & frozenset(present)) / len(expected) if expected else 0.0


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Dice coefficient of two sets of words, 0 to 1."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0
