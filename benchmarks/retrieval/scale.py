"""Recall and speed of the vector indexes against exact search, on up to a million vectors.

    OMP_NUM_THREADS=1 python -m benchmarks.retrieval.scale --size 1000000

Vectors: passages of the shared corpora (HotpotQA, Cranfield, MuSiQue, 2Wiki), embedded by the
default encoder, mixed in random pairs with weights 0.3 to 0.7, plus noise of a fifth of their
length, scaled to length one. One passage in ten is held out; `mixtures` are queries mixed of those
alone, `questions` are the questions of HotpotQA and Cranfield as they are. Indexes are built by
two threads; searches run on one, Flat and the index in turns, in the same process.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reports import report
from benchmarks.retrieval.passages import SOURCES, Vectors, arguments, questions, vectors_of
from harness.rag.retrieve.dense import DenseIndex, DenseKind, dense_kind, load_faiss, recipe

SEED, NOISE, K = 41, 0.2, 10
ASKED, ROUNDS = 200, 3
KINDS: tuple[DenseKind, ...] = ("ivf-sq8", "ivf-rabitq", "hnsw")


def mixed(passages: Vectors, size: int, seed: int) -> Vectors:
    """`size` unit vectors, each between two passages, with noise."""
    rng = np.random.default_rng(seed)
    out = np.empty((size, passages.shape[1]), dtype=np.float32)
    for start in range(0, size, 50_000):
        count = min(50_000, size - start)
        first, second = rng.integers(0, len(passages), (2, count))
        share = rng.uniform(0.3, 0.7, (count, 1)).astype(np.float32)
        noise = rng.normal(size=(count, passages.shape[1])).astype(np.float32)
        noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
        rows = share * passages[first] + (1 - share) * passages[second] + noise
        out[start : start + count] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return out


def recall(hits: Any, truth: Any) -> float:
    """Mean share of the exact neighbours that were found."""
    shares = [len({*a} & {*b}) / K for a, b in zip(hits.tolist(), truth.tolist(), strict=True)]
    return statistics.fmean(shares)


def rate(index: DenseIndex, queries: Vectors) -> float:
    """Queries a second, in one batch."""
    started = time.perf_counter()
    index.search(queries, K)
    return len(queries) / (time.perf_counter() - started)


def single_ms(index: DenseIndex, queries: Vectors) -> float:
    """Median time of a query on its own, in milliseconds."""
    times: list[float] = []
    for row in range(0, min(50, len(queries))):
        started = time.perf_counter()
        index.search(queries[row : row + 1], K)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def measure(kind: DenseKind, vectors: Vectors, sets: dict[str, Vectors]) -> dict[str, Any]:
    """One index: build, size, load, and recall and speed beside Flat in turns."""
    faiss = load_faiss()
    flat = DenseIndex(vectors, "flat")
    faiss.omp_set_num_threads(2)
    started = time.perf_counter()
    index = DenseIndex.build(vectors, kind)
    build_s = time.perf_counter() - started
    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dense.faiss"
        index.save(path)
        started = time.perf_counter()
        index = DenseIndex.load(path, vectors, kind)
        load_s = time.perf_counter() - started
        row: dict[str, Any] = {
            "kind": kind,
            "recipe": recipe(kind, len(vectors)),
            "build_s": round(build_s, 1),
            "load_s": round(load_s, 3),
            "bytes": path.stat().st_size,
        }
        for name, queries in sets.items():
            truth, hits = flat.search(queries, K)[1], index.search(queries, K)[1]
            pairs = [(rate(flat, queries), rate(index, queries)) for _ in range(ROUNDS)]
            ratios = sorted(fast / exact for exact, fast in pairs)
            row[name] = {
                "recall_at_10": round(recall(hits, truth), 4),
                "queries_per_s": round(statistics.median(fast for _, fast in pairs), 1),
                "flat_queries_per_s": round(statistics.median(exact for exact, _ in pairs), 1),
                "ratio": round(statistics.median(ratios), 1),
                "ratio_range": [round(ratios[0], 1), round(ratios[-1], 1)],
                "single_ms": round(single_ms(index, queries), 2),
                "flat_single_ms": round(single_ms(flat, queries), 2),
            }
    return row


def main() -> None:
    """Measure every kind and write the table after each."""
    chosen = arguments(
        __doc__, size=1_000_000, kinds=list(KINDS), out=Path("evals/results/retrieval_scale.json")
    )
    corpora = [
        vectors_of(read(chosen.shared), chosen.cache, name) for name, read in SOURCES.items()
    ]
    passages = np.random.default_rng(SEED).permutation(np.concatenate(corpora))
    held = len(passages) // 10
    vectors = mixed(passages[held:], chosen.size, SEED)
    sets = {
        "mixtures": mixed(passages[:held], ASKED, SEED + 1),
        "questions": vectors_of(questions(chosen.shared), chosen.cache, "questions")[:ASKED],
    }
    rows: list[dict[str, Any]] = []
    for kind in chosen.kinds:
        rows.append(measure(kind, vectors, sets))
        result = {
            "command": f"python -m benchmarks.retrieval.scale --size {chosen.size}",
            "vectors": chosen.size,
            "dimension": passages.shape[1],
            "passages": len(passages),
            "queries": ASKED,
            "k": K,
            "search_threads": 1,
            "chosen_by_size": dense_kind(chosen.size),
            "indexes": rows,
        }
        report(result, chosen.out)


if __name__ == "__main__":
    main()
