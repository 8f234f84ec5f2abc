"""From passages to a cited answer: what a model wrote, checked against what it was given.

Without a model the answer is the sentences of the passages that are closest to the question. They
never take the place of what a model wrote: where it cites nothing, they stand beside it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.core import BadInput, LimitReached, Unreachable, loops, render
from harness.rag.ask.passages import find_passages, opened_at, within
from harness.rag.ask.types import Answer, AskSettings, Checker, Citation
from harness.rag.retrieve import open_encoder, sentence_spans, terms

if TYPE_CHECKING:
    from harness.models import ChatModel

_CITED = re.compile(r"\s*\[(\d+(?:\s*[,;]\s*\d+)*)\]")
_NO_ANSWER = re.compile(r"passages? (?:do|does) not (?:answer|contain|say)", re.IGNORECASE)
# Numbers and names.
_VALUE = re.compile(r"\S*\d\S*|(?<!^)(?<![.!?] )\b[A-Z]\w+")
# Share of an answer's words, without the question's, that a passage has which says it.
_SAID = 0.6
# Sentences of an answer without a model, at most.
_SENTENCES = 2
# Sentences, by their words, whose meaning is compared too.
_SHORTLIST = 24
# Share of the question's words, weighed by rarity, and score, below which nothing is said: chosen
# on 60 questions of XQuAD with the paragraphs that are most like the one that answers.
_LEAST, _LEAST_SCORE = 0.3, 0.4
# A second sentence is given if its score is that share of the first one's.
_NEAR = 0.85
_ASKING_WORDS = (
    "what which who whom whose when where why how do doe did is are was were have has had can "
    "could would should will there many much"
)
# Stems of words that ask, and say nothing of what is asked.
_ASKING = frozenset(_ASKING_WORDS.split())
# Stems of words around an answer: "According to the passages, it is ...".
_FRAME = frozenset(["accord", "answer", "document", "passag", "say", "state", "text", "thi"])


def ask(
    settings: AskSettings,
    *,
    checker: Checker | None = None,
    on_failure: Callable[[Answer], None] | None = None,
) -> Answer:
    """Find passages, and answer from them alone.

    Where nothing is found, no model is called. Citations that do not exist are dropped, with a
    warning.

    Args:
        settings: what is asked of what.
        checker: gives a verdict on the answer.
        on_failure: called with the passages when the model cannot be asked, before the error.

    Raises:
        BadInput: for a question, files, index, budget or model that cannot be used; no model is
            called then.
        Unreachable: if the model does not answer.
        LimitReached: if the budget cannot hold the call.
    """
    model, note = _model(settings)
    read, began = find_passages(settings), time.perf_counter()
    if not read.passages:
        return _finished(read, warnings=("no passage has anything to do with the question",))
    if model is None:
        sentences = extract(read.question, read.passages)
        if not sentences:
            note = (*note, "no sentence of the passages comes near the question")
        quotes = (f"{' '.join(each.text.split())} [{each.number}]" for each in sentences)
        text = " ".join(quotes) or None
        # A quote stands in its passage: no verdict, which would say nothing of the question.
        fields = {"method": "extract", "citations": tuple(sentences)}
        return _finished(read, text, None, began, warnings=note, **fields)
    try:
        return loops.run(_written(read, model, settings, checker))
    except (Unreachable, LimitReached) as error:
        if on_failure is not None:
            on_failure(_finished(read, model=model.spec, error=str(error)))
        raise


def _model(settings: AskSettings) -> tuple[ChatModel | None, tuple[str, ...]]:
    """The model, opened before anything is read; None, and why, for the best sentences.

    The embedded model that nobody asked for may be missing; one that was named may not.
    """
    if settings.extract:
        return None, ()
    from harness.models import DEFAULT_SPEC, Budget, open_model

    budget = Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )
    spec = settings.model or DEFAULT_SPEC
    try:
        return open_model(spec, base_url=settings.base_url, budget=budget), ()
    except BadInput as error:
        if settings.model is not None or not settings.question.strip():
            raise
        return None, (f"no model: {error}; these are the best sentences as they stand",)


async def _written(
    read: Answer, model: ChatModel, settings: AskSettings, checker: Checker | None
) -> Answer:
    """Have the model answer, with citations that exist; the best sentences beside it without."""
    began = time.perf_counter()
    prompt = render("ask_answer", passages=read.passages, question=read.question)
    try:
        messages = [{"role": "user", "content": prompt}]
        reply = await model.complete(messages, sampling=settings.sampling)
    finally:
        await model.aclose()
    text, citations, warnings = check_citations(reply.text, read)
    nearest = () if citations else tuple(extract(read.question, read.passages))
    return _finished(
        read,
        text or None,
        checker,
        began,
        method="model",
        citations=citations,
        nearest=nearest,
        warnings=warnings,
        model=model.spec,
        simulated=model.simulated,
        usage=reply.usage,
    )


def _finished(
    read: Answer,
    text: str | None = None,
    checker: Checker | None = None,
    began: float | None = None,
    *,
    warnings: tuple[str, ...] = (),
    **fields: object,
) -> Answer:
    """The answer over the passages read, with the checker's verdict where there is a text."""
    spent = time.perf_counter() - began if began is not None else 0.0
    passages = read.seconds["passages"]
    seconds = {"passages": passages, "answer": spent, "total": passages + spent}
    answered = text is not None and not _NO_ANSWER.search(text)
    update = {
        **fields,
        "answer": text,
        "answered": answered,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "warnings": (*read.warnings, *warnings),
    }
    if text is not None and answered and checker is not None:
        update["verdict"] = checker(read.question, text, read.passages)
    return read.model_copy(update=update)


