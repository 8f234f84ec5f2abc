"""Differences between a claim and a sentence with the same words.

Negation, opposite words, scope, rank, plans, who did it to whom, and of whom it is said: "Anna is
34 years old" says nothing of Boris, and what the northern depot handled is not what the southern
one did. A word of a claim that a sentence lacks, where it has another in its place, is the verdict;
a generic noun may stand for any name, and a pronoun for the subject before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from harness.rag.check.claims import NEGATION, clauses, names
from harness.rag.check.numbers import coverage, read, sentences, words

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
_CHANGE = {
    1: "increase rise rising rose risen grew grow growth gain climb up higher more expand improve "
    "recover jump surge raise longer larger rebound widen sixfold",
    -1: "decrease fell fall fallen drop dropped decline down lower less fewer shrink shrank lost "
    "reduce reduction cut slip slipped worsen shorter smaller loss retreat thinner narrow",
}
DIRECTION = {word: sign for sign, listed in _CHANGE.items() for word in words(listed)}
_WORD = re.compile(r"[^\W_](?:[\w&'\u2019-]*[^\W_])?")
_PRONOUN = re.compile(r"\W*(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
_PHRASE = re.compile(
    r"\W*(?:in|on|at|by|from|after|before|during|since|under|with)\b[^,]*,\s", re.I
)
_DEMONYM = re.compile(r"(?:an|ian|ish|ese|i|ch)$")
_CODE = re.compile(r"[A-Z]|[A-Z]{1,4}-?\d+")
_GENERIC = words(
    "company firm group business organisation organization institution agency team club man woman "
    "person people someone child boy girl study paper article report survey author researcher "
    "scientist city town country nation state government party school university building house "
    "place site area region device machine system product model project program plan work book "
    "film movie song event patient player customer user member official officer police victim "
    "suspect couple family one thing number figure amount result percentage share value"
)
"""Nouns that speakers put for a name, or for each other."""
_BEFORE = 2  # sentences before one in which the subject of its pronoun is looked for
_LONGEST = 2  # words of an epithet and its noun
_PARALLEL = 0.5  # share of the other words by which a sentence says the same of the claimed one
_PREFIX = 4  # letters that a name shares with its adjective or its short form


def direction(about: Iterable[str]) -> int:
    """1 where more of the words rise than fall, -1 where more fall, else 0."""
    total = sum(DIRECTION.get(word, 0) for word in about)
    return (total > 0) - (total < 0)


def difference(clause: str, sentence: str, *, compound: bool = False) -> str:
    """Name how a sentence about the same differs from a clause of a claim, or "".

    Negations and plans of a compound claim belong to its clauses, and are not looked at.
    """
    claimed, stated = words(clause), words(sentence)
    spans = clauses(sentence)
    subject = words(sentence[slice(*spans[0])])  # of the clauses behind it, as well
    shares = {
        sentence[start:end]: coverage(claimed, words(sentence[start:end]) | subject)
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
    if not (compound or negated) and coverage(claimed, stated) >= _WHOLE:
        for part in shares:  # "destroyed the stage but not the hall"
            scope = NEGATION.search(part)
            if scope and words(part[scope.end() :]) and words(part[scope.end() :]) <= claimed:
                return "the opposite negation"
    if opposite := opposed(claimed, stated):
        return opposite
    if direction(claimed) * direction(stated) < 0:
        return "the opposite direction"
    counts = (
        match for part in near for value in read(part) if (match := _NOUN.match(part, value.end))
    )
    counted = any(claimed & words(match[1]) for match in counts)  # nine turbines are not all
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


def opposed(claimed: frozenset[str], stated: frozenset[str]) -> str:
    """The word that is the opposite of one that was said, where that was not stated itself."""
    for pair in _OPPOSITES:
        mine, rival = pair & claimed, pair & stated
        if len(mine) == len(rival) == 1 and mine != rival:
            return f"{next(iter(rival))!r} for {next(iter(mine))!r}"
    return ""


def _reversed(clause: str, sentence: str) -> str:
    """Two names around the same verb in the other order, both active or both passive."""
    first = [clause[a:b] for a, b in names(clause)]
    opening = re.match(r"[A-Z][\w'-]+", clause)  # a name, as its capital within the sentence shows
    if opening and opening[0] not in first and re.search(rf"[a-z,] {opening[0]}\b", sentence):
        first.insert(0, opening[0])
    for first_name, two in pairwise(first):
        between = clause[clause.index(first_name) + len(first_name) : clause.index(two)]
        positions = [sentence.find(name) for name in (first_name, two)]
        if min(positions) < 0:
            continue
        lead = first_name if positions[0] < positions[1] else two
        middle = sentence[min(positions) + len(lead) : max(positions)]
        passive = [bool(re.search(r"\bby\b", text)) for text in (between, middle)]
        turned = (positions[0] > positions[1]) != (passive[0] != passive[1])
        if words(between) & words(middle) and turned:
            return f"{two!r} and {first_name!r} the other way round"
    return ""


class _Token(NamedTuple):
    text: str
    stems: frozenset[str]
    is_name: bool
    start: int
    end: int


def another(claim: str, sentence: str, start: int, document: str) -> str:
    """Name what a sentence speaks of in place of what a claim speaks of; "" where it may be that.

    Args:
        claim: sentence of the answer.
        sentence: of the document.
        start: character of the document at which it begins.
        document: its text.
    """
    return _other(claim, sentence, document) or _antecedent(claim, sentence, start, document)


def _other(claim: str, sentence: str, document: str) -> str:
    common = _lower_words(document)
    claimed, stated = _tokens(claim, common), _tokens(sentence, common)
    of_claim, of_sentence = _stems(claimed), _stems(stated)
    missing = [token for token in claimed if not token.stems & of_sentence]
    if not missing:
        return ""
    subjects = _subject(claimed), _subject(stated)
    strange = not _share(subjects[0], stated) and not _share(claimed, subjects[1])
    if all(subjects) and strange:
        return _text(subjects[1])
    names = [token for token in stated if token.is_name and token.start]
    more = [token for token in names if not token.stems & of_claim]
    if more and all(token.is_name for token in missing) and not _share(missing, stated):
        return _text(more)
    copied = len(missing) <= min(_LONGEST, (len(claimed) + 1) // 2)
    for asserted, rival, head in _beside(claimed, stated):
        phrase = rf"\b{re.escape(asserted.text)}\W+{re.escape(head.text)}\b"
        if (asserted.is_name and rival.is_name) or (
            copied and re.search(phrase, document, re.IGNORECASE)
        ):
            return rival.text
    return _replaced(claimed, stated, document) if copied else ""


def _replaced(claimed: Sequence[_Token], stated: Sequence[_Token], document: str) -> str:
    """The word of a sentence that is otherwise the claim's, or says of another what a sentence
    elsewhere says of the claimed one."""
    matcher = SequenceMatcher(None, [t.stems for t in claimed], [t.stems for t in stated], False)
    blocks = matcher.get_opcodes()
    equal = sum(end - start for tag, start, end, _, _ in blocks if tag == "equal")
    for tag, start, end, first, last in blocks[:-1]:
        if tag != "replace" or not equal or max(end - start, last - first) > _LONGEST:
            continue
        asserted, rival = claimed[end - 1], stated[last - 1]
        if _GENERIC & _stems([asserted, rival]) or _same(asserted, rival):
            continue
        if asserted.is_name and rival.is_name:
            return rival.text
        if start or first:
            continue  # what is claimed of a subject has many words
        about = _stems(claimed) - asserted.stems
        besides = [
            tokens
            for _, tokens in _sentences(document)
            if asserted.stems <= _stems(tokens) and not rival.stems & _stems(tokens)
        ]
        copied = equal == len(claimed) - end
        opens = any(asserted.stems & _stems(tokens[:_LONGEST]) for tokens in besides)
        alike = any(len(about & _stems(tokens)) >= _PARALLEL * len(about) for tokens in besides)
        if alike or (copied and (opens or not besides)):
            return rival.text
    return ""


def _antecedent(claim: str, sentence: str, start: int, document: str) -> str:
    """The subject before a sentence that begins with a pronoun, where it is not the claim's."""
    if not _PRONOUN.match(sentence):
        return ""
    common = _lower_words(document)
    asserted, sentence_tokens = _subject(_tokens(claim, common)), _tokens(sentence, common)
    if not asserted or _share(asserted, sentence_tokens):
        return ""
    before = [tokens for begin, tokens in _sentences(document) if begin < start]
    for tokens in (sentence_tokens[:_LONGEST], *before[: -_BEFORE - 1 : -1]):
        if _share(asserted, tokens):
            return ""
        if name_tokens := [token for token in tokens if token.is_name]:
            return _text(name_tokens[:_LONGEST])
    return ""


