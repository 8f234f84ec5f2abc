"""From passages to a cited answer: what a model wrote, checked against what it was given.

Without a model the answer is the sentences of the passages that are closest to the question. They
never take the place of what a model wrote: where it cites nothing, they stand beside it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.core import BadInput, LimitReached, Unreachable, loops, render
from harness.rag.ask.passages import find_passages, opened_at, within
from harness.rag.ask.spans import ASKED, Statement, rank
from harness.rag.ask.types import Answer, AskSettings, Checker, Citation
from harness.rag.retrieve import terms

if TYPE_CHECKING:
    from harness.models import ChatModel

_CITED = re.compile(r"\s*\[(\d+(?:\s*[,;]\s*\d+)*)\]")
_NO_ANSWER = re.compile(r"passages? (?:do|does) not (?:answer|contain|say)", re.IGNORECASE)
# Numbers and names.
_VALUE = re.compile(r"\S*\d\S*|(?<!^)(?<![.!?] )\b[A-Z]\w+")
# Share of an answer's words, without the question's, that a passage has which says it.
_SAID = 0.6
# Spans of an answer without a model, at most, and how far the second may lie behind the first.
_QUOTES, _NEAR = 2, 3.0
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
        text = " ".join(f"{quoted(citation)} [{citation.number}]" for citation in sentences) or None
        # A quote stands in its passage: no verdict, which would say nothing of the question.
        return _finished(
            read,
            text,
            None,
            began,
            warnings=note,
            method="extract",
            citations=tuple(sentences),
        )
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
    nearest = tuple(extract(read.question, read.passages))
    # A small model takes every offer to refuse: it gets one where no span seems to answer.
    prompt = render(
        "ask_answer",
        passages=read.passages,
        nearest=[quoted(span) for span in nearest],
        question=read.question,
    )
    try:
        messages = [{"role": "user", "content": prompt}]
        reply = await model.complete(messages, sampling=settings.sampling)
    finally:
        await model.aclose()
    text, citations, warnings = check_citations(reply.text, read)
    return _finished(
        read,
        text or None,
        checker,
        began,
        method="model",
        citations=citations,
        nearest=() if citations else nearest,
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
        used = (by_number[number] for number in sorted(cited))
        return (text, tuple(_opened(passage, text, read.question) for passage in used), warnings)
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
    query_terms = set(terms(read.question)) | ASKED | _FRAME
    needed = set(terms(text)) - query_terms or set(terms(text))
    values = {term for value in _VALUE.findall(text) for term in terms(value)} & needed
    shares: dict[float, Citation] = {}
    for passage in read.passages:
        bag = set(terms(" ".join((*passage.headings, passage.text))))
        if needed and values <= bag:
            shares.setdefault(len(needed & bag) / len(needed), passage)
    share = max(shares, default=0.0)
    statement = f"{read.question} {text}"
    ranked = rank(statement, [shares[share]], meaning=False) if share >= _SAID else []
    if not ranked:
        return None
    passage, start, end, *_ = ranked[0]
    return within(passage, start, end, passage.number, post_hoc=True)


def _opened(passage: Citation, answer: str, question: str) -> Citation:
    """A passage at the page or second of the sentence nearest to question and answer."""
    statement = f"{question} {_CITED.sub('', answer)}"
    ranked = rank(statement, [passage], meaning=False) if passage.times or passage.pages else []
    return opened_at(passage, ranked[0].start) if ranked else passage


def extract(question: str, passages: Sequence[Citation]) -> list[Citation]:
    """The best spans as citations, numbered from 1; none where none seems to answer.

    Args:
        question: not empty.
        passages: where to look.
    """
    ranked = rank(question, passages)
    quotes: list[Statement] = []
    for span in ranked if ranked and ranked[0].sure > 0 else ():
        apart = all(
            span.passage.number != better.passage.number
            or span.window[1] <= better.window[0]
            or better.window[1] <= span.window[0]
            for better in quotes
        )
        if apart and len(quotes) < _QUOTES and span.score >= ranked[0].score - _NEAR:
            quotes.append(span)
    return [
        within(span.passage, *span.window, number) for number, span in enumerate(quotes, start=1)
    ]


def quoted(citation: Citation) -> str:
    """A citation as an answer: its titles in front, the name of its column before each cell."""
    text, titles = " ".join(citation.text.split()), list(citation.headings)
    cells, columns = (
        re.split(r" ?\| ?", row.removeprefix("| ").removesuffix(" |"))
        for row in (text, titles[-1] if titles else "")
    )
    if len(cells) == len(columns) > 1:
        titles.pop()
        pairs = zip(columns, cells, strict=True)
        text = " | ".join(f"{column}: {cell}" if column else cell for column, cell in pairs if cell)
    titles = [title for title in titles if title not in text]
    return f"{' > '.join(titles)}: {text}" if titles else text