def check_citations(reply: str, read: Answer) -> tuple[str, tuple[Citation, ...], tuple[str, ...]]:
    """The reply with the citations that exist, those citations, and what must be said of it.

    A reply that cites nothing gets the sentence that says it, where a passage does.
    """
    by_number = {passage.number: passage for passage in read.passages}
    cited: set[int] = set()
    dropped: dict[int, None] = {}

    def existing(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        dropped.update(dict.fromkeys(number for number in numbers if number not in by_number))
        valid = [number for number in numbers if number in by_number]
        cited.update(valid)
        return "".join(f" [{number}]" for number in valid)

    text = _CITED.sub(existing, reply.strip()).strip()
    warnings: tuple[str, ...] = ()
    if dropped:
        wrong = ", ".join(f"[{number}]" for number in dropped)
        warnings = (f"cited {wrong}, which are none of the passages: dropped",)
    if not text:
        return "", (), (*warnings, "the model said nothing")
    if _NO_ANSWER.search(text):
        return text, (), (*warnings, "the model finds no answer in the passages")
    if cited:
        chosen = (by_number[number] for number in sorted(cited))
        return text, tuple(_opened(passage, text, read.question) for passage in chosen), warnings
    source = _attributed(text, read)
    if source is None:
        silent = "the answer cites nothing, and no passage says it in its words"
        return text, (), (*warnings, silent)
    note = "the model cited nothing: the citation was found by the answer's words"
    return f"{text} [{source.number}]", (source,), (*warnings, note)


def _attributed(text: str, read: Answer) -> Citation | None:
    """The sentence nearest to question and text, of the passage that says the text.

    Such a passage has all numbers and names of the text, and most of its words that the question
    does not have.
    """
    query_terms = set(terms(read.question)) | _ASKING | _FRAME
    needed = set(terms(text)) - query_terms or set(terms(text))
    values = {term for value in _VALUE.findall(text) for term in terms(value)} & needed
    shares: dict[float, Citation] = {}
    for passage in read.passages:
        bag = set(terms(" ".join((*passage.headings, passage.text))))
        if needed and values <= bag:
            shares.setdefault(len(needed & bag) / len(needed), passage)
    share = max(shares, default=0.0)
    statement = f"{read.question} {text}"
    ranked = _by_words(statement, [shares[share]]) if share >= _SAID else []
    if not ranked:
        return None
    passage, start, end, *_ = ranked[0]
    return within(passage, start, end, passage.number, post_hoc=True)


def _opened(passage: Citation, answer: str, question: str) -> Citation:
    """A passage at the page or second of the sentence nearest to question and answer."""
    statement = f"{question} {_CITED.sub('', answer)}"
    ranked = _by_words(statement, [passage]) if passage.times or passage.pages else []
    return opened_at(passage, ranked[0].start) if ranked else passage


class _Scored(NamedTuple):
    """A sentence of a passage, with its share of the question's words and its score."""

    passage: Citation
    start: int
    end: int
    overlap: float
    score: float

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


def extract(question: str, passages: Sequence[Citation]) -> list[Citation]:
    """The best sentences as citations, numbered from 1; none where nothing comes near.

    A sentence scores by the share of the question's words that it has, each weighed by how rare it
    is among the passages' sentences, and by the likeness of its meaning where an encoder is
    installed, both by halves.

    Args:
        question: not empty.
        passages: where to look.
    """
    ranked = _by_meaning(question, _by_words(question, passages))
    if not ranked or (ranked[0].overlap < _LEAST and ranked[0].score < _LEAST_SCORE):
        return []
    chosen: dict[str, _Scored] = {}
    for sentence in ranked:
        if len(chosen) < _SENTENCES and sentence.score >= _NEAR * ranked[0].score:
            chosen.setdefault(" ".join(sentence.text.split()), sentence)
    return [
        within(sentence.passage, sentence.start, sentence.end, number)
        for number, sentence in enumerate(chosen.values(), start=1)
    ]


def _statements(passage: Citation) -> Iterator[tuple[Citation, int, int]]:
    """Spans of sentences; a question is no answer, and starts the span of the one behind it."""
    start = None
    for first, end in sentence_spans(passage.text):
        sentence = passage.text[first:end]
        if re.search(r"\?\W*$", sentence):
            start = first
        elif re.search(r"\w", sentence):
            yield passage, first if start is None else start, end
            start = None


def _by_words(question: str, passages: Sequence[Citation]) -> list[_Scored]:
    sentences = [span for passage in passages for span in _statements(passage)]
    bags = [
        set(terms(" ".join((*passage.headings, passage.text[start:end]))))
        for passage, start, end in sentences
    ]
    rarity = {
        term: math.log(1 + len(bags) / (1 + sum(term in bag for bag in bags)))
        for term in set(terms(question)) - _ASKING
    }
    total = sum(rarity.values()) or 1.0
    shares = [sum(rarity[term] for term in rarity.keys() & bag) / total for bag in bags]
    scored = (_Scored(*place, share, share) for place, share in zip(sentences, shares, strict=True))
    return sorted(scored, key=lambda sentence: -sentence.overlap)


def _by_meaning(question: str, sentences: Sequence[_Scored]) -> list[_Scored]:
    """The shortlist, ordered by words and meaning; by words alone without an encoder."""
    try:
        encoder = open_encoder("local")
    except BadInput:
        return list(sentences)
    shortlist = sentences[:_SHORTLIST]
    if not shortlist:
        return []
    [query] = encoder.encode_queries([question])
    # One text a call: numpy does them, and no framework is imported for a few sentences.
    likeness = [float(encoder.encode([sentence.text])[0] @ query) for sentence in shortlist]
    scored = [
        sentence._replace(score=(sentence.overlap + max(0.0, alike)) / 2)
        for sentence, alike in zip(shortlist, likeness, strict=True)
    ]
    return sorted(scored, key=lambda sentence: -sentence.score)
