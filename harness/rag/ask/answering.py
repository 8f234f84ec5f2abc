"""From passages to a cited answer: what a model wrote, checked against what it was given."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from harness.core import HarnessError, Usage, render
from harness.models import Model
from harness.rag.ask.extracting import extract
from harness.rag.ask.finding import as_passages, within
from harness.rag.ask.types import Answer, AskSettings, Checker, Citation, Found
from harness.rag.retrieve import Document
from harness.rag.tasks.reading import split_citations
from harness.rag.tools.passages import attribute

_CITED = re.compile(r"\s*\[(\d+(?:\s*[,;]\s*\d+)*)\]")
_NO_ANSWER = re.compile(r"passages? (?:do|does) not (?:answer|contain|say)", re.IGNORECASE)


def nothing_found(found: Found) -> Answer:
    """The answer where no passage was found: nobody is asked."""
    return _answer(found, warnings=("no passage has anything to do with the question",))


def extracted(found: Found, warnings: Sequence[str] = (), checker: Checker | None = None) -> Answer:
    """The best sentences, as they stand."""
    began = time.perf_counter()
    sentences = extract(found.question, found.passages)
    text = _joined(sentences)
    if not sentences:
        warnings = (*warnings, "no sentence of the passages comes near the question")
    return _answer(
        found,
        text=text or None,
        method="extract",
        citations=tuple(sentences),
        warnings=tuple(warnings),
        spent=time.perf_counter() - began,
        checker=checker,
    )


async def written(
    found: Found, model: Model, settings: AskSettings, checker: Checker | None = None
) -> Answer:
    """What the model says, with citations that exist.

    Where nothing of it is cited or stands in a passage, the best sentences are the answer, and
    what the model wrote stands beside them.

    Raises:
        Unreachable: if the model does not answer.
        LimitReached: if the budget cannot hold the call.
    """
    began = time.perf_counter()
    prompt = render("ask_answer", passages=found.passages, question=found.question)
    messages = [{"role": "user", "content": prompt}]
    reply = await model.complete(messages, sampling=settings.sampling)
    text, cited, warnings = check_citations(reply.text, found)
    sentences = [] if cited or _declined(text) else extract(found.question, found.passages)
    if sentences:
        return _answer(
            found,
            text=_joined(sentences),
            method="extract",
            citations=tuple(sentences),
            warnings=(*warnings, "these are the best sentences instead"),
            spent=time.perf_counter() - began,
            checker=checker,
            model=model,
            usage=reply.usage,
            uncited=text,
        )
    return _answer(
        found,
        text=text or None,
        method="model",
        citations=cited,
        warnings=warnings,
        spent=time.perf_counter() - began,
        checker=checker,
        model=model,
        usage=reply.usage,
    )


def unanswered(found: Found, model: str, error: HarnessError) -> Answer:
    """The passages without an answer, because the model could not be asked."""
    return _answer(found, spec=model, error=str(error))


def check_citations(reply: str, found: Found) -> tuple[str, tuple[Citation, ...], tuple[str, ...]]:
    """The reply with the citations that exist, those citations, and what must be said of it.

    A reply that cites nothing gets the sentence that holds all its words, where there is one.
    """
    known = {one.number: one for one in found.passages}
    cited: dict[int, Citation] = {}
    dropped: list[int] = []

    def kept(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        dropped.extend(number for number in numbers if number not in known)
        good = [number for number in numbers if number in known]
        cited.update({number: known[number] for number in good})
        return "".join(f" [{number}]" for number in good)

    text = _CITED.sub(kept, reply.strip()).strip()
    warnings: list[str] = []
    if dropped:
        wrong = ", ".join(f"[{number}]" for number in dict.fromkeys(dropped))
        warnings.append(f"cited {wrong}, which are none of the passages: dropped")
    if not text:
        return "", (), (*warnings, "the model said nothing")
    if _declined(text):
        return text, (), (*warnings, "the model finds no answer in the passages")
    if cited:
        return text, tuple(cited[number] for number in sorted(cited)), tuple(warnings)
    behind = _attributed(text, found)
    if behind is None:
        warnings.append("the answer cites nothing, and no passage says it in its words")
        return text, (), tuple(warnings)
    warnings.append("the model cited nothing: the citation was found by the answer's words")
    return f"{text} [{behind.number}]", (behind,), tuple(warnings)


def _declined(text: str) -> bool:
    return _NO_ANSWER.search(text) is not None


def _joined(sentences: Sequence[Citation]) -> str:
    return " ".join(f"{' '.join(one.text.split())} [{one.number}]" for one in sentences)


def _attributed(text: str, found: Found) -> Citation | None:
    """The sentence that holds all words of a text, under the number of its passage."""
    passages = as_passages(found.passages)
    parts = [Document(one.name, one.text) for one in passages]
    _, places = split_citations(attribute(text, found.question, parts))
    for place in places:
        for passage, citation in zip(passages, found.passages, strict=True):
            if passage.name == place.doc:
                return within(citation, place.start, place.end, citation.number, post_hoc=True)
    return None


def _answer(
    found: Found,
    *,
    text: str | None = None,
    method: str = "none",
    citations: tuple[Citation, ...] = (),
    warnings: tuple[str, ...] = (),
    spent: float = 0.0,
    checker: Checker | None = None,
    model: Model | None = None,
    spec: str = "",
    usage: Usage | None = None,
    error: str = "",
    uncited: str = "",
) -> Answer:
    checked = text is not None and checker is not None
    return Answer.model_validate(
        {
            **found.model_dump(exclude={"seconds", "warnings"}),
            "answer": text,
            "answered": text is not None and not _declined(text),
            "method": method,
            "model": model.spec if model is not None else spec,
            "simulated": model.simulated if model is not None else False,
            "citations": citations,
            "usage": usage or Usage(),
            "seconds": {
                "passages": round(found.seconds, 3),
                "answer": round(spent, 3),
                "total": round(found.seconds + spent, 3),
            },
            "warnings": (*found.warnings, *warnings),
            "verdict": checker(found.question, text, found.passages) if checked else None,  # pyright: ignore[reportOptionalCall, reportArgumentType]  # both are there where checked
            "error": error,
            "uncited": uncited,
        }
    )
