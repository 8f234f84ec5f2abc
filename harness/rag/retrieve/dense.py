"""Nearest vectors by inner product with FAISS (Douze et al. 2024), exact or approximate by size."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.core import require, write_atomic

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
DenseKind = Literal["flat", "hnsw", "ivf-sq8", "ivf-rabitq"]

FLAT_BELOW = 50_000
HNSW_BELOW = 200_000
SQ8_BELOW = 5_000_000
_EF = 128  # HNSW: candidates kept during a search
_PROBED = 16  # IVF: one cell in so many is visited
_LEAST_PROBES = 128
_REFINED = {"ivf-sq8": 3, "ivf-rabitq": 30}  # candidates compared exactly for every result
_FEW = 0.05  # below this share of allowed rows an exact search is faster and surer
_BLOCK = 64  # queries that are refined together
_PER_CELL = 64  # training vectors of a cell


def dense_kind(size: int) -> DenseKind:
    """The kind for so many vectors.

    Exact while that is fast; a graph while it stays accurate; then inverted lists with 8 bits a
    number, and with 1 bit where memory counts: on a million mixed passages, measured once, the
    graph's recall fell to 0.73 where inverted lists kept 0.97.
    """
    if size < FLAT_BELOW:
        return "flat"
    if size < HNSW_BELOW:
        return "hnsw"
    return "ivf-sq8" if size < SQ8_BELOW else "ivf-rabitq"


def recipe(kind: DenseKind, size: int) -> str:
    """FAISS factory string of a kind for `size` vectors; 4·√size cells, fewer where few fit."""
    cells = max(1, min(int(4 * size**0.5), size // 39))
    return {
        "flat": "Flat",
        "hnsw": "HNSW32",
        "ivf-sq8": f"IVF{cells},SQ8",
        "ivf-rabitq": f"IVF{cells},RaBitQ",
    }[kind]


def load_faiss() -> Any:
    """The module.

    Raises:
        BadInput: if it is not installed.
    """
    return require("faiss", "the vector index needs FAISS")


def gpu_count() -> int:
    """GPUs that this build of FAISS can use."""
    return int(getattr(load_faiss(), "get_num_gpus", lambda: 0)())


class DenseIndex:
    """Rows of a matrix of unit vectors, searched by inner product.

    The matrix (often mapped from disk) stays the exact form: `flat` is a search over it.
    """

    def __init__(self, vectors: Vectors, kind: DenseKind, index: Any = None) -> None:
        self.kind: DenseKind = kind
        self._vectors = vectors
        self._index = index
        if kind == "flat" and len(vectors) and gpu_count():
            faiss = load_faiss()
            flat = faiss.IndexFlatIP(vectors.shape[1])
            flat.add(vectors)
            try:
                self._index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, flat)
            except RuntimeError:  # it does not fit; never run on a GPU yet
                self._index = flat

    @classmethod
    def build(cls, vectors: Vectors, kind: DenseKind) -> DenseIndex:
        """Train and fill an index of shape (n, dimension) vectors.

        Raises:
            BadInput: if FAISS is not installed.
        """
        faiss = load_faiss()
        if kind == "flat":
            return cls(vectors, kind)
        size, dimension = len(vectors), int(vectors.shape[1])
        index = faiss.index_factory(dimension, recipe(kind, size), faiss.METRIC_INNER_PRODUCT)
        if kind != "hnsw":  # train on a fixed sample, spread evenly, enough for k-means
            sample = min(size, _PER_CELL * faiss.extract_index_ivf(index).nlist)
            rows: Rows = np.linspace(0, size - 1, sample).astype(np.int64)
            index.train(np.ascontiguousarray(vectors[rows]))
        index.add(vectors)
        return cls(vectors, kind, index)

    def save(self, path: Path) -> None:
        """Write the approximate index; an exact one has nothing but its vectors."""
        if self.kind != "flat":
            write_atomic(path, load_faiss().serialize_index(self._index).tobytes())

    @classmethod
    def load(cls, path: Path, vectors: Vectors, kind: DenseKind) -> DenseIndex:
        """Map the file that :meth:`save` wrote.

        Raises:
            OSError, RuntimeError: if the file is missing or damaged.
        """
        if kind == "flat":
            return cls(vectors, kind)
        faiss = load_faiss()
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        if index.ntotal != len(vectors):
            raise RuntimeError(f"{index.ntotal} entries for {len(vectors)} vectors")
        return cls(vectors, kind, index)

    def search(self, queries: Vectors, k: int, allowed: Mask | None = None) -> tuple[Vectors, Rows]:
        """(inner products, rows), both of shape (queries, k), best first; row -1 where none is.

        Args:
            queries: unit vectors of shape (queries, dimension).
            k: results a query.
            allowed: rows that may be found, shape (n,); default all.
        """
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        size = len(self._vectors)
        if allowed is not None and allowed.all():
            allowed = None
        if not size or (allowed is not None and not allowed.any()):
            shape = (len(queries), k)
            return np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int64)
        if allowed is not None and (self.kind == "flat" or allowed.mean() < _FEW):
            candidates = np.flatnonzero(allowed)
            vectors = np.ascontiguousarray(self._vectors[candidates])
            scores, positions = load_faiss().knn(queries, vectors, min(k, len(candidates)), 0)
            return _padded(scores, candidates[positions], k)
        if self._index is None:
            scores, rows = load_faiss().knn(queries, self._vectors, min(k, size), 0)
            return _padded(scores, rows, k)
        depth = min(k * _REFINED.get(self.kind, 1), size)
        scores, rows = self._index.search(queries, depth, params=self._parameters(depth, allowed))
        if self.kind in _REFINED:  # the best candidates by their exact inner products
            scores = np.empty(rows.shape, dtype=np.float32)
            for start in range(0, len(queries), _BLOCK):
                part = slice(start, start + _BLOCK)
                scores[part] = np.einsum("qd,qmd->qm", queries[part], self._vectors[rows[part]])
            scores[rows < 0] = -np.inf
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            scores, rows = np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)
        return _padded(scores, rows, k)

    def _parameters(self, k: int, allowed: Mask | None) -> Any:
        faiss = load_faiss()
        if self.kind == "flat":
            return None
        selector: dict[str, Any] = {}
        if allowed is not None:
            selector["sel"] = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        if self.kind == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(_EF, 2 * k), **selector)
        probes = max(_LEAST_PROBES, faiss.extract_index_ivf(self._index).nlist // _PROBED)
        return faiss.SearchParametersIVF(nprobe=probes, **selector)


def _padded(scores: Vectors, rows: Rows, k: int) -> tuple[Vectors, Rows]:
    pad = ((0, 0), (0, max(0, k - scores.shape[1])))
    return np.pad(scores, pad, constant_values=-np.inf), np.pad(rows, pad, constant_values=-1)
