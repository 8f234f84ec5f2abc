"""What a question is asked of: files read now, or an index made before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from harness.core import BadInput
from harness.rag.ask.types import AskSettings
from harness.rag.retrieve import (
    Arm,
    Document,
    Hit,
    LocalIndex,
    SearchOptions,
    estimate_tokens,
    open_index,
    parse_paths,
)
from harness.rag.tools.documents import SEARCH_ARMS, search_documents

MEANT = 20_000
"""Tokens of plain files up to which they are embedded for one question."""
LEAST_COSINE = 0.25
"""A passage that shares no word with the question and is less like it than that is no hit."""
WIDEST = 8
"""Documents of an index that are compressed for a question."""
DEPTH = 64
Finder = Callable[[str, int], Sequence[Hit]]


@dataclass(frozen=True)
class Library:
    """Documents that can be searched.

    Attributes:
        arm: of the search.
        search: (question, passages) -> hits, best first.
        document: of an id.
        sources: for a stage that reads documents whole, given the question.
        warnings: of the parsers and the encoder.
    """

    arm: Arm
    search: Finder
    document: Callable[[str], Document]
    sources: Callable[[str], Sequence[Document]]
    warnings: tuple[str, ...] = ()


def open_library(settings: AskSettings) -> Library:
    """The files or the index of the settings.

    Raises:
        BadInput: if both or none are named, or they cannot be read.
    """
    if bool(settings.paths) == (settings.index is not None):
        raise BadInput(
            "expected files or folders to read, or --index DIR, and not both: such as "
            '`harness ask "who signed it?" report.pdf`'
        )
    if settings.index is not None:
        return _indexed(open_index(settings.index), settings)
    return _read(settings)


def _read(settings: AskSettings) -> Library:
    parsed = parse_paths(settings.paths, settings.reading)
    documents = {document.id: document for document in parsed.documents}
    warnings = [f"passed over: {one.reason}" for one in parsed.passed_over]
    warnings += [f"{one.source}: {text}" for one in parsed.documents for text in one.warnings]
    few = sum(estimate_tokens(one.text) for one in parsed.documents) <= MEANT
    arm: Arm = settings.arm or ("hybrid" if few else "lexical")
    if arm not in SEARCH_ARMS:
        raise BadInput(
            f"expected the arm {', '.join(SEARCH_ARMS)} for files, got {arm!r}: --index takes all"
        )
    if settings.arm is None and not few:
        warnings.append(
            "many files: searched by their words alone; `harness index build` makes an index "
            "that is searched by meaning too"
        )
    search = partial(_among, parsed.documents, arm)
    return Library(arm, search, documents.__getitem__, lambda _: parsed.documents, tuple(warnings))


def _among(documents: Sequence[Document], arm: Arm, question: str, k: int) -> list[Hit]:
    return relevant(search_documents(documents, question, k, SEARCH_ARMS[arm]))


def _indexed(index: LocalIndex, settings: AskSettings) -> Library:
    arm: Arm = settings.arm or "hybrid"
    options = SearchOptions(arm=arm)

    def search(question: str, k: int) -> list[Hit]:
        return relevant(index.search(question, k, options=options))

    def sources(question: str) -> list[Document]:
        if settings.context == "truncate":
            return [index.document(doc) for doc in index.ids()]
        found = dict.fromkeys(hit.doc for hit in search(question, DEPTH))
        return [index.document(doc) for doc in list(found)[:WIDEST]]

    warnings = (*index.warnings, *index.query_warnings(settings.question))
    return Library(arm, search, index.document, sources, warnings if arm != "lexical" else ())


def relevant(hits: Sequence[Hit]) -> list[Hit]:
    """The hits that share a word with the question, or are like it."""
    return [
        hit
        for hit in hits
        if hit.scores.get("lexical", 0.0) > 0 or hit.scores.get("dense", 0.0) >= LEAST_COSINE
    ]


def named(document: Document) -> Document:
    """The document with a source, for citations."""
    return document if document.source else replace(document, source=document.id)
