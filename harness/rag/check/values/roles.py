"""Roles of values and names: the stretch of a sentence around one, against those of its rivals; and
the cells and values of prose that speak of the same, from which a value may follow.

"The drug arm had 12 deaths and the placebo arm had 19": what a claim says of 12 must fit the words
around 12 better than the words around 19. A question for a change, a mean or a count is answered by
that computation, or by a place that speaks of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol

from harness.rag.check.numbers import (
    Agreement,
    Cell,
    Mention,
    Period,
    Quantity,
    Source,
    agreement,
    coverage,
    fit,
    overlap,
    read,
    words,
)
from harness.rag.check.types import Finding, Verdict
from harness.rag.check.values.derivations import (
    ORDINAL,
    Derivation,
    Operand,
    asked_for,
    derive,
    each_times,
    elapsed,
    limit_of,
    meant,
    parts_of_wholes,
    question_of,
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

# Share of a row label's words from which its cells are operands.
_PROSE = 0.75
# Shares of words from which a sentence's values are operands, and from which its shares are.
_NEARBY, _SPOKEN = 0.2, 0.5
_BALANCE = words("income revenue revenues turnover sales costs expenses spending")
_RESULT = re.compile(r"\b(?:profit|loss|surplus|deficit|result)\b", re.IGNORECASE)
_EACH = re.compile(r"\b(?:each|apiece|per)\b", re.IGNORECASE)
_HALVED = re.compile(r"\b(?:equally|evenly|half each)\b", re.IGNORECASE)
# Share of the words of a column's heading that a question must have to speak of all its cells.
_HEADED = 0.5


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
    for index, (start, _) in enumerate(spans):
        before = stretches[-1] if stretches else Part((), frozenset(), False, (), "")
        lead = _LEAD.search(text[cuts[index] : start])
        begin = spans[index - 1][0] if index and joined[index - 1] else cuts[index]
        tokens = text[begin:start].split()
        ahead = tuple(word for token in tokens for word in words(token))
        following = behind[index + 1] if any(listed[index : index + 1]) else frozenset[str]()
        after = behind[index] or before.behind or following
        within = [date for date in dates if cuts[index] <= date.start < cuts[index + 1]]
        if index + 1 < len(spans) and not within and not before.periods:  # 40 and 25 in 2018
            end, cut = spans[index + 1][1], cuts[index + 2]
            within = [date for date in dates if end <= date.start < cut]
        periods = tuple(date for date in within if date.start != start) or before.periods
        word = lead[1].lower() if lead else ""
        if period := ordered[index]:
            periods = (period,)
        stretches.append(Part(ahead or before.ahead, after, not ahead, periods, word))
    return tuple(stretches)


def rival_owner(
    claim: Part,
    stretches: Sequence[Part],
    index: int,
    rivals: Iterable[int],
    topic: frozenset[str] = frozenset(),
) -> int:
    """The rival that fits the claim's words better than the value at `index` does, or -1.

    As many words are compared as the shorter stretch has before its value: what the other has
    more, the shorter one may have left out. Words of the topic tell nothing apart.
    """
    part, about = stretches[index], frozenset(claim.ahead) | claim.behind
    for rival in rivals:
        rival_part = stretches[rival]
        count = min(len(part.ahead), len(rival_part.ahead))
        own_words, rival_words = part.near(count), rival_part.near(count)
        if rival < index and part.behind < rival_part.behind:
            rival_words -= rival_part.behind  # that it leaves out as well
        nouns = about - DIRECTION.keys()  # what rises or falls is another question
        more, retained = (
            len(nouns & (rival_words - own_words)),
            len(nouns & (own_words - rival_words)),
        )
        continued = (
            about & (rival_words - own_words) - topic and rival > index and rival_part.continued
        )
        if continued and (not part.behind or part.behind - rival_part.behind - about):
            return rival
        shortened = (
            rival > index and not rival_part.continued and len(rival_part.ahead) <= len(part.ahead)
        )
        if more and (more > retained or (shortened and more == retained)):
            return rival
        fits = [fit(claim.periods, stretch.periods) for stretch in (part, rival_part)]
        if fits[1] is Agreement.SAME and fits[0] is not Agreement.SAME:
            return rival
        if claim.lead and part.lead and claim.lead == rival_part.lead != part.lead:
            return rival
    return -1


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


def statement_of(value: Mention, sentence: str) -> Statement:
    mentions = read(sentence)
    kind = [mention for mention in mentions if isinstance(mention, type(value))]
    spans = tuple((mention.start, mention.end) for mention in kind) or ((value.start, value.end),)
    index = next((n for n, span in enumerate(spans) if span[0] >= value.start), 0)
    periods = (mention for mention in mentions if isinstance(mention, Period))
    other_periods = tuple(period for period in periods if period.text != value.text)
    part = parts(sentence, spans)[index]
    if RELATIVE.search(sentence):  # which year "the year before" is stands elsewhere
        other_periods, part = (), part._replace(periods=())
    return Statement(value, sentence, words(sentence), other_periods, part, len(spans) > 1)


def speaks_of(cell: Cell, statement: Statement) -> float:
    """Share of the words of a cell's row that a statement has; of a label without content words
    ("Other"), whether it stands there. Of "Widget 39", none where it names another widget."""
    for noun, token in _NUMBERED.findall(cell.row):
        numbers = {number for word, number in _NUMBERED.findall(statement.sentence) if word == noun}
        if numbers and token not in numbers:
            return 0.0
    if statement.question and not cell.row:
        headings = (cell.row_words, words(cell.column))
        return max(coverage(heading, statement.words) for heading in headings)
    if cell.row_words:
        return coverage(cell.row_words, statement.words)
    label = rf"\b{re.escape(cell.row)}(?!\w)"
    flags = re.IGNORECASE if len(cell.row) > 1 else re.NOFLAG  # "A" is no article
    return float(bool(cell.row and re.search(label, statement.sentence, flags)))


def share_of(about: frozenset[str], line: Spoken) -> float:
    """Share of the words that a line has; what stands around it counts half."""
    around = len(about & (line.context - line.words)) * _CONTEXT
    return (len(about & line.words) + around) / len(about) if about else 0.0


def over_a_line(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """Compute from a whole row or column: how many cells are beyond a limit, their sum or mean."""
    operations, limit = asked_for(statement.question), limit_of(statement.question)
    sole = operations in ({"sum"}, {"mean"}, {"sum", "mean"})  # no part of a further computation
    operations = operations - {"sum"} if "mean" in operations else operations
    for line in _lines(statement, source.cells) if limit or sole else ():
        total = sum((cell.value.value for cell in line), Fraction(0))
        results = {
            name: replace(line[0].value, value=amount, step=Fraction(0), alternatives=())
            for name, amount in (("sum", total), ("mean", total / len(line)))
        }
        if limit:
            sign, least = limit
            scaled = least.scale > 1 or least.unit
            numbers = [cell.value if scaled else cell.plain for cell in line]
            count = sum(sign * number.value > sign * least.value for number in numbers)
            results, operations = {"count": Quantity(Fraction(count), Fraction(1))}, {"count"}
        for name in results.keys() & operations:
            if agreement(value, results[name]) is Agreement.SAME:
                spans = [source.line(cell) for cell in line]
                reason = f"{name}: {', '.join(cell.plain.text for cell in line)}"
                return source.finding(Verdict.DERIVED, spans, reason, 0.75)
    return None


def _lines(statement: Statement, cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Rows that a question speaks of best, and columns without totals, whole and by section."""
    rows: dict[tuple[int, int], list[Cell]] = defaultdict(list)
    columns: dict[tuple[int, int, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        dated = fit(statement.periods, cell.periods)
        if dated is not Agreement.DIFFERENT:
            rows[cell.table, cell.place[0]].append(cell)
            headed = coverage(words(cell.column), statement.words) >= _HEADED
            relevant = (headed or dated is Agreement.SAME) and not cell.is_total
            for section in {"", cell.section} if relevant else ():
                columns[cell.table, cell.place[1], section].append(cell)
    spoken = [(speaks_of(row[0], statement), row) for row in rows.values()]
    best = max((share for share, _ in spoken), default=0.0)
    yield from (row for share, row in spoken if share >= max(_HEADED, best))
    yield from columns.values()


def derive_from_cells(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over cells that the sentence speaks of."""
    shares = [(speaks_of(cell, statement), cell) for cell in source.cells]
    near = statement.question and all(share < _PROSE for share, _ in shares)
    least = _SPOKEN if near else _PROSE
    spoken = [cell for share, cell in shares if share >= least]
    if statement.question and (not spoken or "share" in asked_for(statement.question)):
        spoken += [cell for cell in source.cells if cell.is_total and cell not in spoken]
    spoken.sort(
        key=lambda cell: (
            -overlap(statement.words, cell.row_words),
            fit(statement.periods, cell.periods) is not Agreement.SAME,
        )
    )
    scaled, plain = (
        [
            Operand(
                number, cell.plain.text, cell.row_words, cell.periods, source.line(cell),
                (cell.table, *cell.place),
            )
            for cell, number in zip(spoken, numbers, strict=True)
        ]
        for numbers in ([cell.value for cell in spoken], [cell.plain for cell in spoken])
    )  # fmt: skip
    pools = [scaled]
    if value.unit == "" and value.scale == 1:  # as the table prints them
        pools.append(plain)
    sentence = statement.sentence
    periods = () if any(period.until for period in statement.periods) else statement.periods
    derived = (derive(value, sentence, pool, periods=periods) for pool in pools)
    finding = _derived(next(filter(None, derived), None), source)
    return finding or (over_a_line(statement, value, source) if statement.question else None)


def _derived(derivation: Derivation | None, source: Source) -> Finding | None:
    if derivation is None:
        return None
    reason = f"{derivation.operation}: {derivation.formula}"
    lines = sorted({operand.line for operand in derivation.operands})
    return source.finding(Verdict.DERIVED, lines, reason, 0.85)


def derive_from_prose(statement: Statement, value: Quantity, source: Source) -> Finding | None:
    """A computation over values of sentences that speak of the same."""
    about = statement.words
    operands: list[tuple[float, Operand]] = []
    dates: list[Operand] = []
    shares: list[Operand] = []
    context = ""
    for sentence in source.sentences:
        share = share_of(about, sentence)
        if _RESULT.search(statement.sentence) and len(_BALANCE & sentence.words) > 1:
            share = 1.0  # income and costs give a profit
        elif not about & sentence.words or share < _NEARBY:
            continue
        context += sentence.text if share >= _SPOKEN else ""
        line = (sentence.start, sentence.end)
        values = [mention for mention in sentence.mentions if isinstance(mention, Quantity)]
        stretches = parts(sentence.text, tuple((amount.start, amount.end) for amount in values))
        for amount, part in zip(values, stretches, strict=True):
            near = part.near(len(part.ahead))
            bonus = fit(statement.periods, part.periods) is Agreement.SAME
            rank = share + coverage(about, near) + 0.5 * bonus
            units = [reading.unit for reading in (value, *value.alternatives)]
            fitting = (
                reading for reading in (amount, *amount.alternatives) if reading.unit in units
            )
            stated = next(fitting, amount)  # cents of the claimed currency
            numbered = amount.unit[:1] == "#" or (amount.value >= 1 and ORDINAL.search(amount.text))
            for end in () if numbered else {stated.value, stated.high or stated.value}:
                number = replace(stated, value=end, high=None)
                operand = Operand(number, amount.text, near, part.periods, line)
                operands.append((rank, operand))
                is_part = number.unit == "" and number.step == 0 and number.value < 1
                if share >= _SPOKEN and number.value > 0 and (number.unit == "%" or is_part):
                    shares.append(operand)
        dates += [
            Operand(
                Quantity(Fraction(0), Fraction(0)), period.text, sentence.words, (period,), line
            )
            for period in sentence.periods
        ]
    operands.sort(key=lambda pair: -pair[0])
    ranked = [operand for _, operand in operands]
    if ranked and _HALVED.search(context):
        half = Quantity(Fraction(1, 2), Fraction(0))
        shares.append(ranked[0]._replace(value=half, plain="half"))
        if agreement(value, half) is Agreement.SAME:
            return _derived(Derivation("share", "equally", (shares[-1],)), source)
    spans_time = value.unit == "year" or "difference" in meant(statement.sentence, prose=True)
    readings = (value, *value.alternatives)
    computed = (derive(reading, statement.sentence, ranked, context) for reading in readings)
    return _derived(
        next(filter(None, computed), None)
        or parts_of_wholes(value, shares, ranked)
        or (each_times(value, ranked) if _EACH.search(context) else None)
        or (elapsed(value, dates) if spans_time else None),
        source,
    )
