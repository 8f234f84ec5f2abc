"""Searching an index: conditions, arms, fusion, reranking, parents."""

from __future__ import annotations

import json
import operator
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeVar, cast

from harness.core import BadInput, Value
from harness.rag.retrieve.chunk import Chunk
from harness.rag.retrieve.document import Arm, Document, Hit
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.text import identify_language

KeyT = TypeVar("KeyT", bound=Hashable)
# Keys with their scores, best first.
Ranking = Sequence[tuple[KeyT, float]]
# What an index opens its document by, and the chunk.
Candidate = tuple[Hashable, Chunk]
# Number of candidates -> the best of them.
ArmSearch = Callable[[int], Ranking[Candidate]]
Operator = Literal["=", "!=", ">=", "<=", ">", "<", "~"]
# Called with (chunks embedded, chunks in all).
Progress = Callable[[int, int], None]

# Candidates that each arm hands to the fusion.
DEPTH = 100
RRF_K = 60
_CONDITION = re.compile(r"([\w.-]+)\s*(!=|>=|<=|=|>|<|~)\s*(.*)", re.DOTALL)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


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

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Return True if a document with these facts meets it; a missing field only meets `!=`."""
        actual = metadata.get(self.field)
        if self.operator == "!=":
            return not _equal(actual, self.value)
        if actual is None:
            return False
        if self.operator == "=":
            return _equal(actual, self.value)
        if self.operator == "~":
            return fnmatchcase(str(actual), str(self.value))
        try:
            return _ORDER[self.operator](actual, self.value)
        except TypeError:
            return False


def parse_condition(text: str) -> Condition:
    """Read `field=value`, `year>=2020`, `source~docs/*`; a value is JSON where it can be.

    Raises:
        BadInput: if it has no operator.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None:
        raise BadInput(
            f"expected a condition such as year>=2020, language=en or source~docs/*, got {text!r}"
        )
    try:
        value: Any = json.loads(match[3])
    except json.JSONDecodeError:
        value = match[3]
    return Condition(match[1], cast("Operator", match[2]), value)


def all_hold(conditions: Sequence[Condition], metadata: Mapping[str, Any]) -> bool:
    """Return True if every condition holds."""
    return all(condition.holds(metadata) for condition in conditions)


def _equal(actual: Any, value: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(actual, choice) for choice in cast("list[Any]", value))
    if isinstance(actual, list):
        return value in actual
    return actual == value or (actual is not None and str(actual) == value)


class Changed(Value):
    """The result of a change.

    Attributes:
        added: documents that are new.
        replaced: documents that were there with another content.
        unchanged: documents that were there with the same content; nothing was embedded.
        deleted: documents taken out.
        chunks: of the documents added and replaced.
        documents: in the index now.
        warnings: languages that the encoder does not know, and the like.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    chunks: int = 0
    documents: int = 0
    warnings: tuple[str, ...] = ()


class SearchOptions(Value):
    """Settings of a search.

    Attributes:
        arm: `hybrid` fuses both arms by reciprocal rank, `weighted` by scaled scores.
        dense_weight: share of the dense arm in `weighted`; none for a query in a language that
            the encoder does not know, all for one in a language that no document is in.
        depth: candidates of an arm before fusion.
        reranked: candidates that a reranker scores.
        parents: return the parent of each chunk, each parent once.
    """

    arm: Arm = "weighted"
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


class Index(ABC):
    """Documents that can be searched.

    An index is opened with the encoder that made it, and refuses any other.

    Attributes:
        encoder: that makes its vectors.
    """

    encoder: Encoder

    @property
    @abstractmethod
    def languages(self) -> Counter[str]:
        """Documents by language, `?` where it is open."""

    def language_of(self, query: str) -> str | None:
        """The query's ISO 639-1 code; of a short one that of most documents, None if not known."""
        documents = (language for language, _ in self.languages.most_common())
        return identify_language(query) or next(
            (language for language in documents if language != "?"), None
        )

    def knows(self, query: str) -> bool:
        """Return True unless the encoder was trained on other languages than the query's."""
        language, trained = self.language_of(query), self.encoder.languages
        return trained is None or language is None or language in trained

    def dense_share(self, query: str, share: float) -> float:
        """Share of the dense arm: words of a query meet those of documents in its language."""
        if not self.knows(query):
            return 0.0
        known = self.languages.keys() - {"?"}
        return 1.0 if known and self.language_of(query) not in known else share

    @abstractmethod
    def _arms(
        self, query: str, where: Sequence[Condition]
    ) -> tuple[dict[str, ArmSearch], Callable[[Any], Document]]:
        """The arms `dense` and `lexical`, and what opens the document of a candidate."""

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        options: SearchOptions = DEFAULT_SEARCH,
        where: Sequence[Condition] = (),
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The `k` best spans for a query, best first.

        Args:
            query: as the user wrote it.
            k: spans; fewer where fewer are found.
            options: see :class:`SearchOptions`.
            where: conditions that a document must meet.
            reranker: scores the best candidates again; those that it did not score come after.

        Raises:
            BadInput: if the query is empty, k is below 1, or the encoder no longer makes the
                vectors that it made when the index was built.
            Unreachable: if the encoder's or the reranker's endpoint does not answer.
        """
        if not query.strip() or k < 1:
            raise BadInput(f"expected a query and k of 1 or more, got {query[:60]!r} and {k}")
        fused = options.arm in ("hybrid", "weighted")
        depth = max(options.depth if fused or options.parents or reranker else 0, 2 * k)
        arms, document_of = self._arms(query, where)
        rankings = {
            name: search(depth) for name, search in arms.items() if fused or name == options.arm
        }
        if not fused:
            ranked = rankings[options.arm]
        elif options.arm == "weighted":
            share = self.dense_share(query, options.dense_weight)
            ranked = weighted(rankings, {"dense": share, "lexical": 1 - share})
        else:
            ranked = reciprocal_rank(rankings)
        scores: dict[Candidate, dict[str, float]] = {}
        for name, ranking in rankings.items():
            for candidate, score in ranking:
                scores.setdefault(candidate, {})[name] = score
        hits: dict[tuple[Hashable, int, int], Hit] = {}
        for candidate, score in ranked:
            if len(hits) == max(k, options.reranked if reranker else 0):
                break
            key, chunk = candidate
            span = chunk[2:] if options.parents else chunk[:2]
            if (key, *span) not in hits:
                hits[key, *span] = Hit.of(document_of(key), span, score, scores[candidate])
        best = list(hits.values())
        if reranker is not None:
            texts = [" > ".join(hit.headings) + "\n" + hit.text for hit in best]
            best = [
                replace(hit, score=score, scores={**hit.scores, "rerank": score})
                for hit, score in zip(best, reranker.score(query, texts), strict=True)
            ]
            best.sort(key=lambda hit: -hit.score)
        return best[:k]
