"""What a clause says otherwise than a sentence with the same words: negation, opposite words,
scope, rank, plans, and who did it to whom."""

from __future__ import annotations

import re
from itertools import pairwise

from harness.rag.check.claims import NEGATION, clauses, names
from harness.rag.check.numbers import BASE_FORMS, coverage, read, words
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
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|must|can|could|may|might|should|does|did|do)\b"
    rf"|(?<=\w )(?:\w{{3,}}ed|{'|'.join(form for form in BASE_FORMS if form.isalpha())})\b"
)
_WHICH = re.compile(r"(?:who|which)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"(?:and |but |while |whereas )?(?:the|a|an|its|their|his|her|those|that|these|[A-Z]\w+)\b "
)
_BY = re.compile(r"\bby\b")
_PRONOUN = re.compile(r"\b(?:it|he|she|they)\b", re.IGNORECASE)
_RELATIVE = 0.5  # share of the words of a claim that "who ..." has
_NEAR_WHO = 25  # characters before "who" in which its name stands
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
    if (
        not compound
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
    return _of_another(clause, sentence) or _reversed(clause, sentence)


def _of_another(clause: str, sentence: str) -> str:
    """Whether a sentence says of another what a clause says: its subject stands in one clause, all
    else in another that has a subject of its own."""
    verb = _VERB.search(clause)
    if verb is None or len(clauses(clause)) > 1:
        return ""
    subject, rest = words(clause[: verb.start()]), words(clause[verb.start() :])
    spans = clauses(sentence)
    parts = [sentence[start:end] for start, end in spans]
    said = [coverage(rest, words(part)) for part in parts]
    if not subject or not rest or len(parts) < 2:
        return ""
    place = max(range(len(parts)), key=lambda number: said[number])
    owners = [number for number, part in enumerate(parts) if subject <= words(part)]
    if place in owners or subject & words(parts[place]) or _PRONOUN.search(parts[place]):
        return ""
    if place and _WHICH.match(parts[place]) and said[place] >= _RELATIVE:
        ahead = parts[place - 1]  # whom "who" stands for is named right before
        named = [ahead[start:end] for start, end in names(ahead) if end > len(ahead) - _NEAR_WHO]
        if named and not subject & words(ahead[-2 * _NEAR_WHO :]):
            return f"of {named[-1]!r}"
    if bool(_BY.search(clause)) != bool(_BY.search(sentence)):
        return ""  # one of both is passive
    if said[place] < _CLOSE or not owners or not _VERB.search(parts[place]):
        return ""
    own = place < min(owners) or _SUBJECT.match(parts[place])
    apart = all(said[number] < said[place] / 2 for number in owners)
    return f"of another: {parts[place].strip()[:40]!r}" if own and apart else ""


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
