"""Features of a unit for the fitted mixture: scores, those around it, its place, its kind."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.rag.compress.ranking import bm25, query_terms
from harness.rag.compress.types import Unit
from harness.rag.retrieve import words

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Vectors = NDArray[np.float32]

# Units of a block at most, where no blank line ends it.
BLOCK_UNITS = 12
# Deviations from which the square of the agreement grows no more. A fit on some hundred units
# would else speak against a needle, which among thousands of like sentences is 70 out.
SATURATED = 4.0
# Letters that words of one family share.
STEM = 5
# Words, question words not counted, from which a question is long: it tells its words apart.
LONG_QUESTION = 10
# Neighbours on each side that averages are taken over.
NEAR, WIDE, FAR, FARTHER, FARTHEST = 1, 7, 20, 30, 45
# Turns on each side over which what a talk says is evened out: answers are stretches of it.
STRETCH = 10
_SCORES = ("embedding", "lexical")
_PLAIN = (
    *_SCORES,
    *(f"{name} near" for name in _SCORES),
    *(f"{name} wide" for name in _SCORES),
    *(f"{name} block" for name in _SCORES),
    "cosine", "block cosine", "block lexical", "coverage", "block coverage", "stem coverage",
    "agreement", "answer type", "length", "lexical, long question", "agreement squared",
    "coverage with next",
)  # fmt: skip
_GATED = (
    *_SCORES,
    *(f"{name} wide" for name in _SCORES),
    *(f"{name} far" for name in _SCORES),
    *(f"{name} farther" for name in _SCORES),
    *(f"{name} farthest" for name in _SCORES),
    "stretch cosine", "stretch lexical", "stretch coverage",
)  # fmt: skip
NAMES = (*_PLAIN, *(f"talk: {name}" for name in _GATED))
_ASKING = frozenset(
    [
        *("what", "when", "where", "who", "whom", "whose", "which", "why", "how", "did", "does"),
        *("do", "were", "has", "have", "had", "can", "could", "would", "should", "many", "much"),
    ]
)
_SPEAKER = re.compile(r"[A-Z][\w .'-]{0,40}:\s")
_YEAR = re.compile(r"\b(?:1[5-9]\d\d|20\d\d)\b")
_NUMBER = re.compile(r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred)\b")
_NAME = re.compile(r"(?<=[\w,;(] )[A-Z][a-z]+")
_ASKED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"\b(?:how (?:many|much|long|old|far|often|large)|percent|number of)"), _NUMBER),
    (re.compile(r"\b(?:when|what (?:year|date|day)|which year)\b"), _YEAR),
    (re.compile(r"\b(?:who|whose|whom|where|which (?:city|country|state|person))\b"), _NAME),
    (re.compile(r"\bwhy\b"), re.compile(r"\b(?:because|due to|since|in order|so that|reason)\b")),
)  # fmt: skip


def features(query: str, units: Sequence[Unit], query_vector: Vectors, vectors: Vectors) -> Matrix:
    """Features of every unit, shape (units, len(NAMES)).

    Scores are standardised over the call: a mixture that learned on web pages must not depend on
    the scale that BM25 has on meetings. Neighbours and blocks lie within one document.

    Args:
        query: what is asked.
        units: of the call, in document order.
        query_vector: vector of the query, length one, shape (dimension,).
        vectors: of the units, length one, shape (units, dimension).
    """
    blocks = blocks_of(units)
    documents = np.unique([unit.doc for unit in units], return_inverse=True)[1]
    tokens = [words(f"{unit.heading} {unit.text}") for unit in units]
    joined: list[list[str]] = [[] for _ in range(int(blocks[-1]) + 1)]
    for unit_tokens, block in zip(tokens, blocks, strict=True):
        joined[int(block)].extend(unit_tokens)
    terms = query_terms(query)
    cosine = (vectors @ query_vector).astype(np.float64)
    embedding, lexical = standard(cosine), standard(np.asarray(bm25(terms, tokens)))
    pair = (embedding, lexical)
    wide = [_around(values, documents, WIDE) for values in pair]
    stems = [_stems(unit_tokens) for unit_tokens in tokens]
    # Of each unit and the one behind it: what is said of a thing follows its name.
    stems_with_next = [
        [*unit_stems, *following] if same else unit_stems
        for unit_stems, following, same in zip(
            stems, [*stems[1:], []], [*(documents[1:] == documents[:-1]), False], strict=True
        )
    ]
    content = [term for term in terms if term not in _ASKING]
    agreement = np.minimum(*pair)
    plain = [
        *pair,
        *(_around(values, documents, NEAR) for values in pair),
        *wide,
        *(_highest(values, blocks) for values in pair),
        cosine,
        standard(_block_cosine(query_vector, vectors, blocks)),
        standard(np.asarray(bm25(terms, joined))[blocks]),
        _coverage(terms, tokens),
        _coverage(terms, joined)[blocks],
        _coverage(dict.fromkeys(_stems(terms), 1.0), stems),
        agreement,
        _answer_type(query, units),
        standard(np.log1p([len(unit.text) for unit in units])),
        lexical * min(1.0, len(content) / LONG_QUESTION),
        np.sign(agreement) * np.minimum(np.abs(agreement), SATURATED) ** 2,
        _coverage(dict.fromkeys(_stems(content), 1.0), stems_with_next),
    ]
    gated = [np.zeros(len(units))] * len(_GATED)
    if is_talk(units):
        # A turn alone says little: in a talk nothing but these counts.
        plain = [np.zeros(len(units))] * len(_PLAIN)
        averages = [
            _around(values, documents, radius)
            for radius in (FAR, FARTHER, FARTHEST)
            for values in pair
        ]
        single = [
            *pair,
            *wide,
            *averages,
            *_stretch(terms, tokens, query_vector, vectors, documents),
        ]
        gated = [_around(values, documents, STRETCH, itself=True) for values in single]
    return np.stack([*plain, *gated], axis=1)


def blocks_of(units: Sequence[Unit]) -> NDArray[np.intp]:
    """Number of the paragraph of each unit: a blank line or another document begins a new one."""
    numbers, size = list[int](), 0
    last: Unit | None = None
    for unit in units:
        apart = last is None or last.doc != unit.doc or unit.start - last.end > 1
        size = 1 if apart or size == BLOCK_UNITS else size + 1
        numbers.append((numbers[-1] if numbers else -1) + (size == 1))
        last = unit
    return np.asarray(numbers)


def standard(values: Vector) -> Vector:
    """Mean 0 and deviation 1; all zero where the values do not differ."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _around(
    values: Vector, documents: NDArray[np.intp], radius: int, *, itself: bool = False
) -> Vector:
    """Mean over `radius` neighbours on each side in the same document, with or without itself."""
    total = values.copy() if itself else np.zeros_like(values)
    count = np.full_like(values, float(itself))
    for shift in (*range(-radius, 0), *range(1, radius + 1)):
        if abs(shift) >= len(values):
            continue
        rows = slice(max(0, -shift), len(values) - max(0, shift))
        neighbour = slice(max(0, shift), len(values) - max(0, -shift))
        same = documents[rows] == documents[neighbour]
        total[rows] += np.where(same, values[neighbour], 0.0)
        count[rows] += same
    return total / np.maximum(count, 1)


