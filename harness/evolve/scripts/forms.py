"""Values that a text states, in the forms in which programs hold them.

People write "3 June 2026", "1.2 seconds" or "a dozen" where a program holds "2026-06-03", 1200 or
12. Every form has a pattern, and what programs make of it: a reading. Two texts state values of the
same sort if a form and a reading fit both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import product

Scalar = str | int | float
Readings = dict[str, Scalar]
"""Name of a reading -> the constant of a program."""


TEXTS = frozenset(("quoted", "file", "name", "word"))
"""Forms of mentions that are texts as they stand."""


@dataclass(frozen=True, eq=False)
class Mention:
    """A value in a text.

    Attributes:
        start: of the value in the text.
        end: behind it.
        form: that it is written in.
        readings: as programs hold it.
    """

    start: int
    end: int
    form: str
    readings: Readings


_MONTHS = "January February March April May June July August September October November December"
MONTHS = {name[:3].lower(): number for number, name in enumerate(_MONTHS.split(), 1)}
_MONTH = rf"(?P<name>(?:{'|'.join(name[:3] for name in _MONTHS.split())})[a-z]*)\.?"
_YEAR, _DAY = r"(?P<year>(?:19|20)\d\d)", r"(?P<day>\d{1,2})"
_NUMBERED = r"(?P<month>\d{1,2})"
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {
    **{word: number for number, word in enumerate(_WORDS.split())},
    **{"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100},
    **{
        "a dozen": 12,
        "dozen": 12,
        "half a": 0.5,
        "half an": 0.5,
        "half": 0.5,
        "once": 1,
        "twice": 2,
    },
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "a week": 7, "a day": 1},
    **{"a fortnight": 14, "an hour": 60, "a quarter of": 0.25, "a month": 30, "a year": 365},
}
SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "mio": 1e6, "hundred": 100.0}
_UNITS = {
    "time": (
        (0.001, "ms milliseconds millisecond millis msec"), (1, "s sec secs second seconds"),
        (60, "min mins minute minutes"), (3600, "h hr hrs hour hours"), (86400, "d day days"),
        (604800, "week weeks"),
    ),
    "size": ((1, "b bytes byte"), (1e3, "kb"), (1e6, "mb"), (1e9, "gb"), (1024, "kib"),
             (1048576, "mib"), (1073741824, "gib")),
    "length": ((0.001, "mm"), (0.01, "cm"), (1, "m metres meters"), (1000, "km kilometres")),
    "mass": ((0.001, "mg"), (1, "g grams gram"), (1000, "kg kilos kilograms"), (1e6, "t tonnes")),
    "money": ((0.01, "cents cent ct"), (1, "euro euros eur € $ dollars usd £ pounds")),
}  # fmt: skip
UNITS = {
    word: (sort, factor)
    for sort, rows in _UNITS.items()
    for factor, words in rows
    for word in words.split()
}
UNIT_NAMES = {
    "time 0.001": "milliseconds", "time 1": "seconds", "time 60": "minutes", "time 3600": "hours",
    "time 86400": "days", "size 1e+06": "megabytes", "mass 1": "grams", "mass 1000": "kilograms",
}  # fmt: skip
PERCENT = r"%|percent\b|per cent\b|pct\b"
_NUMBER = (
    r"(?<![\w.,/-])(?P<sign>[-+\u2212]?)(?:[€$£]\s?)?"
    r"(?P<number>\d{1,3}(?:[,'\u202f ]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)(?!\d|\.\d)"
    r"(?:st|nd|rd|th)?"
)
_ANY_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_UNIT = rf"(?P<unit>{PERCENT}|(?:{_ANY_UNIT})(?!\w))"
_TAIL = rf"(?:\s?(?P<scale>k|m|mio|thousand|million)\b)?(?:[\s-]?{_UNIT})?"
WORD = re.compile(r"[^\W_]+(?:[._@/:+'\u2019-]+[^\W_]+|_[^\W_]+)*")
FILE = re.compile(r"[\w-]+(?:[./][\w-]+)*\.[A-Za-z]\w{1,4}(?!\w)")
QUOTED = re.compile(
    r"(?<!\w)'([^'\n]{1,80})'(?!\w)|\"([^\"\n]{1,80})\"|`([^`\n]{1,80})`"
    r"|[“„«]([^”“»\n]{1,80})[”“»]"
)
_CAPITAL = r"[A-Z0-9][\w'\u2019.+-]*"
NAME = re.compile(
    rf"(?<![\w.]){_CAPITAL}(?:(?: (?:&|and|of|the|de|von|van|for|zu|der) | )(?:{_CAPITAL}))*"
)
# Longest name, in words.
LONGEST = 6
LINK = re.compile(r"\s*(?:,\s*(?:and|or)\b|[,;/&+]|\band\b|\bor\b|\bas well as\b)\s*")
DAYS = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y%m%d", "%d %B %Y", "%B %d, %Y",
    "%d %b %Y", "%Y-%m", "%m-%d", "%d-%m-%Y", "%d-%b-%Y", "%d/%b/%Y", "%b %d",
)  # fmt: skip
MONTH_TEXTS = ("%Y-%m", "%m/%Y", "%Y%m", "%Y/%m", "%B %Y", "%b %Y", "%m.%Y", "%b/%Y", "%B", "%b")


def dated(day: datetime, formats: Iterable[str], parts: str) -> Readings:
    texts = {form: day.strftime(form) for form in formats}
    return texts | {part: getattr(day, part) for part in parts.split()}


def read_day(match: re.Match[str]) -> Iterator[Readings]:
    """The readings of a date; two where the day and the month may be exchanged."""
    got = match.groupdict()
    if got.get("name"):
        numbers = [(MONTHS[got["name"][:3].lower()], int(got["day"]))]
    else:
        numbers = [(int(got["month"]), int(got["day"]))]
        numbers += [numbers[0][::-1]] * ("-" not in match[0] and numbers[0][0] != numbers[0][1])
    for month, number in numbers:
        with suppress(ValueError):
            yield dated(datetime(int(got["year"]), month, number), DAYS, "year month day")


def read_month(match: re.Match[str]) -> Iterator[Readings]:
    got = match.groupdict()
    month = MONTHS[got["name"][:3].lower()] if got.get("name") else int(got["month"])
    if 1 <= month <= 12:
        yield dated(datetime(int(got["year"]), month, 1), MONTH_TEXTS, "year month")


def read_month_name(match: re.Match[str]) -> Iterator[Readings]:
    day = datetime(2000, MONTHS[match["name"][:3].lower()], 1)
    yield dated(day, ("%m", "%B", "%b", "-%m-"), "month")


def read_clock(match: re.Match[str]) -> Iterator[Readings]:
    half = (match["half"] or "").lower().replace(".", "")
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    if hour < 24 and minute < 60 and (half or match["minute"]):
        texts = {"%H:%M": f"{hour:02}:{minute:02}", "%H:%M:%S": f"{hour:02}:{minute:02}:00"}
        yield {**texts, "hour": hour, "minute": minute, "minutes": 60 * hour + minute}


def read_number(match: re.Match[str]) -> Iterator[Readings]:
    got = match.groupdict()
    if word := got.get("word"):
        value = float(NUMBER_WORDS[" ".join(word.lower().split())])
    else:
        value = float(re.sub(r"[,'\u202f ]", "", got["number"]))
        value *= -1 if got.get("sign") in ("-", "\u2212") else 1
    value *= SCALES.get((got.get("scale") or "").lower(), 1)
    readings: Readings = {"number": plain(value)}
    if not word:
        readings |= {"digits": got["number"], "text": str(plain(value))}
    unit = (got.get("unit") or "").lower()
    if re.fullmatch(PERCENT, unit):
        readings = {"percent": plain(value), **readings}
    elif unit in UNITS:
        sort, factor = UNITS[unit]
        for to in {factor for factor, _ in _UNITS[sort]}:
            readings[f"{sort} {to:g}"] = plain(round(value * factor / to, 9))
    yield readings


def plain(value: float) -> int | float:
    """A number without a fraction that is none."""
    return int(value) if value == int(value) else value


FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], Iterator[Readings]]], ...] = (
    *(
        ("date", re.compile(rf"(?<![\w.]){pattern}(?!\w)", re.IGNORECASE), read_day)
        for pattern in (
            rf"{_YEAR}[-/.](?P<month>\d\d?)[-/.]{_DAY}", rf"{_DAY}[./-]{_NUMBERED}[./-]{_YEAR}",
            rf"{_DAY}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
            rf"{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        )
    ),
    *(
        ("month", re.compile(rf"(?<![\w./-]){pattern}(?![\w/-])", re.IGNORECASE), read_month)
        for pattern in (
            rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", rf"{_YEAR}[-/]{_NUMBERED}",
            rf"{_NUMBERED}[/.]{_YEAR}",
        )
    ),
    ("month name", re.compile(rf"\b{_MONTH}(?!\w)"), read_month_name),
    (
        "time",
        re.compile(
            r"(?<![\w:.])(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?P<half>[ap]\.?m\.?)?(?![\w:])",
            re.IGNORECASE,
        ),
        read_clock,
    ),
    ("number", re.compile(_NUMBER + _TAIL, re.IGNORECASE), read_number),
    # Of `p95` the number is what a task chose.
    ("number", re.compile(r"(?<![\w.])[A-Za-z]{1,2}(?P<number>\d+)(?!\w)"), read_number),
    (
        "number",
        re.compile(
            rf"\b(?P<word>{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b"
            rf"(?:[\s-]{_UNIT})?",
            re.IGNORECASE,
        ),
        read_number,
    ),
)  # fmt: skip


def texts_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Stretches of a text that a program may hold as a text: (start, end, form)."""
    for match in QUOTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        yield start, end, "quoted"
    for match in FILE.finditer(text):
        yield *match.span(), "file"
    for match in NAME.finditer(text):
        words = list(re.finditer(r"\S+", match[0]))
        for first, last in product(range(len(words)), repeat=2):
            if 0 <= last - first < LONGEST and words[first][0][0].isupper() | (first == last):
                start, end = match.start() + words[first].start(), match.start() + words[last].end()
                yield (
                    start,
                    end - len(text[start:end]) + len(text[start:end].rstrip(".,'\u2019")),
                    "name",
                )
    for match in WORD.finditer(text):
        yield *match.span(), "word"
        if re.search(r"[./:@-]", match[0]):
            for part in re.finditer(r"\w+", match[0]):
                yield match.start() + part.start(), match.start() + part.end(), "word"


