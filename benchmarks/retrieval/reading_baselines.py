"""Trivial baselines of our own search and long-document corpora: what word overlap alone finds.

    python -m benchmarks.retrieval.reading_baselines [--out evals/results/reading_baselines.json]

institute: BM25 with the question as the query; share of questions whose k best passages lie in all
gold documents, or in the one with the answer. dossier: share of questions all of whose gold places
stand in the context, by context stage and budget (lexical arms only, no model).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.corpora import Reading, count_tokens
from harness.rag.retrieve import Document
from harness.rag.tools.context import ContextArm, ContextStage
from harness.rag.tools.documents import search_documents
from harness.stats import wilson
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
    low, high = wilson(sum(outcomes), len(outcomes)) or (0.0, 1.0)
    value = sum(outcomes) / len(outcomes)
    return {name: round(value, 3), f"{name} ci95": [round(low, 3), round(high, 3)],
            "n": len(outcomes)}  # fmt: skip


def main(out: Path | None) -> None:
    """Measure, print a row a line, and write them."""
    parts: list[Callable[[], list[dict[str, Any]]]] = [lambda: institute(5), lambda: institute(10)]
    rows = [row for part in parts for row in part()]
    rows += [row for arm in ARMS for ratio in SHARES for row in dossier(arm, ratio)]
    for row in rows:
        print(json.dumps(row))
    if out is not None:
        out.write_text(json.dumps({"command": "python -m benchmarks.retrieval.reading_baselines",
                                   "rows": rows}, indent=1) + "\n")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    main(parser.parse_args().out)
