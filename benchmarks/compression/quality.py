"""How much of the answer survives compression: every critic at 5, 10 and 20 % of the tokens.

    python -m benchmarks.compression.quality --shared ../shared --cache ../critic_cache

XQuAD-en (gold paragraph among four seeded random ones of the file), COVID-QA (whole papers), QMSum
(whole meetings, units are turns). An answer of the first two is found if one of its sentences is
kept ("any"; "all" asks for every sentence of the answer); QMSum gives the share of gold turns. As
in the compressor, the best unit is always kept, then each by score that still fits; "filled" takes
them until the budget is full, the last one overrunning it, as earlier figures did. `gold` would
rank by the answers themselves and shows what the budget allows. Budgets count MiniLM word pieces,
without markers. Critics rank alone here: no chains, bridges or coverage. Intervals are paired
bootstraps over documents. Nothing was chosen on these sets. Scores and vectors are cached, so that
a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression.cases import Case, fitting, readers_of, sample
from benchmarks.compression.memory import Remembered, remembering
from benchmarks.reports import earlier_report, option, read_options, report
from harness.core import digest_file
from harness.rag.compress import Critic, LexicalCritic, open_tokenizer
from harness.rag.compress.critics.fused import EmbeddingCritic
from harness.rag.compress.critics.token import WEIGHTS
from harness.rag.retrieve import Encoder, open_encoder
from harness.stats import ratio_interval

Scores = NDArray[np.float64]
BUDGETS = (0.05, 0.10, 0.20)
RESAMPLES = 2000
BASELINES = ("random", "lead", "BM25", "embedding", "BM25 + embedding", "BM25 + embedding, 15 mean")
"""What a learned critic has to beat; the last one averages over 15 neighbouring units."""
LEARNED = ("token critic", "fused without critic", "fused")
"""The shipped default is the last; the one before it is what it is without the trained critic."""


def learned(names: Sequence[str], encoder: Encoder, folder: Path, cache: Path) -> dict[str, Critic]:
    """The trained critics of these names, each with a memory for its weights."""
    from harness.rag.compress.critics import features
    from harness.rag.compress.critics.fused import FUSION, FusedCritic
    from harness.rag.compress.critics.token import TokenCritic

    code = (folder / FUSION).read_bytes() + Path(features.__file__ or "").read_bytes()
    key = hashlib.sha256(code).hexdigest()[:12]
    critics: dict[str, tuple[Critic, str]] = {}
    if "fused without critic" in names:
        critics["fused without critic"] = FusedCritic(folder, encoder, None), key
    if (folder / "critic.onnx").is_file():
        weights = digest_file(folder / "critic.onnx")[:12]
        token = Remembered(TokenCritic(folder), cache / f"critic-{weights}.jsonl")
        if "token critic" in names:
            critics["token critic"] = token, weights
        if "fused" in names:
            critics["fused"] = FusedCritic(folder, encoder, token), key + weights
    return {
        name: Remembered(critic, cache / f"scores-{critic.name}-{digest}.jsonl")
        for name, (critic, digest) in critics.items()
    }


def arms_of(case: Case, number: int, critics: dict[str, Critic], seed: int) -> dict[str, Scores]:
    """Scores of every arm for one case."""
    count = len(case.units)
    scores = {
        name: np.asarray(critic.score(case.query, case.units), dtype=np.float64)
        for name, critic in critics.items()
    }
    mixture = standard(scores["BM25"]) + standard(scores["embedding"])
    gold = np.zeros(count)
    gold[sorted(frozenset[int]().union(*case.gold))] = 1
    return {
        "gold": gold,
        "random": np.random.default_rng((seed, number)).random(count),
        "lead": -np.arange(count, dtype=np.float64),
        "BM25 + embedding": mixture,
        "BM25 + embedding, 15 mean": moving_mean(mixture, 15),
        **scores,
    }


def standard(values: Scores) -> Scores:
    """Mean 0, deviation 1."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values)


