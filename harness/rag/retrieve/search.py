"""Searches: conditions on documents, two arms, fusion, reranking, parents."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, Value
from harness.rag.retrieve.chunk import Chunk
from harness.rag.retrieve.document import Arm, Document, Hit
from harness.rag.retrieve.lexical import LexicalIndex
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.segment import Segment
from harness.rag.retrieve.text import terms

KeyT = TypeVar("KeyT", bound=Hashable)
DocT = TypeVar("DocT", bound=Hashable)
# Keys with their scores, best first.
Ranking = Sequence[tuple[KeyT, float]]
Operator = Literal["=", "!=", ">=", "<=", ">", "<", "~"]
Mask = NDArray[np.bool_]
# Number of a segment, and of a chunk in it.
Place = tuple[int, int]

# Candidates that each arm hands to the fusion.
DEPTH = 100
RRF_K = 60
_CONDITION = re.compile(r"([\w.-]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*)", re.DOTALL)
_ORDER: dict[Operator, Callable[[Any, Any], bool]] = {
    ">=": lambda fact, value: fact >= value,
    "<=": lambda fact, value: fact <= value,
    ">": lambda fact, value: fact > value,
    "<": lambda fact, value: fact < value,
}


@dataclass(frozen=True)
class Condition:
    """One condition on one field; `id` and `source` are fields too.

    Attributes:
        field: name of the field.
        operator: `=` also holds where a list contains the value or the value is a list that
            contains the field; `~` is a pattern with `*`.
        value: a string, number, truth value or, for `=` and `!=`, a list of them.
    """

    field: str
    operator: Operator
    value: Any

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether a document with these facts meets it; a missing field only meets `!=`."""
        fact = facts.get(self.field)
        if self.operator == "!=":
            return not _equal(fact, self.value)
        if fact is None:
            return False
        if self.operator == "=":
            return _equal(fact, self.value)
        if self.operator == "~":
            return fnmatchcase(str(fact), str(self.value))
        try:
            return _ORDER[self.operator](fact, self.value)
        except TypeError:
            return False