def spelled(value: str) -> Readings:
    """A text as programs may spell it."""
    readings: Readings = {"exact": value, "lower": value.lower(), "upper": value.upper()}
    readings |= {"capital": value[:1].upper() + value[1:], "title": value.title()}
    readings |= {"snake": re.sub(r"[\s-]+", "_", value.lower()), "dash": value.replace(" ", "-")}
    if len(value) > 3 and value.endswith("s"):
        readings["singular"] = value[:-1]
    return readings


@cache
def mentions(text: str) -> tuple[Mention, ...]:
    """Every value that a text states, in every form that it may have; stretches may overlap."""
    stated: dict[tuple[int, int, str, str], Mention] = {}
    for form, pattern, read in FORMS:
        for match in pattern.finditer(text):
            for readings in read(match):
                key = (*match.span(), form, repr(readings))
                stated[key] = Mention(*match.span(), form, readings)
    for start, end, form in texts_in(text):
        if start < end:
            stated.setdefault(
                (start, end, "text", ""), Mention(start, end, form, spelled(text[start:end]))
            )
    return tuple(sorted(stated.values(), key=lambda mention: (mention.start, mention.end)))


@cache
def enumerations(text: str) -> tuple[tuple[Mention, ...], ...]:
    """Texts, or numbers, that a text enumerates: each with at least two members."""
    listed: list[tuple[Mention, ...]] = []
    for forms in (("quoted",), ("name",), ("word", "file"), ("number",)):
        candidates = [m for m in mentions(text) if m.form in forms]
        candidates = [m for m in candidates if m.form != "name" or not text[m.start].isdigit()]
        following = dict[int, list[Mention]]()
        for mention in candidates:
            following.setdefault(mention.start, []).append(mention)
        after = {m: linked(m, text, following) for m in candidates}
        later = set(after.values())
        for mention in candidates:
            run = [mention]
            while (member := after[run[-1]]) is not None:
                run.append(member)
            if len(run) > 1 and mention not in later:
                listed.append(tuple(run))
    return tuple(listed)


def linked(
    mention: Mention, text: str, starting: Mapping[int, Sequence[Mention]]
) -> Mention | None:
    """The shortest of the values that begin where the link behind a value ends."""
    quote = mention.form == "quoted"
    if (link := LINK.match(text, mention.end + quote)) is None:
        return None
    return min(starting.get(link.end() + quote, ()), key=lambda m: m.end, default=None)


def states(text: str, value: object) -> bool:
    """Return True if a text states a constant of a program, in any form."""
    if isinstance(value, str) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.I):
        return True
    return any(
        (type(reading) is type(value) and reading == value)
        or (isinstance(value, float) and name == "percent" and share_of(value, reading))
        for mention in mentions(text)
        for name, reading in mention.readings.items()
    )


def share_of(value: float, percent: Scalar) -> str:
    """How a constant comes from a percentage, as an expression of `{}`; "" if it does not."""
    if isinstance(percent, str):
        return ""
    ways = {
        "{} / 100": percent / 100,
        "1 + {} / 100": 1 + percent / 100,
        "1 - {} / 100": 1 - percent / 100,
    }
    return next((way for way, share in ways.items() if abs(share - value) < 1e-9), "")
