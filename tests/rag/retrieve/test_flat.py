"""The flat index against a search by numpy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.core import BadInput
from harness.rag.retrieve import FlatIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

DIMENSION = 5


def vectors(rows: st.SearchStrategy[int]) -> st.SearchStrategy[Vectors]:
    """Vectors of whole numbers: their inner products are exact, so ties are real ties."""
    numbers = st.integers(-4, 4).map(float)
    return rows.flatmap(lambda n: arrays(np.float32, (n, DIMENSION), elements=numbers))


@settings(max_examples=60, deadline=None)
@given(vectors(st.integers(1, 30)), vectors(st.integers(1, 4)), st.integers(1, 35))
def test_finds_what_an_exhaustive_search_finds(known: Vectors, asked: Vectors, k: int) -> None:
    index = FlatIndex(DIMENSION)
    names = [f"v{number:02d}" for number in range(len(known))]
    index.add(names, known)
    products = asked @ known.T
    for row, hits in zip(products, index.search(asked, k), strict=True):
        scores = [score for _, score in hits]
        assert scores == sorted(row.tolist(), reverse=True)[:k]
        assert [float(row[names.index(name)]) for name, _ in hits] == scores
        assert len({name for name, _ in hits}) == min(k, len(known))


def test_ties_stand_in_the_order_of_their_names() -> None:
    index = FlatIndex(2)
    index.add(["c", "a", "b"], np.ones((3, 2), dtype=np.float32))
    assert index.search(np.ones((1, 2), dtype=np.float32), 3) == [[("a", 2), ("b", 2), ("c", 2)]]


def test_a_saved_index_comes_back_the_same(tmp_path: Path) -> None:
    known = np.random.default_rng(1).normal(size=(9, DIMENSION)).astype(np.float32)
    index = FlatIndex(DIMENSION)
    index.add([f"v{number}" for number in range(9)], known)
    index.save(tmp_path / "index")
    again = FlatIndex.load(tmp_path / "index")
    assert again.digest == index.digest
    assert again.search(known, 3) == index.search(known, 3)
    again.add(["one more"], known[:1])
    assert (len(again), len(index)) == (10, 9)
    assert again.digest != index.digest


def test_the_digest_follows_names_and_vectors() -> None:
    rows = np.eye(2, dtype=np.float32)
    digests: set[str] = set()
    for names, known in ((["a", "b"], rows), (["b", "a"], rows), (["a", "b"], rows * 2)):
        index = FlatIndex(2)
        index.add(names, known)
        digests.add(index.digest)
    assert len(digests | {FlatIndex(2).digest}) == 4


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    index, rows = FlatIndex(2), np.eye(2, dtype=np.float32)
    index.add(["a", "b"], rows)
    with pytest.raises(BadInput, match=r"shape \(1, 2\), got \(2, 2\)"):
        index.add(["c"], rows)
    with pytest.raises(BadInput, match="twice"):
        index.add(["c", "a"], rows)
    with pytest.raises(BadInput, match="k of 1 or more"):
        index.search(rows, 0)
    with pytest.raises(BadInput, match=r"\(n, 2\)"):
        index.search(np.eye(3, dtype=np.float32), 1)
    assert len(index) == 2
    index.save(tmp_path)
    (tmp_path / "ids.json").write_text(json.dumps(["a"]))
    with pytest.raises(BadInput, match="2 vectors but 1 names"):
        FlatIndex.load(tmp_path)
    (tmp_path / "vectors.faiss").write_bytes(b"no index")
    with pytest.raises(BadInput, match="expected an index"):
        FlatIndex.load(tmp_path)
    with pytest.raises(BadInput, match="expected an index"):
        FlatIndex.load(tmp_path / "nowhere")


def test_an_empty_index_finds_nothing() -> None:
    assert FlatIndex(2).search(np.eye(2, dtype=np.float32), 1) == [[], []]


def test_without_faiss_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(BadInput, match=r"pip install 'agent-skill-harness\[rag\]'"):
        FlatIndex(2)