def _beside(
    claimed: Sequence[_Token], stated: Sequence[_Token]
) -> Iterator[tuple[_Token, _Token, _Token]]:
    """A word of a claim beside a word that both have, the other that stands there in a sentence,
    and the shared word."""
    of_claim, of_sentence = _stems(claimed), _stems(stated)
    for step in (1, -1):
        for number, asserted in enumerate(claimed):
            near = number + step
            if asserted.stems & of_sentence or not 0 <= near < len(claimed):
                continue
            head = claimed[near]
            if not _adjacent(asserted, head) or (step < 0 and not asserted.is_name):
                continue
            for index, shared in enumerate(stated):
                beside = index - step
                if not shared.stems & head.stems or not 0 <= beside < len(stated):
                    continue
                rival = stated[beside]
                strange = not rival.stems & of_claim and not _same(asserted, rival)
                if strange and _adjacent(rival, shared) and asserted.is_name == rival.is_name:
                    yield asserted, rival, head


def _stems(tokens: Sequence[_Token]) -> frozenset[str]:
    return frozenset[str]().union(*(token.stems for token in tokens))


def _text(tokens: Sequence[_Token]) -> str:
    return " ".join(token.text for token in tokens)


def _adjacent(first: _Token, second: _Token) -> bool:
    return max(first.start, second.start) - min(first.end, second.end) == 1


