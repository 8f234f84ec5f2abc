"""Likeness of lessons, and groups of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.evolve.merge.wording import content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

METHOD = "TF-IDF of characters (3 to 5) and stemmed words"
"""The measure of similarity, as reports name it. Sentence embeddings beside it did no better: .844
in place of .857 agreement with annotators (`evals/results/grouping.json`)."""
# Mean distance (1 - similarity) at which two groups still say the same, and the parts of the
# measure: chosen on half of 252 lessons that annotators grouped.
DISTANCE = 0.76
CHARACTERS, WORDS = 0.7, 0.3
# Share of the wording in the similarity of lessons that quote something, and up to which distance
# they are linked: the same words from evidence that has nothing in common are not. Nor is the same
# evidence alone a likeness: it raises that of the wordings to three times at most.
WORDING, QUOTED_DISTANCE = 0.35, 0.58
RAISED = 3.0
# From so many texts on the neighbours that two of them share count too (Jarvis and Patrick 1973),
# with this weight, and groups are linked up to this distance: chosen on the same half. A text's
# neighbours are one in so many of all texts.
ENOUGH, SHARED, SHARED_DISTANCE, NEIGHBOURHOOD = 200, 0.2, 0.70, 12
# Texts whose similarities are held at one time: 18 MB of them.
CHUNK = 1500


def similarities(
    texts: Sequence[str], quotes: Sequence[str] = (), distance: float = DISTANCE
) -> Matrix:
    """Similarities of shape (n, n).

    Args:
        texts: to compare.
        quotes: their evidence, "" for none: counts half where there is any, so that texts that rest
            on nothing alike are never very similar.
        distance: up to which texts without quotes will be linked.
    """
    import numpy as np

    alike = CHARACTERS * tfidf_similarities(texts) + WORDS * word_similarities(texts)
    quoted = np.array([bool(quote) for quote in quotes], dtype=np.bool_)
    if not quoted.any():
        return alike
    pairs = quoted[:, None] & quoted[None, :]
    mixed = np.minimum(WORDING * alike + (1 - WORDING) * similarities(quotes), RAISED * alike)
    # Wordings alone are linked up to a distance of their own.
    scaled = np.minimum(1.0, alike * (1 - QUOTED_DISTANCE) / (1 - distance))
    return np.where(pairs, mixed, scaled)


def tfidf_similarities(texts: Sequence[str], beside: Sequence[str] = (), **analyzer: Any) -> Matrix:
    """Cosine similarities of TF-IDF vectors, shape (n, m); a text without terms is like itself
    alone.

    Args:
        texts: to compare.
        beside: with these m; with each other where there are none.
        analyzer: of scikit-learn's vectorizer; character n-grams (3 to 5, within words) unless
            given.
    """
    import numpy as np

    ngrams = analyzer or {"analyzer": "char_wb", "ngram_range": (3, 5), "lowercase": True}
    text: Any = import_module("sklearn.feature_extraction.text")
    model: Any = text.TfidfVectorizer(sublinear_tf=True, **ngrams)
    try:
        vectors = model.fit_transform([*texts, *beside])
    except ValueError:  # no text has a term
        return np.zeros((len(texts), len(beside))) if beside else np.eye(len(texts))
    columns = vectors[len(texts) :] if beside else vectors
    return np.asarray((vectors[: len(texts)] @ columns.T).toarray(), dtype=np.float64)


def word_similarities(texts: Sequence[str], beside: Sequence[str] = ()) -> Matrix:
    """Compute :func:`tfidf_similarities` over stemmed content words."""
    return tfidf_similarities(texts, beside, analyzer=content_words)


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
    import_module("sklearn.feature_extraction.text")
    import_module("sklearn.cluster")


def similar_groups(
    texts: Sequence[str], quotes: Sequence[str] = (), distance: float = DISTANCE
) -> list[list[int]]:
    """Groups of indices of texts that say the same, each from its most central text outwards.

    Args:
        texts: to group.
        quotes: their evidence, if any.
        distance: up to which groups of few texts without evidence are linked.

    Equal texts are one with their number as weight. Average linkage of more than :data:`CHUNK`
    distinct texts is done chunk by chunk and then over the central texts of the groups, level by
    level, so that time grows linearly and memory not at all.
    """
    quotes = quotes or [""] * len(texts)
    equal: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, (text, quote) in enumerate(zip(texts, quotes, strict=True)):
        equal[" ".join(text.casefold().split()), quote].append(index)
    members = [equal[key] for key in sorted(equal)]  # whatever order they came in
    weights = [len(indices) for indices in members]
    pairs = [(texts[indices[0]], quotes[indices[0]]) for indices in members]
    groups = _grouped(pairs, weights, distance)
    return sorted(([i for number in group for i in members[number]] for group in groups), key=min)


Pairs = Sequence[tuple[str, str]]
"""Texts with what they rest on."""


def _grouped(pairs: Pairs, weights: Sequence[int], distance: float) -> list[list[int]]:
    chunks = [range(start, min(start + CHUNK, len(pairs))) for start in range(0, len(pairs), CHUNK)]
    groups = [
        [chunk[i] for i in group]
        for chunk in chunks
        for group in _linked([pairs[i] for i in chunk], [weights[i] for i in chunk], distance)
    ]
    if len(chunks) < 2 or len(groups) == len(pairs):
        return groups
    totals = [sum(weights[i] for i in group) for group in groups]
    again = _grouped([pairs[group[0]] for group in groups], totals, distance)
    return [[i for number in joined for i in groups[number]] for joined in again]


def _linked(pairs: Pairs, weights: Sequence[int], distance: float) -> list[list[int]]:
    """Average-linkage groups, each from the most central (weighted mean similarity) outwards."""
    import numpy as np

    if len(pairs) < 2:
        return [[index] for index in range(len(pairs))]
    quotes = [quote for _, quote in pairs]
    linking = similarity = similarities([text for text, _ in pairs], quotes, distance)
    if any(quotes):
        distance = QUOTED_DISTANCE
    elif len(similarity) >= ENOUGH:
        linking = (1 - SHARED) * similarity + SHARED * shared_neighbours(similarity)
        distance = SHARED_DISTANCE
    cluster: Any = import_module("sklearn.cluster")
    model = cluster.AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=distance
    )
    groups: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(model.fit_predict(np.clip(1.0 - linking, 0.0, 2.0))):
        groups[int(label)].append(index)
    weight = np.asarray(weights, dtype=np.float64)

    def outwards(group: list[int]) -> list[int]:
        mean = similarity[np.ix_(group, group)] @ weight[group] / weight[group].sum()
        order = sorted(range(len(group)), key=lambda i: (-round(float(mean[i]), 9), group[i]))
        return [group[i] for i in order]

    return [outwards(group) for group in groups.values()]