def _highest(values: Vector, blocks: NDArray[np.intp]) -> Vector:
    """Best value of the block that a unit lies in."""
    best = np.full(int(blocks[-1]) + 1, -np.inf)
    np.maximum.at(best, blocks, values)
    return best[blocks]


def _block_cosine(query_vector: Vectors, vectors: Vectors, blocks: NDArray[np.intp]) -> Vector:
    """Cosine of the query and the mean vector of the block."""
    sums = np.zeros((int(blocks[-1]) + 1, vectors.shape[1]))
    np.add.at(sums, blocks, vectors)
    lengths = np.linalg.norm(sums, axis=1)
    return ((sums @ query_vector) / np.maximum(lengths, 1e-9))[blocks]


def _stretch(
    terms: dict[str, float],
    tokens: Sequence[list[str]],
    query_vector: Vectors,
    vectors: Vectors,
    documents: NDArray[np.intp],
) -> tuple[Vector, Vector, Vector]:
    """Cosine, BM25 and coverage of the stretch of a talk around each turn, long turns counting."""
    weight = np.sqrt([len(unit_tokens) for unit_tokens in tokens])[:, None]
    sums = np.stack(
        [_around(column, documents, WIDE) for column in (vectors * weight).T.astype(float)]
    ).T
    lengths = np.linalg.norm(sums, axis=1)
    cosine = standard((sums @ query_vector) / np.maximum(lengths, 1e-9))
    stretches = [
        [word for turn in tokens[max(0, index - WIDE) : index + WIDE + 1] for word in turn]
        for index in range(len(tokens))
    ]
    lexical = np.asarray(bm25(terms, stretches))
    return cosine, standard(lexical), standard(_coverage(terms, stretches))


def _coverage(terms: dict[str, float], texts: Sequence[list[str]]) -> Vector:
    """Share of the query's words, weighted by rarity, that stand in each text."""
    frequency = Counter(term for text in texts for term in terms.keys() & set(text))
    weight = {term: math.log(1 + len(texts) / (1 + count)) for term, count in frequency.items()}
    # Exactly rounded: sets have another order in every process.
    total = math.fsum(weight.values()) or 1.0
    return np.asarray(
        [math.fsum(weight[term] for term in weight.keys() & set(text)) / total for text in texts]
    )


def _stems(tokens: Iterable[str]) -> list[str]:
    """Beginnings of words: `infected` and `infection` meet."""
    return [token[:STEM] for token in tokens]


def _answer_type(query: str, units: Sequence[Unit]) -> Vector:
    """1 where a unit holds an answer of the kind asked for (a number, a year, a name, a cause)."""
    question = query.lower()
    answer = next((answer for pattern, answer in _ASKED if pattern.search(question)), None)
    if answer is None:
        return np.zeros(len(units))
    return np.asarray([float(answer.search(unit.text) is not None) for unit in units])


def is_talk(units: Sequence[Unit]) -> bool:
    """Return True if most units begin with a speaker: a transcript answers over many turns."""
    return sum(_SPEAKER.match(unit.text) is not None for unit in units) > 0.5 * len(units)
