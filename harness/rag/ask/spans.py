"""Spans of passages that can stand as answers, and how well each answers a question.

A span is a sentence, a row under its columns, or a label with the line behind it; its titles say
what it is about. It is scored by the question's words, by meaning, and by whether it holds what is
asked for: a number, a date, a name. Weights were fitted by leaving out one source at a time; on
questions by outsiders it does far worse (docs/concepts/retrieval.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.core import BadInput
from harness.rag.ask.types import Citation
from harness.rag.retrieve import (
    ASKING,
    ENGLISH,
    identify_language,
    open_encoder,
    sentence_spans,
    terms,
)

# Terms of a question that no span has to share.
ASKED = ASKING | frozenset(["long", "often", "old", "far", "must", "may"])
# Spans, by words and kind, whose meaning is compared too.
_SHORTLIST = 48
# Weights of words, kind, pairs of words and meaning in the order of spans; of words, a kind that is
# missing, words that no span has, and meaning in whether there is an answer: it is one above
# the last number, and by words alone where they are above that share.
_WORDS, _KIND, _PAIRS, _MEANING = 4.0, 1.1, 1.7, 2.2
_SURE, _UNMET, _UNKNOWN, _LIKE, _LEAST, _LEAST_WORDS = 2.7, -0.9, -1.4, 5.9, 3.4, 0.25
# The end of a piece that goes on: an abbreviation or an initial.
_SHORTENED = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Fig|vs|e\.g|i\.e|[A-Z])\.$")
_QUESTION = re.compile(r"[?？]\W*$")  # noqa: RUF001  # full-width
# A line that names what the next one gives, and a line that may be given by one.
_LABEL = re.compile(r"(?![-*+•]\s)[^|]{1,80}(?<![.!?。！？…;,])")  # noqa: RUF001  # full-width
_VALUE = re.compile(r".{0,40}\d.{0,40}(?<![.!?:])")
_DATED = (
    "January February March April May June July August September October November December Jan Feb "
    "Mar Apr Jun Jul Aug Sep Oct Nov Dec spring summer autumn winter century years? months? weeks? "
    "days? Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)
_COUNTED = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half|dozen|hundred|"
    r"once|twice|first|second|third)\b"
)
_KINDS = (
    (r"\bhow (?!do|to|did|is|are|was|can)\w+|percent|number of|(?:price|cost|rate|amount)\b",
     _COUNTED),
    (r"\bwhen\b|(?:what|which) (?:year|date|day|month|time)|until|how long",
     rf"\b(?:1\d|20)\d\d\b|\b\d{{1,2}}[:.]\d\d\b|\b(?:{_DATED.replace(' ', '|')})\b"),
    (r"\bwho\b|whose|whom|\bwhere\b|(?:which|what) (?:city|country|state|person|company)",
     r"(?<=\W)[^\W\d_a-z]\w+|[\u3040-\u9fff\uac00-\ud7af]"),
    (r"^what (?:is|are) (?:an? |the )?\S+\?", r"\b(?:is|are) (?:an?|the)\b"),
    (r"\bwhy\b", r"(?i)\b(?:because|due to|since|in order|so that|reason|cause)\b"),
)  # fmt: skip


class Statement(NamedTuple):
    """A span of a passage.

    Attributes:
        start: of the passage's text.
        label: end of the part that names what is asked for: all of it, or the label of a value.
        titles: above it, the highest first; the columns of a table are the last.
        score: by which spans are ordered.
        sure: above 0 where it seems to answer.
    """

    passage: Citation
    start: int
    end: int
    label: int
    titles: tuple[str, ...]
    score: float = 0.0
    sure: float = 0.0

    def text(self, end: int | None = None) -> str:
        """Titles and words of the span, or of its label."""
        return " ".join((*self.titles, self.passage.text[self.start : end or self.end]))

    def covers(self, other: Statement) -> bool:
        """Return True if the other span of the same passage lies within this one."""
        inside = self.start <= other.start and other.end <= self.end
        return inside and self.passage.number == other.passage.number


def statements(passage: Citation) -> Iterator[Statement]:
    """Spans in order; a question is no answer, and begins the span of what is behind it."""
    text = passage.text
    pieces: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        before = text[slice(*pieces[-1])] if pieces else ""
        if _QUESTION.search(before) or _SHORTENED.search(before):
            pieces[-1] = (pieces[-1][0], end)
        elif re.search(r"\w", text[start:end]):
            pieces.append((start, end))
    begun = {heading.start - passage.start: heading.title for heading in passage.sections}
    for (start, end), behind in zip(pieces, [*pieces[1:], (0, 0)], strict=True):
        piece, title, value = text[start:end], begun.get(start), text[slice(*behind)]
        is_value = re.search(r"\d", piece) is not None
        if _QUESTION.search(piece) or (title and not is_value and " | " in title):
            continue
        titles = tuple(heading.title for heading in passage.above(start))
        is_label = _LABEL.fullmatch(piece) and value and behind[0] not in begun
        if is_label and " | " not in value and (not is_value or _VALUE.fullmatch(value)):
            if title is None:
                yield Statement(passage, start, behind[1], end, titles)
        elif title is None or is_value:
            yield Statement(passage, start, end, end, titles)


def rank(question: str, passages: Sequence[Citation], *, meaning: bool = True) -> list[Statement]:
    """Spans, best first; of many those that are best by words.

    Words weigh by how rare they are among the spans.

    Args:
        question: what is asked; or a statement whose source is looked for.
        passages: where to look.
        meaning: compare meanings too, where the encoder is installed and knows the language.
    """
    spans = [span for passage in passages for span in statements(passage)]
    query_terms = [term for term in terms(question) if term not in ASKED] or terms(question)
    bags = [set(terms(span.text())) for span in spans]
    rarity = {
        term: math.log(1 + len(bags) / (1 + sum(term in bag for bag in bags)))
        for term in query_terms
    }
    total = math.fsum(rarity.values()) or 1.0
    unknown = 1 - len(rarity.keys() & set().union(*bags)) / max(1, len(rarity))
    kind = next((kind for ask, kind in _KINDS if re.search(ask, question.lower())), None)
    words, pairs = set(re.findall(r"\w+", question.lower())), set(pairwise(query_terms))
    scored: list[tuple[Statement, float]] = []
    for span in spans:
        text = span.passage.text[span.start : span.end]
        label = set(terms(span.text(span.label)))
        share = math.fsum(rarity[term] for term in rarity.keys() & label) / total
        holds = kind and any(m[0].lower() not in words for m in re.finditer(kind, f" {text}"))
        joined = len(pairs & set(pairwise(terms(text)))) / max(1, len(pairs))
        score = _WORDS * share + _KIND * bool(holds) + _PAIRS * joined
        sure = _SURE * share + _UNMET * bool(kind and not holds) + _UNKNOWN * unknown - _LEAST
        scored.append((span._replace(score=score, sure=share - _LEAST_WORDS), sure))
    scored.sort(key=lambda pair: -pair[0].score)
    by_words = [span for span, _ in scored]
    if not meaning or not scored or identify_language(question) not in (None, *ENGLISH):
        return by_words
    try:
        encoder = open_encoder("local")
    except BadInput:
        return by_words
    [query] = encoder.encode_queries([question])
    ranked: list[Statement] = []
    for span, sure in scored[:_SHORTLIST]:
        # One text a call: numpy does them, and no framework is imported for a few sentences.
        alike = max(0.0, float(encoder.encode([span.text()])[0] @ query))
        update = {"score": span.score + _MEANING * alike, "sure": sure + _LIKE * alike}
        ranked.append(span._replace(**update))
    return sorted(ranked, key=lambda span: -span.score)
