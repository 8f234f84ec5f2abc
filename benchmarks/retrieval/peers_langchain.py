"""LangChain's FAISS and BM25 retrievers on given texts and vectors, in their own environment.

    PYTHON benchmarks/retrieval/peers_langchain.py build|query DATA WORK

Started by `benchmarks/retrieval/peers.py`; prints one JSON object. Words are stemmed by Snowball,
as ours are. BM25Retriever has no form on disk, so its load is reading the texts and indexing them
again.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

STEMMER: Any = import_module("Stemmer").Stemmer("english")


def memory_mb() -> dict[str, float]:
    """Resident memory of this process, and the part that is not mapped from files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    figures = {
        line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("Vm", "Rss"))
    }
    return {"rss": int(figures["VmRSS"]) / 1024, "anonymous": int(figures["RssAnon"]) / 1024}


def timed_ms(search: Callable[[Any], Any], queries: list[Any]) -> list[float]:
    """Processor time of every query in milliseconds, behind one that warms up.

    One thread works, so on a free machine this is the time that passes; on a busy one it still is.
    """
    search(queries[0])
    times: list[float] = []
    for query in queries:
        started = time.process_time()
        search(query)
        times.append(1000 * (time.process_time() - started))
    return times


def stems(text: str) -> list[str]:
    """Words in lower case, stemmed."""
    return STEMMER.stemWords(re.findall(r"\w+", text.lower()))


def main() -> None:
    """Build, or load and query."""
    phase, data, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    numpy = import_module("numpy")
    stores = import_module("langchain_community.vectorstores")
    retrievers = import_module("langchain_community.retrievers")
    strategies = import_module("langchain_community.vectorstores.utils").DistanceStrategy
    fake = import_module("langchain_core.embeddings").DeterministicFakeEmbedding(size=384)
    inner = {"distance_strategy": strategies.MAX_INNER_PRODUCT}
    started = time.process_time()
    if phase == "build":
        texts = json.loads((data / "texts.json").read_text())
        vectors = numpy.load(data / "vectors.npy")
        pairs = zip(texts, vectors.tolist(), strict=True)
        stores.FAISS.from_embeddings(list(pairs), fake, **inner).save_local(str(work))
        retrievers.BM25Retriever.from_texts(texts, k=10, preprocess_func=stems)
        print(json.dumps({"build_s": time.process_time() - started}))
        return
    before = memory_mb()
    dense = stores.FAISS.load_local(str(work), fake, allow_dangerous_deserialization=True, **inner)
    texts = json.loads((data / "texts.json").read_text())
    lexical = retrievers.BM25Retriever.from_texts(texts, k=10, preprocess_func=stems)
    loaded = time.process_time() - started
    queries = json.loads((data / "queries.json").read_text())
    vectors = numpy.load(data / "query_vectors.npy").tolist()

    def nearest(vector: list[float]) -> list[Any]:
        return dense.similarity_search_by_vector(vector, k=10)

    report = {
        "load_s": loaded,
        "memory_before_mb": before,
        "dense_ms": timed_ms(nearest, vectors),
        "lexical_ms": timed_ms(lexical.invoke, queries),
        "memory_mb": memory_mb(),
        "top": [[texts.index(hit.page_content) for hit in nearest(v)] for v in vectors[:20]],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
