"""Share of answers that survive `compress`, as users call it, at 5, 10 and 20 % of the tokens.

    python -m benchmarks.compression.quality --shared ../shared --cache ../compressed

XQuAD-en (gold paragraph among four seeded random ones of the file, as one document and as five
files), COVID-QA (whole papers), QMSum (whole meetings): an answer is found if all of it is kept; of
a meeting, the share of gold turns. The default is `harness.api.compress(documents, question,
ratio=...)`: names and identifiers are followed, the first sentence that does not fit is cut,
markers and titles stand only where they take little, and all of that counts within the budget. A
budget that holds nothing is refused, and counts as nothing kept. Baselines are sentences by rank,
each that still fits into the same budget, with neither titles nor markers; `gold`
ranks by the answers and shows what fits at all. Intervals are bootstraps over documents. Nothing
was trained on these sets. Results are cached by question, so that a run that was stopped resumes: a
changed compressor needs an empty `--cache`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression.cases import Case, covered, fitting, readers_of, sample
from benchmarks.compression.memory import remembering
from benchmarks.reports import Journal, Options, benchmark, earlier_report, option, report
from harness.api import compress
from harness.core import BadInput
from harness.rag.compress import LexicalCritic, Span, Store, Unit, open_tokenizer
from harness.rag.compress.critics.mixture import EmbeddingCritic, MixCritic, standard_sum
from harness.rag.retrieve import Encoder, open_encoder
from harness.stats import ratio_interval

Scores = NDArray[np.float64]
BUDGETS = (0.05, 0.10, 0.20)
RESAMPLES = 2000
DEFAULT = "default"
Row = dict[str, float]
Arm = Callable[[Case], Callable[[float], Row]]
"""Reads a case once, and then says what a budget keeps of it."""


def arms_of(encoder: Encoder, cache: Path) -> dict[str, Arm]:
    """The command with its defaults and with other settings, and the baselines."""
    lexical, embedding = LexicalCritic(), EmbeddingCritic(encoder)

    def mixture(case: Case) -> Scores:
        return standard_sum((lexical, embedding), case.query, case.units)

    def gold(case: Case) -> Scores:
        scores = np.zeros(len(case.units))
        scores[sorted(frozenset[int]().union(*case.gold))] = 1
        return scores

    default, store = MixCritic(encoder), Store(cache / "store")
    return {
        DEFAULT: partial(command, critic=default, store=store),
        "BM25 + embedding": partial(plain, mixture),
        "BM25 + embedding, 15 mean": partial(plain, lambda case: moving_mean(mixture(case), 15)),
        "gold": partial(plain, gold),
    }


def command(case: Case, **settings: Any) -> Callable[[float], Row]:
    """`compress` as users call it."""

    def kept(budget: float) -> Row:
        try:
            result = compress(case.documents, case.query.query, ratio=budget, **settings)
        except BadInput:
            return {"kept": 0.0, "refused": 1.0, "tokens": 0.0}
        share = result.tokens.output / result.tokens.input
        return {"kept": recall(case, result.spans), "refused": 0.0, "tokens": share}

    return kept


def plain(scored: Callable[[Case], Scores], case: Case) -> Callable[[float], Row]:
    """Sentences by rank, each that still fits."""
    counts = open_tokenizer().counts
    sizes = counts([unit.text for unit in case.units])
    total = sum(counts([document.text for document in case.documents]))
    order = np.argsort(-scored(case), kind="stable").tolist()

    def kept(budget: float) -> Row:
        units = [case.units[index] for index in fitting(order, sizes, int(budget * total))]
        share = sum(counts([unit.text for unit in units])) / total
        return {"kept": recall(case, units), "refused": 0.0, "tokens": share}

    return kept


def recall(case: Case, spans: Sequence[Span | Unit]) -> float:
    """Share of the answers of which all is kept."""
    texts = {document.id: document.text for document in case.documents}
    return fmean(covered(answer, spans, texts[answer.doc]) for answer in case.answers)


def moving_mean(values: Scores, width: int) -> Scores:
    """Mean over the `width` units around each; fewer at the ends."""
    kernel = np.ones(width)
    total = np.convolve(values, kernel, mode="full")[width // 2 : width // 2 + len(values)]
    count = np.convolve(np.ones(len(values)), kernel, mode="full")
    return total / count[width // 2 : width // 2 + len(values)]


def interval(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """95 % interval of a mean in percent, documents resampled."""
    sums: dict[str, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        total, count = sums.get(cluster, (0.0, 0))
        sums[cluster] = total + value, count + 1
    return [round(100 * end, 1) for end in ratio_interval(list(sums.values()), RESAMPLES) or ()]


def measure(name: str, cases: Sequence[Case], arms: Mapping[str, Arm], cache: Path) -> Any:
    """Recall of every arm at every budget, and what the default gains on each."""
    journal = Journal(cache / f"{name}.jsonl")
    rows: dict[str, dict[float, list[Row]]] = {
        arm: {budget: [] for budget in BUDGETS} for arm in arms
    }
    for case in cases:
        for arm, prepare in arms.items():
            key = json.dumps([arm, case.id])
            by_budget = journal.result(
                key, lambda case=case, prepare=prepare: list(map(prepare(case), BUDGETS))
            )
            for budget, row in zip(BUDGETS, by_budget, strict=True):
                rows[arm][budget].append(row)
    clusters = [case.cluster for case in cases]
    table: dict[str, Any] = {"cases": len(cases), "documents": len(set(clusters)), "recall": {}}
    for arm, by_budget in rows.items():
        table["recall"][arm] = {
            f"{budget:.0%}": {
                **{
                    column: percent([row[column] for row in budget_rows])
                    for column in budget_rows[0]
                },
                "interval": interval([row["kept"] for row in budget_rows], clusters),
                "most tokens": percent([max(row["tokens"] for row in budget_rows)]),
            }
            for budget, budget_rows in by_budget.items()
        }
    table["default against"] = {f"{budget:.0%}": {} for budget in BUDGETS}
    for arm, by_budget in rows.items():
        for budget in BUDGETS if arm != DEFAULT else ():
            pairs = zip(rows[DEFAULT][budget], by_budget[budget], strict=True)
            gains = [default["kept"] - baseline["kept"] for default, baseline in pairs]
            table["default against"][f"{budget:.0%}"][arm] = {
                "gain": percent(gains), "interval": interval(gains, clusters),
            }  # fmt: skip
    return table


def percent(values: Sequence[float]) -> float:
    """Their mean in percent."""
    return round(100 * sum(values) / len(values), 1)


@benchmark(
    shared=Path("../shared"),
    cache=option(type=Path, required=True, help="folder of vectors, scores and results"),
    out=Path("evals/results/compression_quality.json"),
    size=option(nargs="*", default=[], help="SET=COUNT: its cases, at most"),
    seed=17,
    sets=["xquad", "xquad_files", "covidqa", "qmsum"],
)
def main(options: Options) -> None:
    """Measure, print and write the report."""
    readers = readers_of(options.shared / "data/compression/dev", options.seed)
    arms = arms_of(remembering(open_encoder("encoder"), options.cache), options.cache)
    sizes = {name: int(size) for name, _, size in (text.partition("=") for text in options.size)}
    earlier = earlier_report(options.out)
    # A set that is not asked for stays as it was.
    sets: dict[str, Any] = earlier["sets"] if earlier.get("seed") == options.seed else {}
    for name in options.sets:
        cases = readers[name]()
        cases = sample(cases, sizes.get(name, len(cases)), options.seed)
        sets[name] = measure(name, cases, arms, options.cache)
        report({"seed": options.seed, "budgets": list(BUDGETS), "sets": sets}, options.out)
