"""Every way to search an index, measured on the same queries, in one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from harness.core import BadInput, HarnessError, read_models
from harness.core.assets import load_object
from harness.rag.evals.metrics import Ablation, ArmReport, Case, Measures, measure
from harness.rag.retrieve import Arm, Hit, LocalIndex, SearchOptions, open_reranker
from harness.skills import TOKENIZER, count_tokens
from harness.stats import mean_interval

# (query, number of results) -> hits, best first.
Retriever = Callable[[str, int], Sequence[Hit]]

_DEPTH = 4  # hits asked for per result: several chunks of one document take one rank
SAMPLES = 2000
BASELINE = "lexical"


@dataclass(frozen=True)
class _Run:
    measures: dict[int, Measures]
    tokens: list[int]
    times: list[float]
    error: str


def read_cases(path: Path) -> list[Case]:
    """Read a JSON lines file of `{query, gold: [{doc, start?, end?, relevance?}], id?}`.

    Raises:
        BadInput: if it is missing, a row does not fit, or a query has no gold.
    """
    cases = read_models(path, Case)
    for number, case in enumerate(cases, start=1):
        if not case.gold or not case.query.strip():
            raise BadInput(f"{path}: row {number}: expected a query with at least one gold item")
    if not cases:
        raise BadInput(f"{str(path)!r} holds no cases: `harness index questions` drafts some")
    return cases


def index_arms(index: LocalIndex, rerankers: Iterable[str] = ()) -> dict[str, Retriever]:
    """The arms of an index: lexical, dense, both fusions, and each reranker over the hybrid."""

    def arm(options: SearchOptions, rerank: str | None = None) -> Retriever:
        reranker = open_reranker(rerank) if rerank else None
        return lambda query, k: index.search(query, k, options=options, reranker=reranker)

    names: tuple[Arm, ...] = ("lexical", "dense", "hybrid", "weighted")
    plain = {name: arm(SearchOptions(arm=name)) for name in names}
    return plain | {f"hybrid + {spec}": arm(SearchOptions(), spec) for spec in rerankers}


def load_retriever(reference: str) -> Retriever:
    """A user's own store as an arm: `file.py:function`, called as `function(query, k)`.

    It returns, best first, ids of documents, or objects `{doc, text?, start?, end?, score?}`.

    Raises:
        BadInput: if there is no such function; when called, if it returns something else.
    """
    function = load_object(reference)
    if not callable(function):
        raise BadInput(f"{reference!r} is no function: expected one that takes (query, k)")

    def search(query: str, k: int) -> list[Hit]:
        reply = function(query, k)
        if not isinstance(reply, Iterable) or isinstance(reply, str):
            raise BadInput(f"{reference!r}: expected a list of hits, got {reply!r}")
        hits = cast("Iterable[Any]", reply)
        return [_as_hit(hit, rank, reference) for rank, hit in enumerate(hits, start=1)]

    return search


def _as_hit(value: Any, rank: int, reference: str) -> Hit:
    if isinstance(value, Hit):
        return value
    row: dict[str, Any] = {"doc": value} if isinstance(value, str) else value
    try:
        text = str(row.get("text", ""))
        start = int(row.get("start", 0))
        end = int(row.get("end", start + len(text)))
        score = float(row.get("score", 1 / rank))
        return Hit(doc=str(row["doc"]), start=start, end=end, text=text, score=score)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{reference!r}: expected an id or an object with `doc` for every hit, got {value!r}"
        ) from error


def ablate(
    cases: Sequence[Case],
    arms: Mapping[str, Retriever],
    k: int = 10,
    *,
    baseline: str = BASELINE,
    progress: Callable[[str, int, int], None] | None = None,
) -> Ablation:
    """Run every query through every arm.

    Args:
        cases: queries with gold.
        arms: by name.
        k: results that count.
        baseline: arm that lifts are taken against; the first one if there is none of that name.
        progress: called with (arm, queries done, queries in all).

    Raises:
        BadInput: if there are no cases, no arms, or every query of every arm failed.
    """
    if not cases or not arms or k < 1:
        raise BadInput(f"expected cases, arms and k of 1 or more: {len(cases)}, {len(arms)}, {k}")
    baseline = baseline if baseline in arms else next(iter(arms))
    runs = {name: _run(name, search, cases, k, progress) for name, search in arms.items()}
    if not any(run.measures for run in runs.values()):
        raise BadInput(f"every query failed; the first: {runs[baseline].error}")
    reports = [_report(name, run, runs[baseline], len(cases)) for name, run in runs.items()]
    ranked = sorted(reports, key=lambda report: -report.ndcg)
    return Ablation(
        queries=len(cases), k=k, baseline=baseline, tokenizer=TOKENIZER, arms=tuple(ranked)
    )


def _run(
    name: str,
    search: Retriever,
    cases: Sequence[Case],
    k: int,
    progress: Callable[[str, int, int], None] | None,
) -> _Run:
    measures: dict[int, Measures] = {}
    tokens: list[int] = []
    times: list[float] = []
    first = ""
    for number, case in enumerate(cases):
        started = time.perf_counter()
        try:
            hits = search(case.query, _DEPTH * k)
        except HarnessError as error:
            first = first or str(error)
            continue
        times.append(1000 * (time.perf_counter() - started))
        measures[number] = measure(hits, case.gold, k)
        tokens.append(sum(count_tokens(hit.text) for hit in hits[:k]))
        if progress is not None:
            progress(name, number + 1, len(cases))
    return _Run(measures, tokens, times, first)


def _report(name: str, run: _Run, baseline: _Run, queries: int) -> ArmReport:
    measures = list(run.measures.values())
    pairs = [
        (measured, baseline.measures[number])
        for number, measured in run.measures.items()
        if number in baseline.measures
    ]
    values: dict[str, list[float]] = {
        "recall": [measured.recall for measured in measures],
        "ndcg": [measured.ndcg for measured in measures],
        "ndcg_lift": [own.ndcg - base.ndcg for own, base in pairs],
        "recall_lift": [own.recall - base.recall for own, base in pairs],
    }
    times = sorted(run.times) or [0.0]
    figures: dict[str, Any] = {key: mean(row) for key, row in values.items()}
    figures |= {f"{key}_ci95": mean_interval(row, SAMPLES) for key, row in values.items()}
    return ArmReport(
        **figures,
        arm=name,
        mrr=mean([measured.reciprocal_rank for measured in measures]),
        tokens=mean(run.tokens),
        p50_ms=times[len(times) // 2],
        p95_ms=times[min(len(times) - 1, int(0.95 * len(times)))],
        failed=queries - len(measures),
        error=run.error,
    )


def mean(values: Sequence[float]) -> float:
    """0 where there are no values."""
    return fmean(values) if values else 0.0
