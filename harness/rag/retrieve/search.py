"""Searches over the segments of an index: two arms, fusion, reranking, parents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, Value
from harness.rag.retrieve import fusion
from harness.rag.retrieve.filters import Condition, all_hold
from harness.rag.retrieve.hit import Arm, Hit
from harness.rag.retrieve.lexical import LexicalIndex
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.segment import Segment
from harness.rag.retrieve.tokens import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Mask = NDArray[np.bool_]

DEPTH = 100
"""Candidates that each arm hands to the fusion."""
Place = tuple[int, int]
"""Number of a segment, and of a chunk in it."""


class SearchOptions(Value):
    """How a search goes about it.

    Attributes:
        arm: `hybrid` fuses both arms by reciprocal rank, `weighted` by scaled scores.
        dense_weight: share of the dense arm in `weighted`.
        depth: candidates of an arm before fusion.
        reranked: candidates that a reranker scores.
        parents: return the parent of each chunk, each parent once.
    """

    arm: Arm = "hybrid"
    dense_weight: float = 0.5
    depth: int = DEPTH
    reranked: int = 50
    parents: bool = False


def search_segments(
    segments: Sequence[Segment],
    query: str,
    vector: Vectors | None,
    k: int,
    options: SearchOptions,
    where: Sequence[Condition] = (),
    reranker: Reranker | None = None,
) -> list[Hit]:
    """The `k` best spans for a query, best first.

    Args:
        segments: of one index.
        query: as the user wrote it.
        vector: of the query, shape (1, dimension); None for the lexical arm alone.
        k: spans; fewer where fewer are found.
        options: see :class:`SearchOptions`.
        where: conditions on documents, all of which must hold.
        reranker: scores the best candidates again.

    Raises:
        BadInput: if the query is empty or k is below 1.
    """
    if not query.strip() or k < 1:
        raise BadInput(f"expected a query and k of 1 or more, got {query[:60]!r} and {k}")
    masks = [_allowed(segment, where) for segment in segments]
    fused = options.arm in ("hybrid", "weighted")
    depth = max(options.depth if fused or options.parents or reranker else 0, 2 * k)
    rankings: dict[str, list[tuple[Place, float]]] = {}
    if vector is not None:
        rankings["dense"] = _dense(segments, masks, vector, depth)
    if options.arm != "dense":
        rankings["lexical"] = _lexical(segments, masks, query, depth)
    ranked = fusion.fuse(rankings, options.arm, options.dense_weight)
    scores: dict[Place, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for place, score in ranking:
            scores.setdefault(place, {})[name] = score
    hits = _hits(segments, ranked, scores, options, max(k, options.reranked if reranker else 0))
    if reranker is not None:
        hits = reranked(hits, query, reranker)
    return hits[:k]


def _allowed(segment: Segment, where: Sequence[Condition]) -> Mask | None:
    """Chunks that may be found; None for all of them."""
    deleted = set(segment.info.deleted)
    if not deleted and not where:
        return None
    if not where:
        return segment.mask([number not in deleted for number in range(segment.info.documents)])
    return segment.mask(
        [
            number not in deleted and all_hold(where, facts)
            for number, facts in enumerate(segment.facts)
        ]
    )


def _dense(
    segments: Sequence[Segment], masks: Sequence[Mask | None], vector: Vectors, depth: int
) -> list[tuple[Place, float]]:
    found: list[tuple[Place, float]] = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        scores, rows = segment.dense.search(vector, depth, mask)
        pairs = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        found.extend(((number, row), score) for row, score in pairs if row >= 0)
    return sorted(found, key=lambda item: (-item[1], item[0]))[:depth]


def _lexical(
    segments: Sequence[Segment], masks: Sequence[Mask | None], query: str, depth: int
) -> list[tuple[Place, float]]:
    """BM25 of a chunk plus that of its parent: words that stand around a chunk speak for it."""
    tokens = terms(query)
    chunks = _scores([segment.chunk_terms for segment in segments], tokens)
    parents = _scores([segment.parent_terms for segment in segments], tokens)
    found: list[tuple[Place, float]] = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        scores = chunks[number]
        scores += (scores > 0) * parents[number][segment.parents]
        if mask is not None:
            scores[~mask] = 0
        best = _largest(scores, depth)
        found.extend(((number, row), float(scores[row])) for row in best)
    return sorted(found, key=lambda item: (-item[1], item[0]))[:depth]


def _scores(indexes: Sequence[LexicalIndex], tokens: Sequence[str]) -> list[Any]:
    """Scores of every segment, with document frequencies of all of them."""
    queries = [index.expand(tokens) for index in indexes]
    frequency: Counter[str] = Counter()
    for token in {token for query in queries for token in query}:
        frequency[token] = sum(index.frequency(token) for index in indexes)
    total = sum(index.chunks for index in indexes)
    return [
        index.scores(query, total, frequency) for index, query in zip(indexes, queries, strict=True)
    ]


def _largest(scores: Any, depth: int) -> list[int]:
    """Places of the largest positive scores, in no order."""
    import numpy as np

    places = np.flatnonzero(scores > 0)
    if len(places) > depth:
        places = places[np.argpartition(-scores[places], depth - 1)[:depth]]
    return [int(place) for place in places]


def _hits(
    segments: Sequence[Segment],
    ranked: Sequence[tuple[Place, float]],
    scores: dict[Place, dict[str, float]],
    options: SearchOptions,
    wanted: int,
) -> list[Hit]:
    hits: list[Hit] = []
    seen: set[tuple[int, int, int, int]] = set()
    for place, score in ranked:
        segment = segments[place[0]]
        number, chunk = segment.chunk(place[1])
        span = (chunk.parent_start, chunk.parent_end) if options.parents else chunk[:2]
        key = (place[0], number, *span)
        if key in seen:
            continue
        seen.add(key)
        hits.append(Hit.of(segment.document(number), span, score, scores.get(place, {})))
        if len(hits) == wanted:
            break
    return hits


def reranked(hits: Sequence[Hit], query: str, reranker: Reranker) -> list[Hit]:
    """Hits by the reranker's score; what it did not score comes after, in the order before."""
    from dataclasses import replace

    texts = [" > ".join(hit.headings) + "\n" + hit.text for hit in hits]
    found = reranker.score(query, texts)
    scored = [
        replace(hit, score=score, scores={**hit.scores, "rerank": score})
        for hit, score in zip(hits, found, strict=True)
    ]
    return sorted(scored, key=lambda hit: -hit.score)
