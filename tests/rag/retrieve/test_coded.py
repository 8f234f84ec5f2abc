"""Eight-bit candidates give the exact answer, or say that they cannot."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.rag.retrieve.dense import Coded, DenseIndex

Vectors = NDArray[np.float32]


def unit(values: NDArray[np.float64]) -> Vectors:
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def scattered(count: int, seed: int, dimension: int = 64) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


def crowded(count: int, seed: int) -> Vectors:
    """Rows nearer to each other than their codes can tell."""
    rng = np.random.default_rng(seed)
    return unit(np.repeat(rng.normal(size=(4, 64)), count // 4, axis=0)
                + rng.normal(size=(count, 64)) * 1e-4)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_single_queries_find_what_a_full_scan_finds(seed: int) -> None:
    vectors, queries = scattered(3000, seed), scattered(40, seed + 100)
    index = DenseIndex.build(vectors, "flat")
    exact = np.sort(queries @ vectors.T, axis=1)[:, ::-1]
    for query, wanted in zip(queries, exact, strict=True):
        scores, rows = index.search(query[None], 10)
        assert scores[0] == pytest.approx(wanted[:10], abs=1e-5)
        assert vectors[rows[0]] @ query == pytest.approx(scores[0], abs=1e-5)


def test_rows_that_codes_cannot_tell_apart_are_not_claimed() -> None:
    vectors = crowded(4000, 1)
    assert Coded(vectors).search(vectors[:1], 10) is None
    index = DenseIndex.build(vectors, "flat")
    for query in vectors[:5]:
        scores, _ = index.search(query[None], 10)
        assert scores[0] == pytest.approx(np.sort(vectors @ query)[::-1][:10], abs=1e-5)


def test_most_scattered_queries_are_proved() -> None:
    vectors, queries = scattered(3000, 7), scattered(40, 8)
    coded = Coded(vectors)
    assert sum(coded.search(one[None], 5) is not None for one in queries) >= 30


def test_more_results_than_rows_and_zeros() -> None:
    zeros = np.zeros((1200, 64), dtype=np.float32)
    found = Coded(zeros).search(scattered(1, 3), 1200)
    assert found is not None and found[0].shape == (1, 1200) and not found[0].any()
