"""How alike lessons are, and groups of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from harness.core import Value
from harness.evolve.stems import content_words
from harness.rag.retrieve import open_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

Grouping = Literal["lexical", "hybrid"]
# Mean distance (1 - similarity) at which two groups still say the same, and the parts of each
# measure: chosen on half of the labelled lessons of benchmarks/evolution/grouping.py.
LEXICAL_DISTANCE, HYBRID_DISTANCE = 0.76, 0.64
CHARACTERS, WORDS = 0.7, 0.3
ENOUGH, SHARED, SHARED_DISTANCE = 200, 0.2, 0.70
"""From so many texts on the neighbours that two of them share count too (Jarvis and Patrick 1973),
with this weight, and groups are linked up to this distance: chosen on the same half."""
NEIGHBOURHOOD = 12
"""A text's neighbours are one in so many of all texts."""
CHUNK = 1500
"""Texts whose similarities are held at one time: 18 MB of them."""


class Measure(Value):
    """How alike texts are.

    Attributes:
        name: as reports give it.
        hybrid: whether an encoder counts a third.
        distance: up to which groups of few texts are linked.
    """

    name: str
    hybrid: bool
    distance: float

    def similarities(self, texts: Sequence[str]) -> Matrix:
        """Similarities of shape (n, n)."""
        characters, words = tfidf_similarities(texts), word_similarities(texts)
        if self.hybrid:
            return (encoded(texts) + characters + words) / 3
        return CHARACTERS * characters + WORDS * words

    def to_link(self, similarities: Matrix) -> tuple[Matrix, float]:
        """The similarities that groups are linked by, and up to which distance."""
        if self.hybrid or len(similarities) < ENOUGH:
            return similarities, self.distance
        shared = shared_neighbours(similarities)
        return (1 - SHARED) * similarities + SHARED * shared, SHARED_DISTANCE


def measure(grouping: Grouping) -> Measure:
    """The measure of that name.

    Raises:
        BadInput: if it needs an encoder and none is installed.
    """
    if grouping == "lexical":
        name = "TF-IDF of characters (3 to 5) and stemmed words"
        return Measure(name=name, hybrid=False, distance=LEXICAL_DISTANCE)
    encoder = open_encoder("encoder").name  # which says what is missing
    name = f"{encoder} with TF-IDF of characters (3 to 5) and stemmed words"
    return Measure(name=name, hybrid=True, distance=HYBRID_DISTANCE)


def tfidf_similarities(texts: Sequence[str]) -> Matrix:
    """Cosine similarities of character n-grams (3 to 5, within words), shape (n, n)."""
    import numpy as np

    vectorizer: Any = _sklearn("feature_extraction.text").TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, lowercase=True
    )
    vectors: Any = vectorizer.fit_transform(texts)
    return np.asarray((vectors @ vectors.T).toarray(), dtype=np.float64)


def word_similarities(texts: Sequence[str]) -> Matrix:
    """Cosine similarities of TF-IDF over stemmed content words, shape (n, n)."""
    import numpy as np

    vectorizer: Any = _sklearn("feature_extraction.text").TfidfVectorizer(
        analyzer=content_words, sublinear_tf=True
    )
    try:
        vectors: Any = vectorizer.fit_transform(texts)
    except ValueError:  # no text has a content word
        return np.eye(len(texts))
    return np.asarray((vectors @ vectors.T).toarray(), dtype=np.float64)


def shared_neighbours(similarities: Matrix) -> Matrix:
    """Share of the nearest texts of one that are the nearest of the other too, shape (n, n).

    Two wordings with few words in common still say the same if both lie near the same others.
    """
    import numpy as np

    count = max(1, round(len(similarities) / NEIGHBOURHOOD))
    nearest = np.argsort(-similarities, axis=1, kind="stable")[:, :count]
    near = np.zeros_like(similarities, dtype=np.float32)
    np.put_along_axis(near, nearest, 1.0, axis=1)
    return np.asarray(near @ near.T / count, dtype=np.float64)


def warm() -> None:
    """Import what grouping needs (seconds), so that it is there when the last analyst ends."""
    _sklearn("feature_extraction.text")
    _sklearn("cluster")


def _sklearn(module: str) -> Any:
    """A module of scikit-learn, which ships no types; imported on first use."""
    return import_module(f"sklearn.{module}")


def encoded(texts: Sequence[str]) -> Matrix:
    """Cosine similarities of sentence embeddings, shape (n, n)."""
    import numpy as np

    vectors = open_encoder("encoder").encode(texts)
    return np.asarray(vectors @ vectors.T, dtype=np.float64)


def similar_groups(texts: Sequence[str], by: Measure) -> list[list[int]]:
    """Groups of indices of texts that say the same, each from its most central text outwards.

    Equal texts are one with their number as weight. Average linkage of more than :data:`CHUNK`
    distinct texts is done chunk by chunk and then over the central texts of the groups, level by
    level, so that time grows linearly and memory not at all.
    """
    equal: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        equal[" ".join(text.casefold().split())].append(index)
    members = list(equal.values())
    found = _grouped([texts[one[0]] for one in members], [len(one) for one in members], by)
    return sorted(([i for one in group for i in members[one]] for group in found), key=min)


def _grouped(texts: Sequence[str], weights: Sequence[int], by: Measure) -> list[list[int]]:
    chunks = [range(at, min(at + CHUNK, len(texts))) for at in range(0, len(texts), CHUNK)]
    found = [
        [chunk[i] for i in group]
        for chunk in chunks
        for group in _linked([texts[i] for i in chunk], [weights[i] for i in chunk], by)
    ]
    if len(chunks) < 2 or len(found) == len(texts):
        return found
    heads = [group[0] for group in found]
    totals = [sum(weights[i] for i in group) for group in found]
    again = _grouped([texts[i] for i in heads], totals, by)
    return [[i for one in joined for i in found[one]] for joined in again]


def _linked(texts: Sequence[str], weights: Sequence[int], by: Measure) -> list[list[int]]:
    """Average-linkage groups, each from the most central (weighted mean similarity) outwards."""
    import numpy as np

    if len(texts) < 2:
        return [[index] for index in range(len(texts))]
    similarity = by.similarities(texts)
    linking, distance = by.to_link(similarity)
    model: Any = _sklearn("cluster").AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=distance
    )
    labels = model.fit_predict(np.clip(1.0 - linking, 0.0, 2.0))
    members: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(labels):
        members[int(label)].append(index)
    weight = np.asarray(weights, dtype=np.float64)

    def outwards(group: list[int]) -> list[int]:
        mean = similarity[np.ix_(group, group)] @ weight[group] / weight[group].sum()
        order = sorted(range(len(group)), key=lambda i: (-round(float(mean[i]), 9), group[i]))
        return [group[i] for i in order]

    return [outwards(group) for group in members.values()]
