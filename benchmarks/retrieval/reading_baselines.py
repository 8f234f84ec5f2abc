"""Trivial baselines of our own search and long-document corpora: what word overlap alone finds.

    python -m benchmarks.retrieval.reading_baselines [--out evals/results/reading_baselines.json]

institute: BM25 with the question as the query; share of questions whose k best passages lie in all
gold documents, or in the one with the answer. dossier: share of questions all of whose gold places
stand in the context, by context stage and budget (lexical arms only, no model).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option, share_interval
from harness.corpora import Reading, count_tokens
from harness.rag.retrieve import Document
from harness.rag.tools.context import ContextArm, ContextStage
from harness.rag.tools.documents import search_documents
from lab.corpora.dossier import dossier_readings
from lab.corpora.institute import institute_readings

ARMS: tuple[ContextArm, ...] = ("truncate", "retrieve", "compress")
SHARES = (0.05, 0.1)


def documents_of(reading: Reading) -> list[Document]:
    """The sources of a question, for the retrieval room."""
    return [Document(id=source.id, text=source.text) for source in reading.sources]


def institute(k: int) -> list[dict[str, Any]]:
    """Recall of gold documents among the documents of the k best passages."""
    readings = institute_readings("test")
    documents = documents_of(readings[0])

    def found(reading: Reading) -> tuple[bool, bool]:
        hits = {hit.doc for hit in search_documents(documents, reading.question, k, "lexical")}
        gold = [evidence.doc for evidence in reading.evidence]
        return set(gold) <= hits, gold[-1] in hits

    rows: list[dict[str, Any]] = []
    for stratum in dict.fromkeys(str(reading.meta["stratum"]) for reading in readings):
        outcomes = [found(reading) for reading in readings if reading.meta["stratum"] == stratum]
        rows.append(
            {"corpus": "institute", "stratum": stratum, "k": k}
            | share("all hops", [all_hops for all_hops, _ in outcomes])
            | share("last hop", [last for _, last in outcomes])
        )
    return rows


def dossier(arm: ContextArm, ratio: float) -> list[dict[str, Any]]:
    """Share of questions whose whole evidence is in the context."""
    readings = dossier_readings("test")
    stage = ContextStage(arm, search="lexical", critic="lexical", tokenizer="minilm")

    def whole(reading: Reading) -> bool:
        budget = int(count_tokens(reading.sources[0].text) * ratio)
        passages = stage.gather(reading.question, documents_of(reading), budget).passages
        return all(
            any(passage.start <= gold.start and gold.end <= passage.end for passage in passages)
            for gold in reading.evidence
        )

    return [
        {"corpus": "dossier", "stratum": stratum, "arm": arm, "budget": ratio}
        | share(
            "evidence",
            [whole(reading) for reading in readings if reading.meta["stratum"] == stratum],
        )
        for stratum in sorted({str(reading.meta["stratum"]) for reading in readings})
    ]


def share(name: str, outcomes: Sequence[bool]) -> dict[str, Any]:
    """A share with its 95 % interval (Wilson) and the number of questions."""
    hits, count = sum(outcomes), len(outcomes)
    interval = share_interval(hits, count)
    return {name: round(hits / count, 3), f"{name} ci95": interval, "n": count}


@benchmark(out=option(type=Path))
def main(options: Options) -> Result:
    """Measure, print and write."""
    rows = [*institute(5), *institute(10)]
    rows += [row for arm in ARMS for ratio in SHARES for row in dossier(arm, ratio)]
    return {"command": "python -m benchmarks.retrieval.reading_baselines", "rows": rows}
