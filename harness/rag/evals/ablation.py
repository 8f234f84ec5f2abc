"""Every way to search an index, measured on the same queries, in one table.

Where cases have answers, a model answers from each arm's passages: the answer score, tokens and
cost of every arm.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, cast

from harness.core import (
    BadInput,
    HarnessError,
    LimitReached,
    Unreachable,
    Usage,
    read_models,
    render,
)
from harness.core.assets import load_object
from harness.models import Model, Sampling
from harness.rag.evals.metrics import Ablation, AnswerReport, ArmReport, Case, Measures, measure
from harness.rag.retrieve import Arm, Hit, LocalIndex, SearchOptions, open_reranker
from harness.rag.tasks.reading import best_overlap, exact_match, official_normal
from harness.skills import TOKENIZER, count_tokens
from harness.stats import mean_interval

# (query, number of results) -> hits, best first.
Retriever = Callable[[str, int], Sequence[Hit]]

_DEPTH = 4  # hits asked for per result: several chunks of one document take one rank
SAMPLES = 2000
BASELINE = "lexical"
SAMPLING = Sampling(temperature=0.0, max_tokens=96)
_CITED = re.compile(r"\s*\[\d+(?:\s*[,;]\s*\d+)*\]")


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
    return plain | {
        f"hybrid + {spec}": arm(SearchOptions(arm="hybrid"), spec) for spec in rerankers
    }


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
        "ndcg_lift": [measured.ndcg - base.ndcg for measured, base in pairs],
        "recall_lift": [measured.recall - base.recall for measured, base in pairs],
    }
    times = sorted(run.times) or [0.0]
    return ArmReport(
        **_means(values),
        arm=name,
        mrr=_mean([measured.reciprocal_rank for measured in measures]),
        tokens=_mean(run.tokens),
        p50_ms=times[len(times) // 2],
        p95_ms=times[min(len(times) - 1, int(0.95 * len(times)))],
        failed=queries - len(measures),
        error=run.error,
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


def _means(values: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The mean of each row under its name, 0 without values, and its interval as `<name>_ci95`."""
    figures: dict[str, Any] = {key: _mean(row) for key, row in values.items()}
    return figures | {f"{key}_ci95": mean_interval(row, SAMPLES) for key, row in values.items()}


class Scored(NamedTuple):
    """Exact match, whether the reply holds an accepted answer, and token F1; each 0 to 1."""

    em: float
    holds: float
    f1: float


async def answer_arms(
    cases: Sequence[Case],
    arms: Mapping[str, Retriever],
    model: Model,
    budget: int = 1500,
    *,
    baseline: str = BASELINE,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[AnswerReport, ...]:
    """Let a model answer every case from each arm's best passages within a budget.

    Args:
        cases: those with `answers` are asked.
        arms: as for :func:`ablate`.
        model: answers.
        budget: most tokens of the passages of a prompt.
        baseline: arm that lifts are taken against; the first one if there is none of that name.
        progress: called with (arm, cases done, cases in all).

    Returns:
        A report of every arm, the best F1 first.

    Raises:
        BadInput: if no case has answers; no model is called then.
        LimitReached: if a budget is spent.
        Unreachable: if the model does not answer.
    """
    answerable = [case for case in cases if case.answers]
    if not answerable or budget < 1:
        raise BadInput(
            f"expected cases with `answers` and a budget of 1 or more, got {len(answerable)} of "
            f"{len(cases)} cases and {budget}: add `answers: [...]`, or draft questions with "
            "`harness index questions --ask-model`"
        )
    runs: dict[str, dict[int, Scored]] = {}
    usage = dict.fromkeys(arms, Usage())
    for name, search in arms.items():
        runs[name] = {}
        for number, case in enumerate(answerable):
            try:
                hits = await asyncio.to_thread(search, case.query, 32)
                messages = [{"role": "user", "content": prompt_of(case.query, hits, budget)}]
                reply = await model.complete(messages, sampling=SAMPLING)
            except (LimitReached, Unreachable):
                raise
            except HarnessError:
                continue
            usage[name] += reply.usage
            runs[name][number] = score(reply.text, case.answers)
            if progress is not None:
                progress(name, number + 1, len(answerable))
    base = runs.get(baseline, next(iter(runs.values())))
    reports: list[AnswerReport] = []
    for name, run in runs.items():
        lifts = [scored.f1 - base[number].f1 for number, scored in run.items() if number in base]
        reports.append(
            AnswerReport(
                **_means({"f1": [scored.f1 for scored in run.values()], "f1_lift": lifts}),
                arm=name,
                cases=len(run),
                em=_mean([scored.em for scored in run.values()]),
                holds=_mean([scored.holds for scored in run.values()]),
                usage=usage[name],
                invalid=len(answerable) - len(run),
            )
        )
    return tuple(sorted(reports, key=lambda report: -report.f1))


def prompt_of(question: str, hits: Sequence[Hit], budget: int) -> str:
    """The prompt of `harness ask`, with the best hits that fit the budget."""
    passages: list[dict[str, object]] = []
    room = budget
    for hit in hits:
        cost = count_tokens(hit.text)
        if cost <= room:
            passages.append({"number": len(passages) + 1, "where": hit.citation, "text": hit.text})
            room -= cost
    return render("ask_answer", passages=passages, nearest=(), question=question)


def score(reply: str, answers: Sequence[str]) -> Scored:
    """A reply without its citations, against the accepted answers."""
    answer = _CITED.sub("", reply).strip()
    plain = f" {official_normal(answer)} "
    return Scored(
        em=float(exact_match(answer, answers)),
        holds=float(any(f" {official_normal(accepted)} " in plain for accepted in answers)),
        f1=best_overlap(answer, answers).f1,
    )
