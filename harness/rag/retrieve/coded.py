"""An exact search in half the time: candidates by eight-bit codes, the answer by full numbers.

A scan of a flat index is bound by memory. Codes of one byte a number are a quarter of it, and how
far their inner products can be off is known, so that the few best rows can be proved to be the
best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Rows = NDArray[np.int64]

_LEVELS = 127
_BLOCK = 8192
"""Rows that are coded together."""
_CANDIDATES = 6
_LEAST = 96
"""Candidates for every result, and at least: more would cost what the codes save."""


class Coded:
    """Codes of a matrix, round(x / scale), with the largest norm and error of a row.

    Args:
        vectors: shape (n, dimension), kept as they are and read for the candidates.
    """

    def __init__(self, vectors: Vectors) -> None:
        import faiss
        import numpy as np

        self._vectors = vectors
        blocks = [vectors[at : at + _BLOCK] for at in range(0, len(vectors), _BLOCK)]
        self._scale = max(_scale(one) for one in blocks)
        self._norm = max(float(np.linalg.norm(one, axis=1).max()) for one in blocks)
        self._error = 0.0
        found: Any = faiss
        self._index = found.IndexScalarQuantizer(
            vectors.shape[1],
            found.ScalarQuantizer.QT_8bit_direct_signed,
            found.METRIC_INNER_PRODUCT,
        )
        for one in blocks:
            codes = np.rint(one / self._scale).astype(np.float32)
            off = np.linalg.norm(one - codes * self._scale, axis=1).max()
            self._error = max(self._error, float(off))
            self._index.add(codes)

    def search(self, query: Vectors, k: int) -> tuple[Vectors, Rows] | None:
        """The `k` rows with the largest inner products, or None where that cannot be proved.

        The query is coded, too (some processors multiply bytes only). With errors e, by Cauchy and
        Schwarz, a row outside the candidates has at most the last candidate's product by codes
        plus |coded query| · |e of a row| + |e of the query| · |row|.

        Args:
            query: shape (1, dimension).
            k: rows, at most n.

        Returns:
            Inner products and rows, both of shape (1, k), best first.
        """
        import numpy as np

        count = min(len(self._vectors), max(_LEAST, _CANDIDATES * k))
        scale = _scale(query)
        codes = np.rint(query / scale).astype(np.float32)
        products, rows = self._index.search(codes, count)
        scores = self._vectors[rows[0]] @ query[0]
        best = np.argsort(-scores, kind="stable")[:k]
        off = np.linalg.norm(codes * scale) * self._error
        off += np.linalg.norm(query - codes * scale) * self._norm
        unseen = float(products[0, -1]) * self._scale * scale + float(off)
        if count < len(self._vectors) and scores[best[-1]] <= unseen:
            return None
        return scores[best][None], rows[:, best]


def _scale(values: Vectors) -> float:
    import numpy as np

    return float(np.abs(values).max()) / _LEVELS or 1.0
