"""From a question to numbered passages within a budget, of files read now or of an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.core import BadInput
from harness.rag.ask.types import Answer, AskSettings, Citation
from harness.rag.retrieve import (
    Arm,
    Document,
    Hit,
    LocalIndex,
    SearchOptions,
    estimate_tokens,
    headings_at,
    open_index,
    parse_paths,
    time_at,
)
from harness.rag.tools.context import ContextStage, Gathered
from harness.rag.tools.documents import index_of

# Tokens of plain files up to which they are embedded for one question.
_EMBEDDED = 20_000
# Documents of an index that are compressed for a question.
_WIDEST = 8
_DEPTH = 64
# Characters that a citation shows before and behind itself.
_AROUND = 400


@dataclass(frozen=True)
class _Library:
    """Documents that can be searched.

    Attributes:
        arm: of the search.
        search: (question, passages) -> hits, best first.
        document: of an id.
        sources: for a stage that reads documents whole.
        warnings: of the parsers and the encoder.
    """

    arm: Arm
    search: Callable[[str, int], Sequence[Hit]]
    document: Callable[[str], Document]
    sources: Callable[[], Sequence[Document]]
    warnings: tuple[str, ...] = ()


def find_passages(settings: AskSettings) -> Answer:
    """Read, search and choose: an answer without a text over its passages; no model is called.

    Raises:
        BadInput: for an empty question, a budget below 1 or below the smallest unit, and files or
            an index that cannot be read.
    """
    began = time.perf_counter()
    if not settings.question.strip():
        raise BadInput("expected a question, got an empty one")
    if settings.budget < 1:
        raise BadInput(f"expected a budget of 1 token or more, got {settings.budget}")
    if bool(settings.paths) == (settings.index is not None):
        raise BadInput(
            "expected files or folders to read, or --index DIR, and not both: such as "
            '`harness ask "who signed it?" report.pdf`'
        )
    library = _read_files(settings) if settings.index is None else _open(settings.index, settings)
    question, context = settings.question, settings.context
    if context in ("compress", "truncate"):
        sources = library.sources()
    else:
        docs = dict.fromkeys(hit.doc for hit in library.search(question, _DEPTH))
        sources = [library.document(doc) for doc in docs]
    gathered: Gathered | None = None  # where no document has anything to do with the question
    if sources:
        stage = ContextStage(context, finder=library.search)
        gathered = stage.gather(question, sources, settings.budget)
        if not gathered.passages:
            raise BadInput(
                f"no passage fits a budget of {settings.budget} tokens beside its citation: raise "
                "--budget, or let --context compress cut it"
            )
    passages = tuple(
        _cite(library.document(passage.doc), passage.start, passage.end, number)
        for number, passage in enumerate(gathered.passages if gathered else (), start=1)
    )
    return Answer(
        question=question,
        context=context,
        arm="" if context in ("compress", "truncate") and settings.paths else library.arm,
        budget=settings.budget,
        tokens=gathered.tokens if gathered else 0,
        tokenizer=gathered.tokenizer if gathered else "",
        passages=passages,
        seconds={"passages": time.perf_counter() - began},
        warnings=(*library.warnings, *(gathered.warnings if gathered else ())),
    )


def _read_files(settings: AskSettings) -> _Library:
    parsed = parse_paths(settings.paths, settings.reading)
    files = parsed.documents
    warnings = parsed.notes
    few = sum(estimate_tokens(file.text) for file in files) <= _EMBEDDED
    arm: Arm = settings.arm or ("weighted" if few else "lexical")
    if settings.arm is None and not few:
        warnings.append(
            "many files: searched by their words alone; `harness index build PATH` makes an index "
            "that is searched by meaning too"
        )

    if arm != "lexical" and settings.context in ("retrieve", "both"):
        index = index_of(files, arm, settings.question)
        foreign = [f"not English alone: searched with {index.encoder.name}"]
        warnings += [
            *index.query_warnings(settings.question),
            *(foreign if index.encoder.spec == "e5" else ()),
        ]

    def search(question: str, k: int) -> list[Hit]:
        index = index_of(files, arm, question)
        hits = index.search(question, k, options=SearchOptions(arm=arm))
        return _relevant(hits, index, question)

    return _Library(
        arm, search, {file.id: file for file in files}.__getitem__, lambda: files, tuple(warnings)
    )


def _open(folder: Path, settings: AskSettings) -> _Library:
    index = open_index(folder)
    arm: Arm = settings.arm or SearchOptions().arm

    def search(question: str, k: int) -> list[Hit]:
        return _relevant(index.search(question, k, options=SearchOptions(arm=arm)), index, question)

    def sources() -> list[Document]:
        if settings.context == "truncate":
            return [index.document(doc) for doc in index.ids()]
        docs = dict.fromkeys(hit.doc for hit in search(settings.question, _DEPTH))
        return [index.document(doc) for doc in list(docs)[:_WIDEST]]

    warnings = (*index.warnings, *index.query_warnings(settings.question))
    return _Library(arm, search, index.document, sources, warnings if arm != "lexical" else ())


def _relevant(hits: Sequence[Hit], index: LocalIndex, question: str) -> list[Hit]:
    """The hits that share a word with the question, or are like it.

    Across languages likenesses are smaller: of 60 questions of XQuAD in German over English
    paragraphs 99 in 100 are above 0.1, and of other paragraphs one is.
    """
    least = 0.25 if index.dense_share(question, 0.5) < 1 else 0.1
    return [
        hit
        for hit in hits
        if hit.scores.get("lexical", 0.0) > 0
        or index.encoder.likeness(hit.scores.get("dense", 0.0)) >= least
    ]


def _cite(document: Document, start: int, end: int, number: int) -> Citation:
    """The citation of a stretch of a document; where there is a file, its link opens the place."""
    document = document if document.source else replace(document, source=document.id)
    page, source, text = document.page_at(start), document.source, document.text
    time = document.time_at(start)
    uri, path = "", Path(source.partition("#")[0])
    if source.startswith(("http://", "https://")):
        uri = source
    elif path.is_file():
        anchor = f"#page={page}" if page is not None else f"#t={time:.1f}" if time else ""
        uri = path.resolve().as_uri() + anchor
    return Citation(
        number=number,
        doc=document.id,
        source=source,
        uri=uri,
        page=page,
        time=time,
        pages=tuple(begun for begun in document.pages if start < begun.start < end),
        times=tuple(spoken for spoken in document.times if start <= spoken.start <= end),
        start=start,
        end=end,
        text=text[start:end],
        headings=document.headings_at(start),
        sections=(
            *headings_at(document.headings, start),
            *(heading for heading in document.headings if start < heading.start < end),
        ),
        before=text[max(0, start - _AROUND) : start],
        after=text[end : end + _AROUND],
    )


def within(
    citation: Citation, start: int, end: int, number: int, *, post_hoc: bool = False
) -> Citation:
    """A stretch of a citation's text, by places in it, as a citation of its own."""
    text = citation.text
    return opened_at(citation, start).model_copy(
        update={
            "number": number,
            "start": citation.start + start,
            "end": citation.start + end,
            "text": text[start:end],
            "headings": tuple(heading.title for heading in citation.above(start)),
            "before": (citation.before + text[:start])[-_AROUND:],
            "after": (text[end:] + citation.after)[:_AROUND],
            "post_hoc": post_hoc,
        }
    )


def opened_at(citation: Citation, position: int) -> Citation:
    """The citation with page, second and link of a place in its text."""
    time, page = time_at(citation.times, citation.start + position), citation.page_at(position)
    if time is None and page == citation.page:
        return citation
    anchor = f"t={time:.1f}" if page is None else f"page={page}"
    uri = f"{citation.uri.partition('#')[0]}#{anchor}" if citation.uri else ""
    return citation.model_copy(update={"time": time, "page": page, "uri": uri})
