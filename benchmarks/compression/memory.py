"""Vectors on disk: a benchmark of compression that was stopped resumes where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.reports import Journal
from harness.rag.retrieve import Encoder

MOST = 40_000
"""Vectors that are held in memory where no folder keeps them."""


def remembering(encoder: Encoder, folder: Path | None = None) -> Encoder:
    """The encoder with a memory, on disk where a folder is named: no text is encoded twice."""
    journal = Journal(folder and folder / "vectors.jsonl")

    def remember(
        make: Callable[[list[str]], NDArray[np.float32]], role: str, texts: list[str]
    ) -> NDArray[np.float32]:
        if folder is None and len(journal.rows) > MOST:
            journal.rows.clear()
        digests = [hashlib.sha256(f"{role}{text}".encode()).hexdigest()[:24] for text in texts]
        new = {k: text for k, text in zip(digests, texts, strict=True) if k not in journal.rows}
        for key, vector in zip(new, make(list(new.values())) if new else (), strict=True):
            journal.result(key, vector.tolist)
        return np.array([journal.rows[key] for key in digests], dtype=np.float32)

    return replace(
        encoder,
        _encode=partial(remember, encoder.encode, ""),
        _encode_queries=partial(remember, encoder.encode_queries, "query"),
    )