def _subject(tokens: Sequence[_Token]) -> list[_Token]:
    """The name that a sentence begins with."""
    return list(takewhile(lambda token: token.is_name, tokens))


def _share(first: Sequence[_Token], second: Sequence[_Token]) -> bool:
    return any(_same(token, rival) for token in first for rival in second)


def _same(first: _Token, second: _Token) -> bool:
    """Return True for the same word, a short form, initials, or a name and its adjective."""
    if first.stems & second.stems:
        return True
    short, long = sorted((first.text, second.text), key=len)
    if short.isalpha() and short.isupper() and len(short) > 1:
        return True  # initials, of whatever
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(short, long, strict=False))))
    return shared == len(short) > 2 or (
        shared >= _PREFIX and bool(_DEMONYM.search(short) or _DEMONYM.search(long))
    )


def _tokens(text: str, common: frozenset[str]) -> list[_Token]:
    """Content words in order, without values; a phrase that opens a sentence comes last."""
    opening = _PHRASE.match(text)
    begin = opening.end() if opening else 0
    values = [(value.start, value.end) for value in read(text)]
    tokens: list[_Token] = []
    for match in (*_WORD.finditer(text, begin), *_WORD.finditer(text, 0, begin)):
        raw, stems = match[0], words(match[0])
        led = bool(tokens) and tokens[-1].end + 1 == match.start() and tokens[-1].text[0].isupper()
        code = bool(tokens and _CODE.fullmatch(raw)) or (led and raw.isdigit())  # arm B, Line 4
        valued = any(first < match.end() and match.start() < last for first, last in values)
        if code or (stems and not valued):
            is_name = code or (raw[0].isupper() and raw.lower() not in common)
            tokens.append(_Token(raw, frozenset((raw,)) if code else stems, is_name, *match.span()))
    return tokens


@lru_cache(maxsize=256)
def _lower_words(document: str) -> frozenset[str]:
    """Words that a document writes in lower case."""
    return frozenset(match[0] for match in _WORD.finditer(document) if match[0].islower())


@lru_cache(maxsize=256)
def _sentences(document: str) -> list[tuple[int, list[_Token]]]:
    common = _lower_words(document)
    return [(start, _tokens(document[start:end], common)) for start, end in sentences(document)]
