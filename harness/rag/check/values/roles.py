"""Roles of values and names: the stretch of a sentence around one, against those of its rivals.

"The drug arm had 12 deaths and the placebo arm had 19": what a claim says of 12 must fit the words
around 12 better than the words around 19.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol

from harness.rag.check.numbers import (
    Agreement,
    Cell,
    Mention,
    Period,
    agreement,
    coverage,
    read,
    words,
)
from harness.rag.check.wording import DIRECTION

# Where a stretch ends between two values, the strongest first.
_CUTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[;:]\s",
        r",\s|\s[(\u2013\u2014]|\)\s",
        r"\b(?:and|but|while|whereas|or|against|than|compared|versus|when|where|who|which)\b",
    )
)
# What a word counts that the sentence before has, or the first one of the document.
_CONTEXT = 0.5
RELATIVE = re.compile(
    r"\b(?:year|month|quarter) (?:before|after|earlier|later)\b"
    r"|\b(?:previous|following|preceding|next) (?:year|month|quarter)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?:,|\s|and|or|to)*")
_NUMBERED = re.compile(
    r"\b([^\W\d_]{2,})[ -]#?((?!(?:19|20)\d\d\b)\d+[A-Za-z]?|[A-Z]{1,4}-\d+|[A-Z]\d*)\b"
)
_LEAD = re.compile(r"\b(from|to|by|against|before|after|since|until)\s+$", re.IGNORECASE)


class Spoken(Protocol):
    """A stretch of a document: its content words, and those of what stands around it."""

    @property
    def words(self) -> frozenset[str]: ...
    @property
    def context(self) -> frozenset[str]: ...


class Part(NamedTuple):
    """The stretch around one value.

    Attributes:
        ahead: words before the value, in order; those of the stretch before, where it has none.
        behind: words behind it; those of the stretch before, where it has none, or of the next, to
            which "and" joins it.
        continued: whether it has no word before its value: "47% died in warm winters and 29% ..."
        periods: that are named in it or, where there is none, before it.
        lead: "from", "to", "before" and the like right before the value.
    """

    ahead: tuple[str, ...]
    behind: frozenset[str]
    continued: bool
    periods: tuple[Period, ...]
    lead: str

    def near(self, count: int) -> frozenset[str]:
        """The last words before the value, and those behind it."""
        return frozenset(self.ahead[len(self.ahead) - count :]) | self.behind


@lru_cache(maxsize=1 << 14)
def parts(text: str, spans: tuple[tuple[int, int], ...]) -> tuple[Part, ...]:
    """The stretches around values at `spans` of a sentence, one for each."""
    cuts = [0]
    listed = [bool(_LISTED.fullmatch(text, end, start)) for (_, end), (start, _) in pairwise(spans)]
    for (_, end), (start, _) in pairwise(spans):
        matches = (pattern.search(text, end, start) for pattern in _CUTS)
        cuts.append(next((match.start() for match in matches if match), end))
    cuts = [*cuts[: len(spans)], len(text)]
    joined = [cut == end for cut, (_, end) in zip(cuts[1:], spans, strict=True)]
    behind = [words(text[end:cut]) for cut, (_, end) in zip(cuts[1:], spans, strict=True)]
    dates = [mention for mention in read(text) if isinstance(mention, Period)]
    ordered: list[Period | None] = [None] * len(spans)
    if "respectively" in text and len(dates) >= len(spans):  # 5, 6 and 7 in 2019, 2018 and 2017
        ordered = list(dates[-len(spans) :])
    stretches: list[Part] = []
    for place, (start, _) in enumerate(spans):
        before = stretches[-1] if stretches else Part((), frozenset(), False, (), "")
        lead = _LEAD.search(text[cuts[place] : start])
        begin = spans[place - 1][0] if place and joined[place - 1] else cuts[place]
        tokens = text[begin:start].split()
        ahead = tuple(word for token in tokens for word in words(token))
        following = behind[place + 1] if any(listed[place : place + 1]) else frozenset[str]()
        after = behind[place] or before.behind or following
        within = [date for date in dates if cuts[place] <= date.start < cuts[place + 1]]
        if place + 1 < len(spans) and not within and not before.periods:  # 40 and 25 in 2018
            end, cut = spans[place + 1][1], cuts[place + 2]
            within = [date for date in dates if end <= date.start < cut]
        periods = tuple(date for date in within if date.start != start) or before.periods
        word = lead[1].lower() if lead else ""
        if named := ordered[place]:
            periods = (named,)
        stretches.append(Part(ahead or before.ahead, after, not ahead, periods, word))
    return tuple(stretches)


def rival_owner(
    claim: Part,
    stretches: Sequence[Part],
    place: int,
    rivals: Iterable[int],
    topic: frozenset[str] = frozenset(),
) -> int:
    """The rival that fits the claim's words better than the value at `place` does, or -1.

    As many words are compared as the shorter stretch has before its value: what the other has
    more, the shorter one may have left out. Words of the topic tell nothing apart.
    """
    own, about = stretches[place], frozenset(claim.ahead) | claim.behind
    for rival in rivals:
        other = stretches[rival]
        count = min(len(own.ahead), len(other.ahead))
        ours, theirs = own.near(count), other.near(count)
        if rival < place and own.behind < other.behind:
            theirs -= other.behind  # that it leaves out as well
        nouns = about - DIRECTION.keys()  # what rises or falls is another question
        more, kept = len(nouns & (theirs - ours)), len(nouns & (ours - theirs))
        continued = about & (theirs - ours) - topic and rival > place and other.continued
        if continued and (not own.behind or own.behind - other.behind - about):
            return rival
        shortened = rival > place and not other.continued and len(other.ahead) <= len(own.ahead)
        if more and (more > kept or (shortened and more == kept)):
            return rival
        fits = [fit(claim.periods, stretch.periods) for stretch in (own, other)]
        if fits[1] is Agreement.SAME and fits[0] is not Agreement.SAME:
            return rival
        if claim.lead and own.lead and claim.lead == other.lead != own.lead:
            return rival
    return -1


def fit(claimed: Sequence[Period], stated: Sequence[Period]) -> Agreement:
    """Compare the periods of a claim with those of a place; years decide where both name one."""
    claimed_years = [period for period in claimed if period.year]
    stated_years = [period for period in stated if period.year]
    if claimed_years and stated_years:
        claimed, stated = claimed_years, stated_years
    best = Agreement.INCOMPARABLE
    for claim in claimed:
        for period in stated:
            verdict = agreement(claim, period)
            if Agreement.SAME in (verdict, agreement(period, claim)):
                return Agreement.SAME
            best = Agreement.DIFFERENT if verdict is Agreement.DIFFERENT else best
    return best


@dataclass(frozen=True)
class Statement:
    """A claimed value with what its sentence says around it."""

    value: Mention
    sentence: str
    words: frozenset[str]
    periods: tuple[Period, ...]
    part: Part
    several: bool

    @property
    def question(self) -> str:
        """See :func:`question_of`."""
        return question_of(self.sentence)


def question_of(sentence: str) -> str:
    """The question that stands before a bare answer; "" before none."""
    question, mark, _ = sentence.partition("? ")
    return question if mark else ""


def statement_of(value: Mention, sentence: str) -> Statement:
    mentions = read(sentence)
    kind = [mention for mention in mentions if isinstance(mention, type(value))]
    spans = tuple((mention.start, mention.end) for mention in kind) or ((value.start, value.end),)
    place = next((n for n, span in enumerate(spans) if span[0] >= value.start), 0)
    periods = (mention for mention in mentions if isinstance(mention, Period))
    named = tuple(period for period in periods if period.text != value.text)
    part = parts(sentence, spans)[place]
    if RELATIVE.search(sentence):  # which year "the year before" is stands elsewhere
        named, part = (), part._replace(periods=())
    return Statement(value, sentence, words(sentence), named, part, len(spans) > 1)


def speaks_of(cell: Cell, statement: Statement) -> float:
    """Share of the words of a cell's row that a statement has; of a label without content words
    ("Other"), whether it stands there. Of "Widget 39", none where it names another widget."""
    for noun, token in _NUMBERED.findall(cell.row):
        named = {other for word, other in _NUMBERED.findall(statement.sentence) if word == noun}
        if named and token not in named:
            return 0.0
    if statement.question and not cell.row:
        headings = (cell.row_words, words(cell.column))
        return max(coverage(heading, statement.words) for heading in headings)
    if cell.row_words:
        return coverage(cell.row_words, statement.words)
    label = rf"\b{re.escape(cell.row)}(?!\w)"
    flags = re.IGNORECASE if len(cell.row) > 1 else re.NOFLAG  # "A" is no article
    return float(bool(cell.row and re.search(label, statement.sentence, flags)))


def label_at(statement: Statement) -> str:
    """The noun with the number behind it that the value is part of ("Widget 39"), or ""."""
    start = statement.value.start
    matches = _NUMBERED.finditer(statement.sentence)
    return next((match[0] for match in matches if match.start(2) <= start < match.end(2)), "")


def share_of(about: frozenset[str], line: Spoken) -> float:
    """Share of the words that a line has; what stands around it counts half."""
    around = len(about & (line.context - line.words)) * _CONTEXT
    return (len(about & line.words) + around) / len(about) if about else 0.0
