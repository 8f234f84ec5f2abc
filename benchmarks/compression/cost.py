"""Processor time of `compress` beside the bare encoder over all sentences, and memory.

    python -m benchmarks.compression.cost --shared ../shared

Inputs of about 8, 50 and 186 thousand tokens are papers of COVID-QA, end to end, with a question
about one of them; a tenth is kept. The bare encoder is sentence-transformers' `encode` of the same
sentences with the same weights. Both in turns, loaded, in one process, five times; memory is the
peak of a process that only compresses.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.compression.cases import Case, covidqa
from benchmarks.reports import Options, benchmark, in_fresh_process, in_turn, option, peak_mb
from harness.api import compress
from harness.rag.compress import open_tokenizer
from harness.rag.retrieve.encoder import bundled_model, load_model

SIZES, ROUNDS = (8_000, 50_000, 186_000), 5


def papers_of(shared: str, size: int) -> list[Case]:
    """A question about each of the first papers that hold so many tokens."""
    papers: dict[str, Case] = {}
    for case in covidqa(Path(shared) / "data/compression/dev"):
        papers.setdefault(case.cluster, case)
    selected: list[Case] = []
    for case in papers.values():
        if size > 0:
            selected.append(case)
            size -= open_tokenizer().count(case.documents[0].text)
    return selected


def kept(cases: list[Case]) -> None:
    """Compress the papers to a tenth, as users do."""
    documents = [case.documents[0] for case in cases]
    compress(documents, cases[0].query.query, ratio=0.1, reversible=False)


def memory_mb(shared: str, size: int) -> float:
    """Memory of a process that compresses so many tokens."""
    kept(papers_of(shared, size))
    return peak_mb()


@benchmark(shared=option(type=Path), out=option(type=Path))
def main(options: Options) -> dict[str, Any]:
    """Time both in turns."""
    bare: Any = load_model("SentenceTransformer", str(bundled_model()))
    rows: dict[str, Any] = {}
    for size in SIZES:
        cases = papers_of(str(options.shared), size)
        texts = [unit.text for case in cases for unit in case.units]
        encode = partial(bare.encode, texts, show_progress_bar=False)
        seconds = in_turn({"compress": partial(kept, cases), "encode": encode}, ROUNDS)
        rows[f"{size:,}"] = {
            **{f"{name}_s": round(median(row), 2) for name, row in seconds.items()},
            "ratio": round(median(a / b for a, b in zip(*seconds.values(), strict=True)), 3),
            "peak_mb": round(in_fresh_process(memory_mb, str(options.shared), size)),
        }
    return rows
