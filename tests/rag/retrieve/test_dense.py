"""Every kind of vector index against exact search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest

from harness.rag.retrieve.dense import DenseIndex, DenseKind, dense_kind, recipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS: tuple[DenseKind, ...] = get_args(DenseKind)
SIZE, DIMENSION, K = 4000, 32, 10


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(40, DIMENSION))
    rows = centres[rng.integers(0, 40, SIZE)] + 0.6 * rng.normal(size=(SIZE, DIMENSION))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_finds_the_neighbours_before_and_after_a_save(
    kind: DenseKind, vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    index = DenseIndex.build(vectors, kind)
    queries = vectors[::100]
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :K]
    scores, rows = index.search(queries, K)
    shares = [len({*a} & {*b}) / K for a, b in zip(truth.tolist(), rows.tolist(), strict=True)]
    assert np.mean(shares) >= (1 if kind == "flat" else 0.95)
    assert (np.diff(scores, axis=1) <= 1e-6).all()
    index.save(tmp_path / "dense.faiss")
    again = DenseIndex.load(tmp_path / "dense.faiss", vectors, kind)
    assert np.array_equal(again.search(queries, K)[1], rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.5, 0.01])
def test_only_allowed_rows_are_found(
    kind: DenseKind, share: float, vectors: NDArray[np.float32]
) -> None:
    allowed = np.random.default_rng(3).random(SIZE) < share
    found = DenseIndex.build(vectors, kind).search(vectors[:20], K, allowed)[1]
    assert allowed[found].all()
    assert (found >= 0).all()
    none = DenseIndex.build(vectors, kind).search(vectors[:2], K, np.zeros(SIZE, dtype=bool))
    assert (none[1] == -1).all()


def test_fewer_rows_than_results_are_padded() -> None:
    rows = np.eye(3, dtype=np.float32)
    scores, found = DenseIndex.build(rows, "flat").search(rows[:1], 5)
    assert found[0].tolist()[0] == 0
    assert found[0].tolist()[3:] == [-1, -1]
    assert scores.shape == (1, 5)


def test_the_kind_follows_the_size() -> None:
    assert [dense_kind(size) for size in (10, 49_999, 50_000, 5_000_000)] == [
        "flat",
        "flat",
        "hnsw",
        "ivf-rabitq",
    ]
    assert recipe("ivf-sq8", 1_000_000) == "IVF4000,SQ8"
    assert recipe("ivf-sq8", 100) == "IVF2,SQ8"