def moving_mean(values: Scores, width: int) -> Scores:
    """Mean over the `width` units around each; fewer at the ends."""
    kernel = np.ones(width)
    total = np.convolve(values, kernel, mode="full")[width // 2 : width // 2 + len(values)]
    count = np.convolve(np.ones(len(values)), kernel, mode="full")
    return total / count[width // 2 : width // 2 + len(values)]


def recalls(case: Case, scores: Scores, sizes: Scores, budget: float) -> dict[str, float]:
    """Shares of the answers of which one unit is kept, all are, one is where the last overruns."""
    order = [int(unit) for unit in np.argsort(-scores, kind="stable")]
    room = budget * float(sizes.sum())
    before = np.concatenate([[0.0], np.cumsum(sizes[order])[:-1]])
    filled = {unit for unit, used in zip(order, before, strict=True) if used < room}
    chosen = {order[0], *fitting(order[1:], sizes.tolist(), room - float(sizes[order[0]]))}
    count = len(case.gold)
    return {
        "any": sum(bool(answer & chosen) for answer in case.gold) / count,
        "all": sum(answer <= chosen for answer in case.gold) / count,
        "filled": sum(bool(answer & filled) for answer in case.gold) / count,
    }


def interval(gains: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """95 % interval of the mean gain, documents resampled."""
    sums: dict[str, tuple[float, int]] = {}
    for gain, cluster in zip(gains, clusters, strict=True):
        total, count = sums.get(cluster, (0.0, 0))
        sums[cluster] = total + gain, count + 1
    return [round(100 * end, 1) for end in ratio_interval(list(sums.values()), RESAMPLES) or ()]


def measure(cases: Sequence[Case], critics: dict[str, Critic], seed: int) -> dict[str, Any]:
    """Recall of every arm at every budget, and what the fused critic gains on each baseline."""
    counts = open_tokenizer("minilm").counts
    recalls_by_arm: dict[str, dict[float, list[dict[str, float]]]] = {}
    for number, case in enumerate(cases):
        sizes = np.asarray(counts([unit.text for unit in case.units]), dtype=np.float64)
        for name, scores in arms_of(case, number, critics, seed).items():
            for budget in BUDGETS:
                row = recalls(case, scores, sizes, budget)
                recalls_by_arm.setdefault(name, {}).setdefault(budget, []).append(row)
    clusters = [case.cluster for case in cases]
    table = {
        name: {
            f"{budget:.0%}": {rule: percent([row[rule] for row in rows]) for rule in rows[0]}
            for budget, rows in by_budget.items()
        }
        for name, by_budget in recalls_by_arm.items()
    }
    some = {
        name: {budget: [row["any"] for row in rows] for budget, rows in by_budget.items()}
        for name, by_budget in recalls_by_arm.items()
    }
    facts: dict[str, Any] = {"cases": len(cases), "documents": len(set(clusters)), "recall": table}
    if "fused" in some:
        facts["fused against"] = {}
        for budget in BUDGETS:
            gains = facts["fused against"][f"{budget:.0%}"] = dict[str, Any]()
            for name in (*BASELINES[2:], *LEARNED[:2]):
                if name in some:
                    pairs = zip(some["fused"][budget], some[name][budget], strict=True)
                    differences = [ours - baseline for ours, baseline in pairs]
                    gains[name] = {
                        "gain": percent(differences), "interval": interval(differences, clusters),
                    }  # fmt: skip
    return facts


def percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 1)


def main() -> None:
    """Measure, print and write the report."""
    options = read_options(
        __doc__,
        shared=Path("../shared"),
        cache=option(type=Path, required=True, help="folder of scores"),
        out=Path("evals/results/compression_quality.json"),
        size=option(nargs="*", default=[], help="SET=COUNT: its cases, at most"),
        skip=option(nargs="*", default=[], help="SET=COUNT: without so many of them, the first"),
        seed=17,
        sets=["xquad", "covidqa", "qmsum"],
        learned=option(nargs="*", default=list(LEARNED)),
        weights=option(type=Path, default=WEIGHTS),
    )
    folder = options.shared / "data/compression/dev"
    readers = readers_of(folder, options.seed)
    encoder = remembering(open_encoder("encoder"), options.cache)
    critics: dict[str, Critic] = {"BM25": LexicalCritic(), "embedding": EmbeddingCritic(encoder)}
    if options.learned:
        critics |= learned(options.learned, encoder, options.weights, options.cache)
    sizes, skipped = (
        {name: int(count) for name, _, count in (limit.partition("=") for limit in limits)}
        for limits in (options.size, options.skip)
    )
    earlier = earlier_report(options.out)
    # A set that is not asked for stays as it was.
    sets: dict[str, Any] = earlier["sets"] if earlier.get("seed") == options.seed else {}
    for name in options.sets:
        cases = readers[name]()
        cases = sample(cases, sizes.get(name, len(cases)), options.seed)[skipped.get(name, 0) :]
        part = f"{name} without the first {skipped[name]}" if name in skipped else name
        sets[part] = measure(cases, critics, options.seed)
    report({"seed": options.seed, "budgets": list(BUDGETS), "sets": sets}, options.out)


if __name__ == "__main__":
    main()
