"""From a question to numbered passages within a budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput
from harness.rag.ask.library import DEPTH, Library, named, open_library
from harness.rag.ask.types import AskSettings, Citation, Found
from harness.rag.retrieve import Document
from harness.rag.tools.context import ContextStage, Gathered
from harness.rag.tools.passages import Passage

AROUND = 400
"""Characters that a citation shows before and behind itself."""


def find_passages(settings: AskSettings) -> Found:
    """Read, search and choose; no model is called.

    Raises:
        BadInput: for an empty question, a budget below 1 or below the smallest unit, and files or
            an index that cannot be read.
    """
    began = time.perf_counter()
    if not settings.question.strip():
        raise BadInput("expected a question, got an empty one")
    if settings.budget < 1:
        raise BadInput(f"expected a budget of 1 token or more, got {settings.budget}")
    library = open_library(settings)
    gathered = _gathered(settings, library)
    passages = tuple(
        cite(library.document(one.doc), one.start, one.end, number)
        for number, one in enumerate(gathered.passages if gathered else (), start=1)
    )
    return Found(
        question=settings.question,
        context=settings.context,
        arm="" if settings.context in ("compress", "truncate") and settings.paths else library.arm,
        budget=settings.budget,
        tokens=gathered.tokens if gathered else 0,
        tokenizer=gathered.tokenizer if gathered else "",
        passages=passages,
        seconds=time.perf_counter() - began,
        warnings=(*library.warnings, *(gathered.warnings if gathered else ())),
    )


def _gathered(settings: AskSettings, library: Library) -> Gathered | None:
    """What the stage chose; None where nothing was found."""
    question = settings.question
    stage = ContextStage(settings.context, finder=library.search)
    if settings.context in ("compress", "truncate"):
        sources = library.sources(question)
    else:
        hits = library.search(question, DEPTH)
        sources = [library.document(doc) for doc in dict.fromkeys(hit.doc for hit in hits)]
    if not sources:
        return None
    found = stage.gather(question, sources, settings.budget)
    if not found.passages:
        raise BadInput(
            f"no passage fits a budget of {settings.budget} tokens beside its citation: raise "
            "--budget, or let --context compress cut it"
        )
    return found


def cite(
    document: Document, start: int, end: int, number: int, *, post_hoc: bool = False
) -> Citation:
    """The citation of a stretch of a document."""
    document, text = named(document), document.text
    page = document.page_at(start)
    return Citation(
        number=number,
        doc=document.id,
        source=document.source,
        uri=link(document.source, page),
        page=page,
        start=start,
        end=end,
        text=text[start:end],
        headings=document.headings_at(start),
        before=text[max(0, start - AROUND) : start],
        after=text[end : end + AROUND],
        post_hoc=post_hoc,
    )


def link(source: str, page: int | None) -> str:
    """A link that opens a source: a URL as it is, a file where there is one, else ""."""
    if source.startswith(("http://", "https://")):
        return source
    path = Path(source.partition("#")[0])
    if not path.is_file():
        return ""
    return path.resolve().as_uri() + (f"#page={page}" if page is not None else "")


def within(citation: Citation, start: int, end: int, number: int, *, post_hoc: bool) -> Citation:
    """A stretch of a citation's text, by places in it, as a citation of its own."""
    text = citation.text
    return citation.model_copy(
        update={
            "number": number,
            "start": citation.start + start,
            "end": citation.start + end,
            "text": text[start:end],
            "before": (citation.before + text[:start])[-AROUND:],
            "after": (text[end:] + citation.after)[:AROUND],
            "post_hoc": post_hoc,
        }
    )


def as_passages(found: Sequence[Citation]) -> list[Passage]:
    """Citations as passages."""
    return [Passage(one.doc, one.start, one.end, one.text, 0.0) for one in found]
