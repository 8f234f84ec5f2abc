"""QwenLong-CPRS: a query, an instruction and a context become the spans that matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput
from harness.rag.compress.budget import Budget
from harness.rag.compress.compressor import Compressor
from harness.rag.compress.critics import open_critic
from harness.rag.compress.markers import Style
from harness.rag.compress.pool import dense_pool
from harness.rag.compress.ranking import rank
from harness.rag.compress.reading import Read, read_paths
from harness.rag.compress.scan import SCAN_FROM, sparse_pool
from harness.rag.compress.segment import Choice, segment
from harness.rag.compress.sources import FileSource, Source, TextSource
from harness.rag.compress.store import Store
from harness.rag.compress.tokens import Tokenizer, open_tokenizer
from harness.rag.compress.types import (
    Calibrated,
    Compressed,
    Critic,
    Granularity,
    Omission,
    Query,
    Span,
    TokenCounts,
    Triplet,
    Unit,
)
from harness.rag.compress.whole import measure, unchanged
from harness.rag.retrieve.document import Document

__all__ = [
    "Budget",
    "Calibrated",
    "Choice",
    "Compressed",
    "Critic",
    "FileSource",
    "Granularity",
    "Omission",
    "Query",
    "Read",
    "Source",
    "Span",
    "Store",
    "Style",
    "TextSource",
    "TokenCounts",
    "Tokenizer",
    "Triplet",
    "Unit",
    "compress",
    "expand",
    "open_critic",
    "open_tokenizer",
    "read_paths",
    "segment",
]


def compress(
    documents: str | Document | Path | Sequence[str | Document | Path],
    query: str,
    *,
    instruction: str = "",
    budget: int | None = None,
    ratio: float | None = None,
    recall: float | None = None,
    critic: str | Critic = "auto",
    granularity: Choice = "auto",
    tokenizer: str = "estimate",
    expand_entities: bool = True,
    markers: Style = "auto",
    reversible: bool = True,
    store: Store | None = None,
    language: str | None = None,
) -> Compressed:
    """Keep what the query needs of the documents, verbatim and in order, within a budget.

    Args:
        documents: texts (named `text-1`, ...), parsed documents, or UTF-8 files, which are read
            in blocks and never held whole.
        query: the question; empty, or one about the whole document, gives coverage.
        instruction: what to keep and how it relates to the query.
        budget: most tokens of the result, markers included.
        ratio: the same as a share of the input.
        recall: share of the evidence to keep, for a calibrated critic.
        critic: a name of :func:`open_critic`, or a critic.
        granularity: of the units; `auto` by content.
        tokenizer: in which the budget holds, see :func:`open_tokenizer`.
        expand_entities: follow identifiers and names from what is found (chains, bridges).
        markers: `full` with IDs, `short` with token counts only, `none`, or `auto`.
        reversible: keep what is left out on disk, so that :func:`expand` restores it.
        store: where; default in the user's cache folder.
        language: ISO 639-1 code; default identified.

    Returns:
        The result; the input unchanged if it fits the budget, or if markers would lengthen it.

    Raises:
        BadInput: if the documents hold no text, the budget is below the smallest unit (the
            minimum is named), or an option has no such value.

    Example:
        >>> text = "Ann is 31 and sings. " * 5 + "Bob likes tea. " + "Cy is 40 and rows. " * 5
        >>> found = compress(text, "Bob", budget=24, critic="lexical", reversible=False)
        >>> found.text, found.spans[0].start
        ('[…35] Bob likes tea. […35]', 105)
    """
    sources = _sources(documents)
    wanted, counter = Budget(budget, ratio, recall), open_tokenizer(tokenizer)
    chosen = open_critic(critic) if isinstance(critic, str) else critic
    size = measure(sources, counter)
    if not size.visible:
        raise BadInput("expected a text to compress, found no visible character in it")
    if recall is not None and size.marked:
        note = "compressed before: no recall target can be met on what is left; expand it first"
        return unchanged(sources, size, counter, chosen.name, [note])
    if size.text <= wanted.limit(size.original) and recall is None:
        return unchanged(sources, size, counter, chosen.name, [])
    asked, limit = Query(instruction, query), wanted.limit(size.original)
    if size.original < SCAN_FROM:
        pool = dense_pool(sources, counter, granularity, language)
    else:
        pool = sparse_pool(sources, counter, granularity, language, asked, size.original)
    ranked = rank(pool, asked, chosen, limit, recall=recall, expand=expand_entities)
    kept = (store or Store()) if reversible else None
    found = Compressor(sources, ranked, counter, markers, kept).compress(wanted, size.original)
    if found.tokens.output >= size.text:
        return unchanged(sources, size, counter, chosen.name, [])
    return found


def expand(id_: str, *, store: Store | None = None) -> str:
    """What was left out under the ID of a marker, markers inside it expanded too.

    Raises:
        BadInput: if the store has no such ID.
    """
    return (store or Store()).expand(id_)


def _sources(documents: str | Document | Path | Sequence[str | Document | Path]) -> list[Source]:
    given = [documents] if isinstance(documents, str | Document | Path) else list(documents)
    sources: list[Source] = []
    for number, one in enumerate(given, start=1):
        if isinstance(one, Path):
            sources.append(FileSource(one))
        else:
            named = Document(f"text-{number}", one) if isinstance(one, str) else one
            sources.append(TextSource(named))
    ids = [source.id for source in sources]
    doubled = next((id_ for id_ in ids if ids.count(id_) > 1), None)
    if doubled is not None:
        raise BadInput(f"expected distinct ids of documents, found {doubled!r} twice")
    return sources
