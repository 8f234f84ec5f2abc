"""Vectors and scores on disk: a benchmark of compression that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression.cases import Case
from harness.rag.compress import Critic, Query, Unit
from harness.rag.retrieve import Encoder

Scores = NDArray[np.float64]


def remembering(encoder: Encoder, folder: Path) -> Encoder:
    """The encoder with a memory on disk: a paper is encoded once, not once a question."""
    names, rows = folder / "vectors.txt", folder / "vectors.f32"
    folder.mkdir(parents=True, exist_ok=True)
    keys = names.read_text().split() if names.exists() else []
    stored = np.fromfile(rows, dtype=np.float32) if keys else np.zeros(0, np.float32)
    stored = stored.reshape(-1, encoder.dimension)
    scores = dict(zip(keys, stored, strict=False))

    def encode(texts: list[str]) -> NDArray[np.float32]:
        digests = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {key: text for key, text in zip(digests, texts, strict=True) if key not in scores}
        if new:
            vectors = encoder.encode(list(new.values()))
            scores.update(zip(new, vectors, strict=True))
            with rows.open("ab") as file:
                file.write(vectors.tobytes())
            with names.open("a") as file:
                file.write("".join(f"{key}\n" for key in new))
        return np.stack([scores[key] for key in digests])

    return Encoder(encoder.name, encoder.dimension, encode, encoder.spec, encoder.languages)


class Scored:
    """Scores of one critic, kept in a file per critic and set.

    Args:
        folder: of the cache.
        name: of the arm.
        key: what the scores depend on besides the case (a digest of weights, say).
    """

    def __init__(self, folder: Path, name: str, key: str) -> None:
        digest = hashlib.sha256(f"{name}|{key}".encode()).hexdigest()[:12]
        self._path = folder / f"scores-{digest}.jsonl"
        self._known: dict[str, list[float]] = {}
        self.seconds = 0.0
        self.units = 0
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self._known[row["case"]] = row["scores"]

    def of(self, case: Case, critic: Critic) -> Scores:
        """Scores of the case's units, from the file if they are there."""
        place = f"{case.id}|{len(case.units)}|{case.units[0].doc}"
        if place not in self._known:
            started = time.perf_counter()
            scores = [float(score) for score in critic.score(case.query, case.units)]
            self.seconds += time.perf_counter() - started
            self.units += len(scores)
            self._known[place] = scores
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": place, "scores": scores}) + "\n")
        return np.asarray(self._known[place], dtype=np.float64)


class Remembered:
    """A critic with a memory on disk: the fusion asks what was asked before.

    Args:
        critic: that is asked.
        path: of the memory, one for each set of weights.
    """

    def __init__(self, critic: Critic, path: Path) -> None:
        self._critic, self._path, self.name = critic, path, critic.name
        self._known: dict[str, list[float]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._known.update(json.loads(line))

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Scores of the units."""
        key = digest_of(query, units)
        if key not in self._known:
            self._known[key] = [float(score) for score in self._critic.score(query, units)]
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({key: self._known[key]}) + "\n")
        return self._known[key]


def digest_of(query: Query, units: Sequence[Unit]) -> str:
    """What a critic is asked, as a name."""
    request = "\0".join([query.instruction, query.query, *(f"{u.doc}\1{u.text}" for u in units)])
    return hashlib.sha256(request.encode()).hexdigest()[:24]
