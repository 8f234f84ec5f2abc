"""Sentences with exact offsets, for many languages, line-structured text included.

Boundaries come from sentencex (Wikimedia, MIT): rules of each language, abbreviations, quotes,
CJK. What it leaves to the reader is decided here: which language a text is in, whether a line end
is a wrapped line or the end of a record, and what is done with a sentence that never ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from harness.core import BadInput

LONGEST = 2000
"""Characters after which a sentence without an end is cut at a space."""
_SAMPLE = 4000
_SCRIPTS = (  # the first script that makes up a tenth of the letters decides
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("zh", re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("my", re.compile(r"[\u1000-\u109f]")),
)
_FREQUENT_WORDS = {
    "en": "the and of to in is that for was with on are this from which",
    "de": "der die und das ist nicht ein eine mit von auf den dem zu wird auch",
    "fr": "le la les et des est une dans pour que qui sur pas du au",
    "es": "el los las y es una en por que con para del se su",
    "it": "il gli di che è una per con non della sono nel dei",
    "pt": "o os as e é uma em por que com para do da não dos",
    "nl": "het een van en is dat op te zijn niet voor met aan",
    "pl": "i w na z jest się nie do że to jak przez",
    "sv": "och att det som en är på av för med inte den",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FREQUENT_WORDS.items()}
_LINE_END = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_ITEM = re.compile(r"\s*(?:[-*+•|>#]|\d+[.)]\s|[A-Z][\w .'-]{0,40}:\s)")
_CLOSING = "\"')]*_ \u201d\u2019"
_WRAPPED = range(45, 140)  # lengths of a line that a typesetter or editor broke


def detect_language(text: str) -> str:
    """ISO 639-1 code of the language of `text`: by script, then by frequent words; `en` if open.

    Reads the first 4,000 characters. It chooses splitting rules; it is no language identifier.
    """
    sample = text[:_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    for language, script in _SCRIPTS:
        if letters and len(script.findall(sample)) >= letters / 10:
            return language
    words = Counter(re.findall(r"[^\W\d_]+", sample.lower()))
    votes = {code: sum(words[word] for word in known) for code, known in _WORDS.items()}
    best = max(votes, key=lambda code: votes[code])
    return best if votes[best] > votes["en"] else "en"


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Character spans of the sentences of `text`, in order, without the space around them.

    Every character that is not white space lies in exactly one span. A line end closes a sentence
    unless the line was wrapped (the next one goes on in small letters, or this one is as long as
    a typeset line, does not end a sentence and no list item or heading follows). A sentence above
    :data:`LONGEST` characters is cut at a space where there is one.

    Args:
        text: any text; empty gives no span.
        language: ISO 639-1 code; default :func:`detect_language`.

    Raises:
        BadInput: if sentencex is not installed.
    """
    language = language or detect_language(text)
    boundaries = _boundaries()
    spans: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        for one in boundaries(language, text[start:end]):
            for span in _cut(text, start + one["start_index"], start + one["end_index"]):
                spans.extend(_stripped(text, *span))
    return spans


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that no sentence crosses: paragraphs, and within them lines that end a record."""
    start = 0
    for match in _LINE_END.finditer(text):
        line_start = max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1
        if not _is_wrapped(text[line_start : match.start()], text[match.end() : match.end() + 60]):
            yield start, match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text)


def _is_wrapped(line: str, following: str) -> bool:
    if not following.strip() or following[0] in "\r\n" or _ITEM.match(following):
        return False
    if _ITEM.match(line) and len(line) not in _WRAPPED:
        return False
    first = following.lstrip()[0]
    if first.islower():
        return True
    return len(line) in _WRAPPED and not line.rstrip(_CLOSING).endswith((".", "!", "?", ":"))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        space = max(text.rfind(mark, start, start + LONGEST) for mark in (" ", "\n", "\t"))
        middle = space + 1 if space > start else start + LONGEST
        yield start, middle
        start = middle
    yield start, end


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inner = text[start:end]
    left = start + len(inner) - len(inner.lstrip())
    right = end - (len(inner) - len(inner.rstrip()))
    if left < right:
        yield left, right


def _boundaries() -> Any:
    try:
        return import_module("sentencex").get_sentence_boundaries
    except ImportError as error:
        raise BadInput(
            "splitting sentences needs sentencex: pip install 'agent-skill-harness[rag]'"
        ) from error
