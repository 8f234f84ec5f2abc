"""What the learned fusion knows of a unit: three scores, those of its neighbours, its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.compress.types import Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]

RADII = (1, 4)
"""Neighbours on each side that an average is taken over."""
NAMES = (
    "critic", "embedding", "lexical", "critic logit", "cosine",
    *(f"{name} around {radius}" for radius in RADII for name in ("critic", "embedding", "lexical")),
    "length",
)  # fmt: skip


def features(units: Sequence[Unit], critic: Vector, embedding: Vector, lexical: Vector) -> Matrix:
    """Features of every unit, shape (units, len(NAMES)).

    Each score is standardised over the call: a fusion that learned on web pages must not depend
    on the scale that BM25 has on meetings. Averages are taken within a document.
    """
    import numpy as np

    scores = [_standard(one) for one in (critic, embedding, lexical)]
    documents = np.unique([unit.doc for unit in units], return_inverse=True)[1]
    around = [_around(one, documents, radius) for radius in RADII for one in scores]
    length = np.log1p([len(unit.text) for unit in units])
    columns = [*scores, critic, embedding, *around, _standard(np.asarray(length))]
    return np.stack(columns, axis=1)


def _standard(values: Vector) -> Vector:
    """Mean 0 and deviation 1; all zero where the values do not differ."""
    import numpy as np

    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _around(values: Vector, documents: NDArray[np.intp], radius: int) -> Vector:
    """Mean over `radius` neighbours on each side in the same document, itself included."""
    import numpy as np

    total, count = np.zeros_like(values), np.zeros_like(values)
    for shift in range(-radius, radius + 1):
        here = slice(max(0, -shift), len(values) - max(0, shift))
        there = slice(max(0, shift), len(values) - max(0, -shift))
        same = documents[here] == documents[there]
        total[here] += np.where(same, values[there], 0.0)
        count[here] += same
    return total / np.maximum(count, 1)
