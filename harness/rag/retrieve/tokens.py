"""Words for the lexical index: CJK bigrams, parts of compounds and identifiers, plurals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from harness.core import BadInput

TOKENISER = "words-1, snowball-english"
"""Name of these rules; an index made with others is refused."""

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN = re.compile(
    rf"[{_CJK}]+|\d+(?:[.,:]\d+)+|[^\W{_CJK}]+(?:[-'’.][^\W{_CJK}]+)*",  # noqa: RUF001
)
_IDEOGRAPH = re.compile(f"[{_CJK}]")
_JOINT = re.compile(
    r"[-_'’.]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"  # noqa: RUF001
    r"|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"
)
_LEAST_COMPOUND, _LEAST_PART = 9, 4
_LINKS = ("", "s", "es", "n", "en", "e", "er")
# Frequent English words that carry no topic.
STOPWORDS = frozenset(
    [
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is"),
        *("it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there"),
        *("these", "they", "this", "to", "was", "will", "with"),
    ]
)


def words(text: str) -> list[str]:
    """Tokens of a text, in order, in lower case.

    CJK runs give overlapping bigrams. `boundary-layer`, `getUserName` and `A320` give their parts
    and the whole without joints; numbers with separators stay whole. English plurals lose their
    s (Harman 1991, "How effective is suffixing?").
    """
    found: list[str] = []
    for run in _RUN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        found.extend(_tokens(run))
    return found


@lru_cache(maxsize=1 << 18)  # a text repeats its words
def _tokens(run: str) -> tuple[str, ...]:
    cjk = not run.isascii() and _IDEOGRAPH.match(run)
    return tuple(_bigrams(run) if cjk else _parts(run))


def terms(text: str) -> list[str]:
    """Tokens as the lexical index keeps them: :func:`words`, those of plain letters stemmed.

    The stemmer is Snowball's for English (Porter 2001); words of other languages pass through it
    the same way in documents and queries, so they still meet.

    Raises:
        BadInput: if PyStemmer is not installed.
    """
    return [_stem(word) for word in words(text)]


@lru_cache(maxsize=1 << 18)
def _stem(word: str) -> str:
    return _stemmer().stemWord(word) if word.isascii() and word.isalpha() else word


@cache
def _stemmer() -> Any:
    try:
        return import_module("Stemmer").Stemmer("english")
    except ImportError as error:
        raise BadInput(
            f"the lexical index needs PyStemmer ({error}): pip install 'agent-skill-harness[rag]'"
        ) from error


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _parts(run: str) -> Iterator[str]:
    if run[0].isdigit() and not re.search(r"[^\W\d]", run):
        yield run
        return
    parts = [part for part in _JOINT.split(run) if part]
    for part in parts:
        word = _singular(part.lower())
        if word not in STOPWORDS and (len(parts) == 1 or len(word) > 1):
            yield word
    if len(parts) > 1:
        yield _singular("".join(parts).lower())


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies") and word[-4] not in "ae":
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    if len(word) > 3 and word.endswith("s") and word[-2] not in "us":
        return word[:-1]
    return word


def compound_parts(word: str, vocabulary: Container[str]) -> list[str]:
    """Words of the vocabulary that `word` is put together from, with linking letters between.

    The split with the longest first part wins; empty where the word is short or no split covers
    it, so that nothing is guessed.
    """
    if len(word) < _LEAST_COMPOUND or not word.isalpha():
        return []
    return _split(word, vocabulary, whole=True) or []


def _split(rest: str, vocabulary: Container[str], *, whole: bool = False) -> list[str] | None:
    if not whole and rest in vocabulary:
        return [rest]
    for end in range(len(rest) - _LEAST_PART, _LEAST_PART - 1, -1):
        if rest[:end] not in vocabulary:
            continue
        for link in _LINKS:
            after = rest[end + len(link) :]
            if rest.startswith(link, end) and len(after) >= _LEAST_PART:
                parts = _split(after, vocabulary)
                if parts:
                    return [rest[:end], *parts]
    return None
