"""Passages of the shared corpora and their vectors, embedded once and kept in a cache folder.

Vectors are those of the default encoder (all-MiniLM-L6-v2), one row a passage, length one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.reports import read_jsonl
from harness.core import cache_root, digest
from harness.rag.retrieve import open_encoder

Vectors = NDArray[np.float32]
BATCH = 256
SHARED_OPTIONS = {"shared": Path("../shared"), "cache": cache_root() / "benchmarks"}
"""Options of every benchmark of retrieval."""


def cranfield(shared: Path) -> list[str]:
    """The abstracts, in the order of the file."""
    return [row["text"] for row in read_jsonl(shared / "data/corpora/cranfield_corpus.jsonl")]


def hotpotqa(shared: Path) -> list[str]:
    """`title. text` of every paragraph, in the order of the file."""
    rows = read_jsonl(shared / "data/corpora/hotpotqa_corpus.jsonl")
    return [f"{row['title']}. {row['text']}" for row in rows]


def musique(shared: Path) -> list[str]:
    """Paragraphs that occur in the questions, each once."""
    rows = read_jsonl(shared / "data/dev/musique.jsonl")
    texts = [f"{p['title']}. {p['paragraph_text']}" for row in rows for p in row["paragraphs"]]
    return list(dict.fromkeys(texts))


def twowiki(shared: Path) -> list[str]:
    """Paragraphs that occur in the questions, each once."""
    rows = read_jsonl(shared / "data/dev/twowiki.jsonl")
    texts = [
        f"{title}. {' '.join(lines)}" for row in rows for title, lines in row.get("context", [])
    ]
    return list(dict.fromkeys(texts))


SOURCES: dict[str, Callable[[Path], list[str]]] = {
    "hotpotqa": hotpotqa,
    "cranfield": cranfield,
    "musique": musique,
    "twowiki": twowiki,
}


def vectors_of(texts: list[str], cache: Path, name: str) -> Vectors:
    """Vectors of shape (n, dimension), from the cache where these texts were embedded before."""
    encoder = open_encoder("encoder")
    path = cache / f"{name}-{digest([encoder.name, texts])[:16]}.npy"
    if path.is_file():
        return np.load(path)
    started = time.perf_counter()
    rows = [encoder.encode(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    vectors = np.concatenate(rows)
    cache.mkdir(parents=True, exist_ok=True)
    np.save(path, vectors)
    print(f"{name}: {len(texts)} texts in {time.perf_counter() - started:.0f} s", flush=True)
    return vectors


def questions(shared: Path) -> list[str]:
    """Questions of HotpotQA, then those of Cranfield."""
    hotpot = read_jsonl(shared / "data/dev/hotpotqa_agent.jsonl")
    cran = read_jsonl(shared / "data/dev/cranfield_queries.jsonl")
    return [row["question"] for row in hotpot] + [row["query"] for row in cran]
