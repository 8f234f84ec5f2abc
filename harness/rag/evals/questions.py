"""Draft queries with gold spans from documents, so that retrieval can be measured without labels.

Every span is verified: it is the source's own text at these offsets, and the query does not fit
another passage as well. Without a model a query is the rarest words of a sentence, which favours
the lexical arm and says so; with one it is a question in other words, with the answer quoted.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from harness.core import BadInput, Value, grouped, render
from harness.models import Model
from harness.rag.evals.metrics import Case, Gold
from harness.rag.retrieve import Chunking, Document, chunk_document, sentence_spans, words

KEYWORDS = "keywords of a sentence (favours the lexical arm)"
ASKED = "questions by a model"
_TERMS = 5
_LEAST_WORDS, _MOST_WORDS = 5, 60
_COPIED = 5  # words in a row that a question may not share with its passage
_PASSAGE = Chunking(size=250, overlap=0, parent=250)
_POINTING = re.compile(
    r"\b(?:the|this) (?:passage|text|document|author|article|excerpt)\b", re.IGNORECASE
)


class Drafted(Value):
    """Drafted queries.

    Attributes:
        cases: verified ones.
        method: how queries were made; stands beside every figure that rests on them.
        rejected: drafts that failed a check, by reason.
        attempts: drafts in all.
    """

    cases: tuple[Case, ...]
    method: str
    rejected: dict[str, int]
    attempts: int


class _Sentence(NamedTuple):
    document: Document
    start: int
    end: int
    terms: frozenset[str]


def draft_keywords(documents: Sequence[Document], count: int, seed: int = 41) -> Drafted:
    """Queries of the rarest words of sentences, spread over the documents.

    Raises:
        BadInput: if no sentence gives a query that fits it alone.
    """
    sentences = [
        _Sentence(document, start, end, frozenset(words(document.text[start:end])))
        for document in documents
        for start, end in sentence_spans(document.text)
    ]
    holding = Counter(term for sentence in sentences for term in sentence.terms)
    order = _spread(sentences, random.Random(seed))
    cases: list[Case] = []
    rejected: Counter[str] = Counter()
    for drawn in order:
        if len(cases) == count:
            break
        tokens = words(drawn.document.text[drawn.start : drawn.end])
        if not _LEAST_WORDS <= len(tokens) <= _MOST_WORDS:
            rejected["too short or too long"] += 1
            continue
        rarest = sorted(drawn.terms, key=lambda term: (holding[term], tokens.index(term)))[:_TERMS]
        if sum(sentence.terms.issuperset(rarest) for sentence in sentences) != 1:
            rejected["fits other sentences as well"] += 1
            continue
        query = " ".join(sorted(rarest, key=tokens.index))
        cases.append(_case(query, drawn.document, drawn.start, drawn.end))
    return _drafted(cases, KEYWORDS, rejected)


async def draft_questions(
    documents: Sequence[Document], count: int, model: Model, seed: int = 41
) -> Drafted:
    """Questions that a model asks about passages, with the words that answer them.

    Raises:
        Unreachable, LimitReached: as the model does.
        BadInput: if not one draft passes the checks.
    """
    passages = [
        _Sentence(document, chunk.start, chunk.end, frozenset())
        for document in documents
        for chunk in chunk_document(document, _PASSAGE)
    ]
    cases: list[Case] = []
    rejected: Counter[str] = Counter()
    for drawn in _spread(passages, random.Random(seed)):
        if len(cases) == count or rejected.total() > 3 * count:
            break
        passage = drawn.document.text[drawn.start : drawn.end]
        title = str(drawn.document.metadata.get("title", ""))
        prompt = render("index_question", passage=passage, title=title)
        reply = await model.complete([{"role": "user", "content": prompt}])
        checked = check_draft(reply.text, passage)
        if isinstance(checked, str):
            rejected[checked] += 1
            continue
        question, start, end = checked
        case = _case(question, drawn.document, drawn.start + start, drawn.start + end)
        cases.append(case.model_copy(update={"answers": (" ".join(passage[start:end].split()),)}))
    return _drafted(cases, ASKED, rejected)


def check_draft(reply: str, passage: str) -> tuple[str, int, int] | str:
    """(question, start, end) of a model's draft, or the reason why it is rejected.

    The quote must stand in the passage, white space aside; the question must not point at the
    passage, nor copy five words in a row from it.
    """
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        row: Any = json.loads(match[0]) if match else None
        question, quote = row["question"].strip(), row["quote"].strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        return "no JSON object with question and quote"
    span = re.search(r"\s+".join(map(re.escape, quote.split())), passage) if quote else None
    if span is None:
        return "the quote does not stand in the passage"
    if not question.endswith(("?", "\uff1f")):  # the second one is the full-width mark
        return "no question"
    if _POINTING.search(question):
        return "points at the passage"
    tokens, text = question.lower().split(), f" {' '.join(passage.lower().split())} "
    runs = (" ".join(tokens[n : n + _COPIED]) for n in range(len(tokens) - _COPIED + 1))
    if any(f" {run} " in text for run in runs):
        return "copies the passage"
    return question, span.start(), span.end()


def _spread(stretches: Sequence[_Sentence], rng: random.Random) -> Iterator[_Sentence]:
    """One of every document in turn, in random order."""
    by_document = grouped((stretch.document.id, stretch) for stretch in stretches)
    queues = list(by_document.values())
    rng.shuffle(queues)
    for queue in queues:
        rng.shuffle(queue)
    while queues:
        for queue in queues:
            yield queue.pop()
        queues = [queue for queue in queues if queue]


def _case(query: str, document: Document, start: int, end: int) -> Case:
    gold = Gold(doc=document.id, start=start, end=end)
    return Case(query=query, gold=(gold,), id=f"{document.id}:{start}-{end}")


def _drafted(cases: list[Case], method: str, rejected: Counter[str]) -> Drafted:
    attempts = len(cases) + rejected.total()
    if not cases:
        reasons = ", ".join(f"{count} {reason}" for reason, count in rejected.most_common())
        raise BadInput(f"none of {attempts} drafts passed the checks: {reasons or 'no text'}")
    return Drafted(cases=tuple(cases), method=method, rejected=dict(rejected), attempts=attempts)
