"""Owners of values: the names and epithets of a claim, beside those in their place.

"Anna is 34 years old" says nothing of Boris, and what the northern depot handled is not what the
southern one did. Words are aligned in order; a word of the claim that the sentence lacks, where the
sentence has another in its place, is the verdict. A generic noun may stand for any name, and a
pronoun for the subject before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from harness.rag.check.numbers import read, sentences, words

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
_BEFORE = 3  # sentences in which the subject of a pronoun is looked for
_LONGEST = 2  # words of an epithet and its noun
_PARALLEL = 0.5  # share of the other words by which a sentence says the same of the claimed one
_PREFIX = 4  # letters that a name shares with its adjective or its short form


class _Token(NamedTuple):
    text: str
    stems: frozenset[str]
    is_name: bool
    start: int
    end: int


def another(claim: str, sentence: str, before: Sequence[str], document: str) -> str:
    """Name what a sentence speaks of in place of what a claim speaks of; "" where it may be that.

    Args:
        claim: sentence of the answer.
        sentence: of the document.
        before: sentences before it.
        document: its text.
    """
    return _other(claim, sentence, document) or _antecedent(claim, sentence, before, document)


def other_label(claim: str, label: str) -> str:
    """Name the part of a row's label that a claim has otherwise: "A" of Room A, where it says Room
    B; "" where there is none."""
    said, stated = _tokens(claim, frozenset()), _tokens(label, frozenset())
    return next(
        (
            each.text
            for mine, each, _ in _beside(said, stated)
            if _CODE.fullmatch(mine.text) or mine.text.isdigit()
        ),
        "",
    )


def _other(claim: str, sentence: str, document: str) -> str:
    common = _lower_words(document)
    said, stated = _tokens(claim, common), _tokens(sentence, common)
    missing = [token for token in said if not token.stems & _stems(stated)]
    if not missing:
        return ""
    subjects = _subject(said), _subject(stated)
    strange = not _share(subjects[0], stated) and not _share(said, subjects[1])
    if all(subjects) and strange:
        return _text(subjects[1])
    names = [token for token in stated if token.is_name and token.start]
    more = [token for token in names if not token.stems & _stems(said)]
    if more and all(token.is_name for token in missing) and not _share(missing, stated):
        return _text(more)
    copied = len(missing) <= min(_LONGEST, (len(said) + 1) // 2)
    for mine, other, head in _beside(said, stated):
        phrase = rf"\b{re.escape(mine.text)}\W+{re.escape(head.text)}\b"
        if (mine.is_name and other.is_name) or (
            copied and re.search(phrase, document, re.IGNORECASE)
        ):
            return other.text
    return _replaced(said, stated, document) if copied else ""


def _replaced(said: Sequence[_Token], stated: Sequence[_Token], document: str) -> str:
    """The word of a sentence that is otherwise the claim's, or says of another what a sentence
    elsewhere says of the claimed one."""
    matcher = SequenceMatcher(None, [t.stems for t in said], [t.stems for t in stated], False)
    blocks = matcher.get_opcodes()
    equal = sum(end - start for tag, start, end, _, _ in blocks if tag == "equal")
    for tag, start, end, first, last in blocks[:-1]:
        if tag != "replace" or not equal or max(end - start, last - first) > _LONGEST:
            continue
        mine, other = said[end - 1], stated[last - 1]
        if _GENERIC & _stems([mine, other]) or _same(mine, other):
            continue
        if mine.is_name and other.is_name:
            return other.text
        rest = _stems(said) - mine.stems
        elsewhere = [
            each
            for each in _sentences(document)
            if mine.stems <= _stems(each) and not other.stems & _stems(each)
        ]
        if start or first:
            continue  # what is said of a subject has many words
        copied = equal == len(said) - end
        opens = any(mine.stems & _stems(each[:_LONGEST]) for each in elsewhere)
        alike = any(len(rest & _stems(each)) >= _PARALLEL * len(rest) for each in elsewhere)
        if alike or (copied and (opens or not elsewhere)):
            return other.text
    return ""


def _antecedent(claim: str, sentence: str, before: Sequence[str], document: str) -> str:
    """The subject before a sentence that begins with a pronoun, where it is not the claim's."""
    common = _lower_words(document)
    mine, own = _subject(_tokens(claim, common)), _tokens(sentence, common)
    if not mine or not _PRONOUN.match(sentence) or _share(mine, own):
        return ""
    for tokens in ([*own[:_LONGEST]], *(_tokens(each, common) for each in before[:-_BEFORE:-1])):
        if _share(mine, tokens):
            return ""
        if named := [token for token in tokens if token.is_name]:
            return _text(named[:_LONGEST])
    return ""


def _beside(
    said: Sequence[_Token], stated: Sequence[_Token]
) -> Iterator[tuple[_Token, _Token, _Token]]:
    """A word of a claim beside a word that both have, the other that stands there in a sentence,
    and the shared word."""
    for step in (1, -1):
        for number, mine in enumerate(said):
            near = number + step
            if mine.stems & _stems(stated) or not 0 <= near < len(said):
                continue
            head = said[near]
            if not _adjacent(mine, head) or (step < 0 and not mine.is_name):
                continue
            for index, shared in enumerate(stated):
                beside = index - step
                if not shared.stems & head.stems or not 0 <= beside < len(stated):
                    continue
                other = stated[beside]
                strange = not other.stems & _stems(said) and not _same(mine, other)
                if strange and _adjacent(other, shared) and mine.is_name == other.is_name:
                    yield mine, other, head


def _stems(tokens: Sequence[_Token]) -> frozenset[str]:
    return frozenset[str]().union(*(token.stems for token in tokens))


def _text(tokens: Sequence[_Token]) -> str:
    return " ".join(token.text for token in tokens)


def _adjacent(first: _Token, second: _Token) -> bool:
    return max(first.start, second.start) - min(first.end, second.end) == 1


def _subject(tokens: Sequence[_Token]) -> list[_Token]:
    """The name that a sentence begins with."""
    if not tokens or not tokens[0].is_name:
        return []
    return list(takewhile(lambda token: token.is_name, tokens))


def _share(first: Sequence[_Token], second: Sequence[_Token]) -> bool:
    return any(_same(one, other) for one in first for other in second)


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
def _sentences(document: str) -> list[list[_Token]]:
    common = _lower_words(document)
    return [_tokens(document[start:end], common) for start, end in sentences(document)]
