"""Vectors and scores on disk: a benchmark of compression that was stopped resumes where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.reports import Journal
from harness.rag.compress import Critic, Query, Unit
from harness.rag.retrieve import Encoder

MOST = 40_000
"""Vectors that are held in memory where no folder keeps them."""


def remembering(encoder: Encoder, folder: Path | None = None) -> Encoder:
    """The encoder with a memory, on disk where a folder is named: no text is encoded twice."""
    vectors: dict[str, NDArray[np.float32]] = {}
    if folder is not None and (folder / "vectors.txt").is_file():
        keys = (folder / "vectors.txt").read_text().split()
        stored = np.fromfile(folder / "vectors.f32", dtype=np.float32)
        vectors.update(zip(keys, stored.reshape(-1, encoder.dimension), strict=False))

    def encode(texts: list[str]) -> NDArray[np.float32]:
        if folder is None and len(vectors) > MOST:
            vectors.clear()
        digests = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {key: text for key, text in zip(digests, texts, strict=True) if key not in vectors}
        if new:
            rows = encoder.encode(list(new.values()))
            vectors.update(zip(new, rows, strict=True))
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                with (folder / "vectors.f32").open("ab") as file:
                    file.write(rows.tobytes())
                with (folder / "vectors.txt").open("a") as file:
                    file.write("".join(f"{key}\n" for key in new))
        return np.stack([vectors[key] for key in digests])

    return Encoder(encoder.name, encoder.dimension, encode, encoder.spec, encoder.languages)


class Remembered:
    """A critic with a memory on disk: what was asked before is not scored again.

    Args:
        critic: that is asked.
        path: of the memory, one for each set of weights.
    """

    def __init__(self, critic: Critic, path: Path) -> None:
        self._critic, self._journal, self.name = critic, Journal(path), critic.name

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Scores of the units."""
        request = [query.instruction, query.query, *(f"{u.doc}\1{u.text}" for u in units)]
        key = hashlib.sha256("\0".join(request).encode()).hexdigest()[:24]
        scores = partial(self._critic.score, query, units)
        return self._journal.result(key, lambda: [float(score) for score in scores()])
