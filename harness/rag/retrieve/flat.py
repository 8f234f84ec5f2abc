"""Exact search by inner product: the flat index of FAISS (Douze et al. 2024), with names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, digest, write_atomic
from harness.rag.retrieve.dense import load_faiss

Vectors = NDArray[np.float32]
VECTORS, IDS = "vectors.faiss", "ids.json"


class FlatIndex:
    """Vectors under names, all of them compared with every query.

    Args:
        dimension: length of a vector.

    Raises:
        BadInput: if FAISS is not installed.
    """

    def __init__(self, dimension: int) -> None:
        self._index: Any = load_faiss().IndexFlatIP(dimension)
        self._ids: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def digest(self) -> str:
        """Digest of the names and the vectors, in the order of adding."""
        vectors = self._index.reconstruct_n(0, len(self)).tobytes() if self._ids else b""
        return digest([self._ids, digest(vectors)])

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Add vectors of shape (n, dimension) under n names.

        Raises:
            BadInput: if the shapes do not fit, or a name is there already.
        """
        if vectors.shape != (len(ids), self._index.d):
            expected = (len(ids), self._index.d)
            raise BadInput(f"expected vectors of shape {expected}, got {vectors.shape}")
        if len({*self._ids, *ids}) < len(self._ids) + len(ids):
            raise BadInput("a name was added twice: every vector needs a name of its own")
        self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        self._ids.extend(ids)

    def search(self, vectors: Vectors, k: int) -> list[list[tuple[str, float]]]:
        """For each query the `k` best (name, inner product), best first, ties by name.

        Args:
            vectors: queries of shape (n, dimension).
            k: results a query; fewer where the index holds fewer.

        Raises:
            BadInput: if the shape does not fit, or k is below 1.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self._index.d or k < 1:
            raise BadInput(
                f"expected queries of shape (n, {self._index.d}) and k of 1 or more, got "
                f"{vectors.shape} and {k}"
            )
        if not self._ids or not len(vectors):
            return [[] for _ in vectors]
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        scores, places = self._index.search(queries, min(k, len(self)))
        results: list[list[tuple[str, float]]] = []
        for row, values in zip(places.tolist(), scores.tolist(), strict=True):
            hits: list[tuple[str, float]] = [
                (self._ids[place], value) for place, value in zip(row, values, strict=True)
            ]
            results.append(sorted(hits, key=lambda hit: (-hit[1], hit[0])))
        return results

    def save(self, folder: Path) -> None:
        """Write the index to a folder, made if absent."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / VECTORS, load_faiss().serialize_index(self._index).tobytes())
        write_atomic(folder / IDS, json.dumps(self._ids) + "\n")

    @classmethod
    def load(cls, folder: Path) -> FlatIndex:
        """Read the index that :meth:`save` wrote.

        Raises:
            BadInput: if the folder holds no index, or its parts do not fit together.
        """
        try:
            data = np.frombuffer((folder / VECTORS).read_bytes(), dtype=np.uint8)
            ids = json.loads((folder / IDS).read_text("utf-8"))
            index = load_faiss().deserialize_index(data)
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"expected an index in {str(folder)!r}: {error}") from error
        if index.ntotal != len(ids):
            raise BadInput(f"{str(folder)!r}: {index.ntotal} vectors but {len(ids)} names")
        flat = cls(index.d)
        flat._index, flat._ids = index, ids
        return flat
