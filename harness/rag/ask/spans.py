"""Spans of passages that can stand as answers, and how well each answers a question.

A span is a sentence, a row under its columns, or a label with the line behind it; its titles say
what it is about. A sentence is quoted with its neighbours, which its pronouns refer to. A span is
scored alone and with them by the question's words and by meaning, and by whether it holds what is
asked for: a number of such things, a date, a name. The weights are logistic regressions on 90
questions of ours over 40 public files, checked by leaving out one file at a time
(docs/concepts/retrieval.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple

from harness.core import BadInput
from harness.rag.ask.types import Citation
from harness.rag.retrieve import (
    ASKING,
    encoder_for,
    identify_language,
    open_encoder,
    sentence_spans,
    terms,
)

# Terms of a question that no span has to share.
ASKED = ASKING | frozenset(["long", "often", "old", "far", "must", "may"])
# Spans, by words and kind, whose meaning is compared too.
_SHORTLIST = 48
# Weights in the order of spans, each of a value from 0 to 1: words and meaning (of the span, and
# again of it with its neighbours), the kind that is asked for, a cell that the question names.
_WORDS, _MEANING, _KIND, _CELL = 4.8, 4.1, 3.0, 3.1
# Weights in whether there is an answer, of words and names with the neighbours: it is one above the
# last number; where no meanings are compared, by words alone where they are above that share.
_SURE, _LIKE, _UNNAMED, _NAMED_CELL, _LEAST, _LEAST_WORDS = 6.0, 4.7, -2.2, 1.8, 7.1, 0.25
# Words of a sentence and its neighbours, at most.
_READABLE = 60
# Names in a question: capitals behind its first word, and words with inner capitals or digits.
_NAME = re.compile(r"(?<!^)\b(?!I\b)[A-Z]\w*|\b\w+[A-Z_0-9]\w*|\b\d+[A-Za-z]\w*")
# The end of a piece that goes on: an abbreviation or an initial.
_SHORTENED = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Fig|vs|e\.g|i\.e|[A-Z])\.$")
_QUESTION = re.compile(r"[?？]\W*$")  # noqa: RUF001  # full-width
# A line that names what the next one gives, and a line that may be given by one.
_LABEL = re.compile(r"(?![-*+•]\s)[^|]{1,80}(?<![.!?。！？…;,])")  # noqa: RUF001  # full-width
# A row and an item of a list stand alone.
_CLOSED = re.compile(r"^[-*+•]\s| \| ")
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
_NUMBER = (
    r"(?:\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|"
    r"fifty|half|dozen|hundred|thousand|million)\b)"
)
_OF, _UNITS = r"[\W_]+(?:\w+[\W_]+){0,2}", r"(?:second|minute|min|hour|day|night|week|month|year)s?"
# A number of the things that are asked for: of time, of what is counted, per cent, money.
_EXACT = (
    (r"\bhow (?:long|old|often)|how much time", rf"{_NUMBER}{_OF}{_UNITS}|once|twice|few {_UNITS}"),
    (r"\bhow many (\w+)", rf"{_NUMBER}{_OF}THING|THING\w*{_OF}{_NUMBER}"),
    (r"percent|share of|proportion", r"\d[\d.,]*\s?%|percent|0?\.\d+"),
    (r"how much|price|cost|salary|\bpay\b|fee",
     r"[$€£]\s?\d|\d[\d.,]*\s?(?:%|percent|dollars|euros?|USD|EUR|GBP|[kMG]i?B)"),
)  # fmt: skip


class Statement(NamedTuple):
    """A span of a passage.

    Attributes:
        start: of the passage's text.
        label: end of the part that names what is asked for: all of it, or the label of a value.
        titles: above it, the highest first; the columns of a table are the last.
        window: from the sentence before to the one behind, where a sentence is quoted with them.
        score: by which spans are ordered.
        sure: above 0 where it seems to answer.
    """

    passage: Citation
    start: int
    end: int
    label: int
    titles: tuple[str, ...]
    window: tuple[int, int] = (0, 0)
    score: float = 0.0
    sure: float = 0.0

    def text(self, start: int, end: int) -> str:
        """Titles and words of a part of the passage."""
        return " ".join((*self.titles, self.passage.text[start:end]))


def statements(passage: Citation) -> list[Statement]:
    """Spans with their windows, in order."""
    spans = list(_spans(passage))
    lengths = [
        0 if _CLOSED.search(text) or span.label < span.end else len(text.split())
        for span in spans
        for text in [passage.text[span.start : span.end]]
    ]
    windows: list[Statement] = []
    for number, span in enumerate(spans):
        start, end, room = span.start, span.end, _READABLE - lengths[number]
        # A recording is opened at the second of the sentence.
        for near in (number + 1, number - 1) if lengths[number] and not passage.times else ():
            if (
                0 <= near < len(spans)
                and spans[near].titles == span.titles
                and passage.page_at(spans[near].start) == passage.page_at(span.start)
                and 0 < lengths[near] <= room
            ):
                room -= lengths[near]
                start, end = min(start, spans[near].start), max(end, spans[near].end)
        windows.append(span._replace(window=(start, end)))
    return windows


def _spans(passage: Citation) -> Iterator[Statement]:
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
    asked = {term for term in terms(question) if term not in ASKED} or set(terms(question))
    names = asked & set(terms(" ".join(_NAME.findall(question))))
    bags = [set(terms(span.text(span.start, span.end))) for span in spans]
    rarity = {
        term: math.log(1 + len(bags) / (1 + sum(term in bag for bag in bags))) for term in asked
    }
    total = math.fsum(rarity.values()) or 1.0
    kinds, words = _kinds(question.lower()), set(re.findall(r"\w+", question.lower()))
    scored: list[tuple[Statement, float]] = []
    for span in spans:
        text = span.passage.text[span.start : span.end]
        label = asked.intersection(terms(span.text(span.start, span.label)))
        # The name of a file says what it is about.
        wide = asked.intersection(
            terms(f"{PurePath(span.passage.doc).stem} {span.text(*span.window)}")
        )
        share, wide_share = (
            math.fsum(map(rarity.__getitem__, bag)) / total for bag in (label, wide)
        )
        held = [
            any(m[0].lower() not in words for m in re.finditer(kind, f" {text}")) for kind in kinds
        ]
        cells = [{*terms(cell)} for cell in text.split(" | ") if re.search(r"[^\W\d_]", cell)]
        cell = max(
            (len(asked & cell) / len(cell) for cell in cells if cell and " | " in text), default=0.0
        )
        score = _WORDS * (share + wide_share) + _CELL * cell + _KIND * sum(held) / max(1, len(held))
        sure = (
            _SURE * wide_share
            + _UNNAMED * len(names - wide) / max(1, len(names))
            + _NAMED_CELL * cell
            - _LEAST
        )
        scored.append((span._replace(score=score, sure=share - _LEAST_WORDS), sure))
    scored.sort(key=lambda pair: -pair[0].score)
    by_words = [span for span, _ in scored]
    if not meaning or not scored:
        return by_words
    try:
        encoder = open_encoder(encoder_for([question, *(passage.text for passage in passages)]))
    except BadInput:
        return by_words
    if encoder.languages and identify_language(question) not in (None, *encoder.languages):
        return by_words
    [query] = encoder.encode_queries([question])
    shortlist = scored[:_SHORTLIST]
    pairs = [(span.text(span.start, span.end), span.text(*span.window)) for span, _ in shortlist]
    texts = list(dict.fromkeys(chain.from_iterable(pairs)))
    cosines = (encoder.encode(texts) @ query).tolist()
    likeness = dict(zip(texts, map(encoder.likeness, cosines), strict=True))
    ranked: list[Statement] = []
    for (span, sure), pair in zip(shortlist, pairs, strict=True):
        alike = math.fsum(max(0.0, likeness[text]) for text in pair)
        ranked.append(span._replace(score=span.score + _MEANING * alike, sure=sure + _LIKE * alike))
    return sorted(ranked, key=lambda span: -span.score)


def _kinds(question: str) -> list[str]:
    """Patterns of what is asked for: its kind, and how a number of such things is written."""
    kinds = [kind for ask, kind in _KINDS if re.search(ask, question)][:1]
    for ask, exact in _EXACT:
        if match := re.search(ask, question):
            thing = re.escape((match[match.lastindex or 0]).rstrip("s")[:6])
            return [*kinds, "(?i)" + exact.replace("THING", thing)]
    return kinds
