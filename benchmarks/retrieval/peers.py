"""Our index beside LangChain's FAISS and BM25 retrievers: same texts, same vectors, one run.

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install langchain-community rank-bm25 faiss-cpu PyStemmer
    OMP_NUM_THREADS=1 python -m benchmarks.retrieval.peers --peer-python /tmp/peers/bin/python

Texts: the passages of four shared corpora. Queries: questions of HotpotQA, embedded beforehand, so
that no time is spent in the encoder on either side. Both sides are exact (Flat),
index vectors and stemmed words, and run on one thread; each is built in one process,
then loaded and queried in a fresh one, in turns. Ours also tells languages and writes all with
checksums; every text is one chunk on either side, and so is not split into sentences. Times are
processor times; `build_ratio` is ours by theirs.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.memory import remembering
from benchmarks.reports import Options, Result, benchmark, in_fresh_process, option, peer
from benchmarks.retrieval.peers_langchain import memory_mb, timed_ms
from benchmarks.retrieval.quality import READERS, SHARED_OPTIONS, Vectors
from harness.rag.retrieve import (
    Chunking,
    Document,
    Encoder,
    SearchOptions,
    create_index,
    open_encoder,
    open_index,
)

ROUNDS, ASKED = 3, 50
WHOLE = Chunking(size=100_000, overlap=0, parent=100_000)
PEER = Path(__file__).with_name("peers_langchain.py")


def known_vectors(texts: list[str], vectors: Vectors) -> Encoder:
    """An encoder that only looks vectors up."""
    vector_of = dict(zip(texts, vectors, strict=True))
    zero = np.zeros(vectors.shape[1], dtype=np.float32)

    def encode(batch: list[str]) -> Vectors:
        return np.stack([vector_of.get(text, zero) for text in batch])

    return Encoder("looked up", vectors.shape[1], encode, "looked-up")


def ours(phase: str, data_folder: str, work_folder: str) -> dict[str, Any]:
    """Build, or load and query, our index."""
    data, work = Path(data_folder), Path(work_folder)
    texts = json.loads((data / "texts.json").read_text())
    started = time.process_time()
    if phase == "build":
        encoder = known_vectors(texts, np.load(data / "vectors.npy"))
        documents = [Document(str(number), text) for number, text in enumerate(texts)]
        create_index(work, encoder, WHOLE).add(documents)
        return {"build_s": time.process_time() - started}
    queries = json.loads((data / "queries.json").read_text())
    encoder = known_vectors(queries, np.load(data / "query_vectors.npy"))
    del texts
    before = memory_mb()
    started = time.process_time()
    index = open_index(work, encoder)
    loaded = time.process_time() - started
    dense, lexical = SearchOptions(arm="dense"), SearchOptions(arm="lexical")
    return {
        "load_s": loaded,
        "memory_before_mb": before,
        "dense_ms": timed_ms(lambda q: index.search(q, 10, options=dense), queries),
        "lexical_ms": timed_ms(lambda q: index.search(q, 10, options=lexical), queries),
        "hybrid_ms": timed_ms(lambda q: index.search(q, 10), queries),
        "memory_mb": memory_mb(),
        "top": [[int(hit.doc) for hit in index.search(q, 10, options=dense)] for q in queries[:20]],
    }


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds."""
    row = {
        name: statistics.median(figures[name] for figures in rounds)
        for name in ("build_s", "load_s")
    }
    for name in ("dense_ms", "lexical_ms", "hybrid_ms"):
        if name in rounds[0]:
            row[name] = statistics.median(statistics.median(figures[name]) for figures in rounds)
    for kind in ("rss", "anonymous"):
        grown = [
            figures["memory_mb"][kind] - figures["memory_before_mb"][kind] for figures in rounds
        ]
        row[f"{kind}_mb"] = statistics.median(grown)
    return {key: round(value, 3) for key, value in row.items()}


@benchmark(
    **SHARED_OPTIONS,
    peer_python=option(type=Path, help="python with LangChain"),
    out=Path("evals/results/retrieval_peers.json"),
)
def main(options: Options) -> Result:
    """Build both sides, then query them in turns."""
    sides: dict[str, Callable[..., dict[str, Any]]] = {
        "harness": partial(in_fresh_process, ours),
        "langchain": partial(peer, options.peer_python, PEER),
    }
    os.environ["OMP_NUM_THREADS"] = "1"
    encoder = remembering(open_encoder("encoder"), options.cache)
    texts: dict[str, Any] = {}
    queries: list[str] = []
    for name in ("cranfield", "musique", "twowiki", "hotpotqa"):
        documents, cases = READERS[name](options.shared)
        queries = [case.query for case in cases]
        passages = [document.text for document in documents]
        if name != "cranfield":  # whose texts begin with their titles
            passages = [f"{each.metadata['title']}. {each.text}" for each in documents]
        pairs = zip(passages, encoder.encode(passages), strict=True)
        texts |= {text.strip(): row for text, row in pairs if text.strip()}
    queries = queries[200 : 200 + ASKED]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        (data / "texts.json").write_text(json.dumps(list(texts)))
        (data / "queries.json").write_text(json.dumps(queries))
        np.save(data / "vectors.npy", np.stack(list(texts.values())))
        np.save(data / "query_vectors.npy", encoder.encode(queries))
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        for number in range(ROUNDS):
            for name, run in sides.items():
                work = f"{data}/{name}-{number}"
                rounds[name].append(run("build", str(data), work) | run("query", str(data), work))
    same = [
        len({*a} & {*b}) / 10
        for a, b in zip(rounds["harness"][0]["top"], rounds["langchain"][0]["top"], strict=True)
    ]
    medians = {name: summary(figures) for name, figures in rounds.items()}
    return {
        "command": "python -m benchmarks.retrieval.peers --peer-python PYTHON",
        "texts": len(texts),
        "queries": ASKED,
        "threads": 1,
        "rounds": ROUNDS,
        "same_dense_top_10": statistics.fmean(same),
        "build_ratio": round(medians["harness"]["build_s"] / medians["langchain"]["build_s"], 2),
        "sides": medians,
        "note": "processor times; memory is what loading and querying added to the process",
    }