def parse_condition(text: str) -> Condition:
    """Read `field=value`, `year>=2020`, `source~docs/*`; a value is JSON where it can be.

    Raises:
        BadInput: if it has no operator.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None or match[2] not in get_args(Operator):
        raise BadInput(
            f"expected a condition such as year>=2020, language=en or source~docs/*, got {text!r}"
        )
    try:
        value: Any = json.loads(match[3])
    except json.JSONDecodeError:
        value = match[3]
    return Condition(match[1], cast("Operator", match[2]), value)


def all_hold(conditions: Sequence[Condition], facts: Mapping[str, Any]) -> bool:
    """Whether every condition holds."""
    return all(condition.holds(facts) for condition in conditions)


def _equal(fact: Any, value: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(fact, choice) for choice in cast("list[Any]", value))
    if isinstance(fact, list):
        return value in fact
    return fact == value or (fact is not None and str(fact) == value)


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


DEFAULT_SEARCH = SearchOptions()


def reciprocal_rank(
    rankings: Mapping[str, Ranking[KeyT]], k: int = RRF_K
) -> list[tuple[KeyT, float]]:
    """Sum of 1 / (k + rank), ranks from 1 (Cormack, Clarke & Büttcher 2009); best first.

    Needs no scores that can be compared; a weak ranking counts as much as a strong one.
    """
    sums: dict[KeyT, float] = {}
    for ranking in rankings.values():
        for rank, (key, _) in enumerate(ranking, start=1):
            sums[key] = sums.get(key, 0.0) + 1 / (k + rank)
    return sorted(sums.items(), key=lambda item: -item[1])


def weighted(
    rankings: Mapping[str, Ranking[KeyT]], weights: Mapping[str, float]
) -> list[tuple[KeyT, float]]:
    """Convex combination of scores scaled to 0..1 within each ranking (Bruch et al. 2023).

    A key that a ranking does not hold has 0 in it.

    Args:
        rankings: (key, score), best first, by name.
        weights: by the same names; scaled to a sum of 1.
    """
    total = sum(weights[name] for name in rankings) or 1.0
    sums: dict[KeyT, float] = {}
    for name, ranking in rankings.items():
        scores = [score for _, score in ranking] or [0.0]
        low, high = min(scores), max(scores)
        for key, score in ranking:
            scaled = (score - low) / (high - low) if high > low else 1.0
            sums[key] = sums.get(key, 0.0) + weights[name] / total * scaled
    return sorted(sums.items(), key=lambda item: -item[1])


def ranked_hits(
    query: str,
    k: int,
    options: SearchOptions,
    reranker: Reranker | None,
    arms: Mapping[str, Callable[[int], Ranking[KeyT]]],
    chunk_of: Callable[[KeyT], tuple[DocT, Chunk]],
    document_of: Callable[[DocT], Document],
) -> list[Hit]:
    """The `k` best spans for a query, best first.

    Args:
        query: as the user wrote it.
        k: spans; fewer where fewer are found.
        options: see :class:`SearchOptions`.
        reranker: scores the best candidates again; those that it did not score come after.
        arms: `dense` and `lexical`: number of candidates -> ranking of chunks.
        chunk_of: key of a chunk -> its document and the chunk.
        document_of: opens a document.

    Raises:
        BadInput: if the query is empty or k is below 1.
    """
    if not query.strip() or k < 1:
        raise BadInput(f"expected a query and k of 1 or more, got {query[:60]!r} and {k}")
    fused = options.arm in ("hybrid", "weighted")
    depth = max(options.depth if fused or options.parents or reranker else 0, 2 * k)
    rankings = {
        name: search(depth) for name, search in arms.items() if fused or name == options.arm
    }
    if not fused:
        ranked = rankings[options.arm]
    elif options.arm == "weighted":
        share = options.dense_weight
        ranked = weighted(rankings, {"dense": share, "lexical": 1 - share})
    else:
        ranked = reciprocal_rank(rankings)
    scores: dict[KeyT, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for key, score in ranking:
            scores.setdefault(key, {})[name] = score
    hits: dict[tuple[DocT, int, int], Hit] = {}
    for key, score in ranked:
        if len(hits) == max(k, options.reranked if reranker else 0):
            break
        doc, chunk = chunk_of(key)
        span = chunk[2:] if options.parents else chunk[:2]
        if (doc, *span) not in hits:
            hits[doc, *span] = Hit.of(document_of(doc), span, score, scores[key])
    best = list(hits.values())
    if reranker is not None:
        values = reranker.score(query, [" > ".join(hit.headings) + "\n" + hit.text for hit in best])
        best = [
            replace(hit, score=value, scores={**hit.scores, "rerank": value})
            for hit, value in zip(best, values, strict=True)
        ]
        best.sort(key=lambda hit: -hit.score)
    return best[:k]


def allowed_chunks(segment: Segment, where: Sequence[Condition]) -> Mask | None:
    """Chunks that may be found, shape (chunks,); None for all of them."""
    deleted = set(segment.info.deleted)
    if not deleted and not where:
        return None
    documents = [
        number not in deleted and (not where or all_hold(where, segment.facts[number]))
        for number in range(segment.info.documents)
    ]
    return np.asarray(documents, dtype=bool)[segment.chunks[:, 0]]


def dense_ranking(
    segments: Sequence[Segment],
    masks: Sequence[Mask | None],
    vector: NDArray[np.float32],
    depth: int,
) -> list[tuple[Place, float]]:
    """The chunks nearest to a query vector of shape (1, dimension)."""
    candidates: list[tuple[Place, float]] = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        scores, rows = segment.dense.search(vector, depth, mask)
        pairs = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        candidates.extend(((number, row), score) for row, score in pairs if row >= 0)
    return sorted(candidates, key=lambda item: (-item[1], item[0]))[:depth]


def lexical_ranking(
    segments: Sequence[Segment], masks: Sequence[Mask | None], query: str, depth: int
) -> list[tuple[Place, float]]:
    """BM25 of a chunk plus that of its parent: words that stand around a chunk speak for it."""
    tokens = terms(query)
    chunks = _term_scores([segment.chunk_terms for segment in segments], tokens)
    parents = _term_scores([segment.parent_terms for segment in segments], tokens)
    candidates: list[tuple[Place, float]] = []
    for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
        scores = chunks[number]
        scores += (scores > 0) * parents[number][segment.parents]
        if mask is not None:
            scores[~mask] = 0
        places = np.flatnonzero(scores > 0)
        if len(places) > depth:
            places = places[np.argpartition(-scores[places], depth - 1)[:depth]]
        candidates.extend(((number, int(place)), float(scores[place])) for place in places)
    return sorted(candidates, key=lambda item: (-item[1], item[0]))[:depth]


def _term_scores(
    indexes: Sequence[LexicalIndex], tokens: Sequence[str]
) -> list[NDArray[np.float32]]:
    """Scores of every segment, with document frequencies of all of them."""
    queries = [index.expand(tokens) for index in indexes]
    vocabulary = {token for query in queries for token in query}
    frequency = Counter(
        {token: sum(index.frequency(token) for index in indexes) for token in vocabulary}
    )
    total = sum(index.chunks for index in indexes)
    return [
        index.scores(query, total, frequency) for index, query in zip(indexes, queries, strict=True)
    ]
