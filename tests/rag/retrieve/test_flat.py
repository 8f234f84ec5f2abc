"""The flat index against a search by numpy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.core import BadInput
from harness.rag.retrieve.dense import DenseIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

DIMENSION = 5


def vectors(rows: st.SearchStrategy[int]) -> st.SearchStrategy[Vectors]:
    """Vectors of whole numbers: their inner products are exact, so ties are real ties."""
    numbers = st.integers(-4, 4).map(float)
    return rows.flatmap(lambda n: arrays(np.float32, (n, DIMENSION), elements=numbers))


@given(vectors(st.integers(1, 30)), vectors(st.integers(1, 4)), st.integers(1, 35))
def test_finds_what_an_exhaustive_search_finds(stored: Vectors, queries: Vectors, k: int) -> None:
    scores, rows = DenseIndex.build(stored, "flat").search(queries, k)
    for products, best, places in zip(queries @ stored.T, scores, rows, strict=True):
        size = min(k, len(stored))
        assert best[:size].tolist() == sorted(products.tolist(), reverse=True)[:size]
        assert products[places[:size]].tolist() == best[:size].tolist()
        assert len(set(places[:size].tolist())) == size
        assert (places[size:] == -1).all()


def test_an_empty_index_finds_nothing() -> None:
    empty = np.zeros((0, 2), dtype=np.float32)
    _, rows = DenseIndex.build(empty, "flat").search(np.eye(2, dtype=np.float32), 1)
    assert rows.tolist() == [[-1], [-1]]


def test_without_faiss_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(BadInput, match=r"constraints/install \S+ rag$"):
        DenseIndex.build(np.eye(2, dtype=np.float32), "flat")
