"""Exact search by inner product: the flat index of FAISS (Douze et al. 2024), with names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, digest, write_atomic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        self._index: Any = _faiss().IndexFlatIP(dimension)
        self._ids: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def digest(self) -> str:
        """Digest of the names and the vectors, in the order of adding."""
        vectors = self._index.reconstruct_n(0, len(self)) if self._ids else None
        return digest([self._ids, digest(b"" if vectors is None else vectors.tobytes())])

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
        self._index.add(_rows(vectors))
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
        scores, places = self._index.search(_rows(vectors), min(k, len(self)))
        return [_ranked(self._ids, *row) for row in zip(scores, places, strict=True)]

    def save(self, folder: Path) -> None:
        """Write the index to a folder, made if absent."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / VECTORS, _faiss().serialize_index(self._index).tobytes())
        write_atomic(folder / IDS, json.dumps(self._ids) + "\n")

    @classmethod
    def load(cls, folder: Path) -> FlatIndex:
        """Read what :meth:`save` wrote.

        Raises:
            BadInput: if the folder holds no index, or its parts do not fit together.
        """
        import numpy as np

        try:
            data = np.frombuffer((folder / VECTORS).read_bytes(), dtype=np.uint8)
            ids = json.loads((folder / IDS).read_text("utf-8"))
            index = _faiss().deserialize_index(data)
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"expected an index in {str(folder)!r}: {error}") from error
        if index.ntotal != len(ids):
            raise BadInput(f"{str(folder)!r}: {index.ntotal} vectors but {len(ids)} names")
        found = cls(index.d)
        found._index, found._ids = index, ids
        return found


def _ranked(ids: Sequence[str], scores: Any, places: Any) -> list[tuple[str, float]]:
    hits = [(ids[int(place)], float(score)) for score, place in zip(scores, places, strict=True)]
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def _rows(vectors: Vectors) -> Vectors:
    import numpy as np

    return np.ascontiguousarray(vectors, dtype=np.float32)


def _faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError as error:
        raise BadInput(
            f"the vector index needs FAISS ({error}): pip install 'agent-skill-harness[rag]'"
        ) from error
