"""What a clause says otherwise than a sentence with the same words: negation, opposite words,
scope, rank, plans, and who did it to whom."""

from __future__ import annotations

import re
from itertools import pairwise

from harness.rag.check.claims import NEGATION, clauses, names
from harness.rag.check.numbers import coverage, read, words
from harness.rag.check.values import direction

# Share of the words that a clause must have to be denied by a negation, or to be what is planned;
# and the part of that share from which another clause speaks of the same.
_COPIED, _CLOSE, _WHOLE = 0.6, 0.8, 0.8
_PAIRS = """
first/last above/below more/fewer more/less higher/lower larger/smaller largest/smallest
longer/shorter longest/shortest older/younger oldest/newest oldest/youngest highest/lowest
fastest/slowest faster/slower open/close won/lost approved/rejected accepted/rejected
bought/sold buy/sell profit/loss surplus/deficit rare/frequent rarer/frequent rarer/common
permitted/banned allowed/banned north/south east/west start/end began/end public/private
men/women male/female boys/girls warm/cold hot/cold black/white red/white day/night
winter/summer success/failure uphill/downhill upward/downward upstream/downstream ahead/behind
inside/outside advanced/retreated grew/retreated grew/shrank filled/vacant full/empty
supported/opposed privatised/nationalised imports/exports arrived/departed
began/ended began/completed begin/finish started/completed started/finished started/stopped
opened/closed introduced/abolished built/demolished erected/demolished appointed/dismissed
hired/dismissed joined/left entered/left gained/lost lent/borrowed strengthened/weakened
improved/worsened cheaper/dearer richer/poorer heavier/lighter deeper/shallower thicker/thinner
wider/narrower hotter/colder warmer/colder wetter/drier stronger/weaker better/worse
majority/minority minimum/maximum voluntary/compulsory domestic/foreign urban/rural
temporary/permanent mandatory/optional indoors/outdoors upper/lower inner/outer left/right
front/rear ancient/modern morning/evening guilty/innocent present/absent odd/even import/export
lengthened/shortened tightened/loosened raised/lowered hidden/visible positive/negative
"""
_OPPOSITES = tuple(words(pair.replace("/", " ")) for pair in _PAIRS.split())
_ALL = re.compile(r"\b(?:all|every|each|always|entire(?:ly)?|none|both)\b", re.IGNORECASE)
_SOME = re.compile(
    r"\b(?:some|most|many|part(?:ly)?|half|only|alone|except|several|few|of which|of whom|other|"
    r"\w+ of (?:its|the|their|them|which|whom))\b",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:plan(?:s|ned)?|not yet|applied for|due to|expect(?:s|ed)?|should|propos(?:es|ed)|"
    r"intend(?:s|ed)?|"
    r"is to|are to|will|would|under construction|might|could|recommends?)\b",
    re.IGNORECASE,
)
_DONE = re.compile(r"\b(?:has|have|had|was|were|did|\w{3,}ed)\b", re.IGNORECASE)
_LASTING = re.compile(r"\b(?:same|unchanged|remain\w*|going on|continu\w*)\b", re.IGNORECASE)
_NOUN = re.compile(r" ([a-z]+)")
_RANKED = re.compile(r"\b(second|third|fourth|fifth|\d+(?:nd|rd|th))[ -](\w+est)\b", re.IGNORECASE)


def difference(clause: str, sentence: str, *, compound: bool = False) -> str:
    """What a sentence about the same says otherwise than a clause of a claim, or "".

    Negations and plans of a compound claim belong to its clauses, and are not looked at.
    """
    said, stated = words(clause), words(sentence)
    spans = clauses(sentence)
    subject = words(sentence[slice(*spans[0])])  # of the clauses behind it, as well
    shares = {
        sentence[start:end]: coverage(said, words(sentence[start:end]) | subject)
        for start, end in spans
    }
    best = max(shares.values())
    near = [part for part, share in shares.items() if share >= _CLOSE * best]
    negated = bool(NEGATION.search(clause))
    lasting = _LASTING.search(sentence if negated else clause)  # it goes on: it is not over
    if (
        not (compound or lasting)
        and best >= _COPIED
        and all(bool(NEGATION.search(part)) != negated for part in near)
    ):
        return "the opposite negation"
    if not (compound or negated) and coverage(said, stated) >= _WHOLE:
        for part in shares:  # "destroyed the stage but not the hall"
            scope = NEGATION.search(part)
            if scope and words(part[scope.end() :]) and words(part[scope.end() :]) <= said:
                return "the opposite negation"
    if opposite := opposed(said, stated):
        return opposite
    if direction(said) * direction(stated) < 0:
        return "the opposite direction"
    counts = (
        match for part in near for each in read(part) if (match := _NOUN.match(part, each.end))
    )
    counted = any(said & words(match[1]) for match in counts)  # nine turbines are not all
    some = any((counted or _SOME.search(part)) and not _ALL.search(part) for part in near)
    if _ALL.search(clause) and some:
        return "not all"
    planned = not compound and best >= _COPIED and all(_PLANNED.search(part) for part in near)
    if planned and _DONE.search(clause) and not _PLANNED.search(clause):
        return "it is planned"
    for rank, best in _RANKED.findall(sentence):
        if re.search(rf"\b{best}\b", clause) and rank.lower() not in clause.lower():
            return f"{rank} {best}"
    return _reversed(clause, sentence)


def opposed(said: frozenset[str], stated: frozenset[str]) -> str:
    """The word that is the opposite of one that was said, where that was not stated itself."""
    for pair in _OPPOSITES:
        mine, others = pair & said, pair & stated
        if len(mine) == len(others) == 1 and mine != others:
            return f"{next(iter(others))!r} for {next(iter(mine))!r}"
    return ""


def _reversed(clause: str, sentence: str) -> str:
    """Two names around the same verb in the other order, both active or both passive."""
    first = [clause[a:b] for a, b in names(clause)]
    opening = re.match(r"[A-Z][\w'-]+", clause)  # a name, as its capital within the sentence shows
    if opening and opening[0] not in first and re.search(rf"[a-z,] {opening[0]}\b", sentence):
        first.insert(0, opening[0])
    for one, two in pairwise(first):
        between = clause[clause.index(one) + len(one) : clause.index(two)]
        places = [sentence.find(name) for name in (one, two)]
        if min(places) < 0:
            continue
        lead = one if places[0] < places[1] else two
        middle = sentence[min(places) + len(lead) : max(places)]
        passive = [bool(re.search(r"\bby\b", text)) for text in (between, middle)]
        turned = (places[0] > places[1]) != (passive[0] != passive[1])
        if words(between) & words(middle) and turned:
            return f"{two!r} and {one!r} the other way round"
    return ""
