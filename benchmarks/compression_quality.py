"""How much of the answer survives compression: every critic at 5, 10 and 20 % of the tokens.

    python -m benchmarks.compression_quality --shared ../shared --cache ../critic_cache

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

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression_cases import Case, covidqa, qmsum, sample, xquad
from harness.compress.critics.embedding import EmbeddingCritic
from harness.compress.critics.lexical import LexicalCritic
from harness.compress.tokens import open_tokenizer
from harness.compress.types import Critic
from harness.core import write_atomic
from harness.retrieve.encoder import Encoder, open_encoder

Scores = NDArray[np.float64]
BUDGETS = (0.05, 0.10, 0.20)
RESAMPLES = 2000
BASELINES = ("random", "lead", "BM25", "embedding", "BM25 + embedding", "BM25 + embedding, 15 mean")
"""What a learned critic has to beat; the last one averages over 15 neighbouring units."""


def remembering(encoder: Encoder, folder: Path) -> Encoder:
    """The encoder with a memory on disk: a paper is encoded once, not once a question."""
    names, rows = folder / "vectors.txt", folder / "vectors.f32"
    folder.mkdir(parents=True, exist_ok=True)
    keys = names.read_text().split() if names.exists() else []
    stored = np.fromfile(rows, dtype=np.float32) if keys else np.zeros(0, np.float32)
    stored = stored.reshape(-1, encoder.dimension)
    known = dict(zip(keys, stored, strict=False))

    def encode(texts: list[str]) -> NDArray[np.float32]:
        digests = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {key: text for key, text in zip(digests, texts, strict=True) if key not in known}
        if new:
            vectors = encoder.encode(list(new.values()))
            known.update(zip(new, vectors, strict=True))
            with rows.open("ab") as file:
                file.write(vectors.tobytes())
            with names.open("a") as file:
                file.write("".join(f"{key}\n" for key in new))
        return np.stack([known[key] for key in digests])

    return Encoder(encoder.name, encoder.dimension, encode, encoder.spec, encoder.languages)


class Scored:
    """Scores of one critic, kept in a file per critic and set.

    Args:
        folder: of the cache.
        name: of the arm.
        key: what the scores depend on besides the case (a digest of weights, say).
    """

    def __init__(self, folder: Path, name: str, key: str) -> None:
        digest = hashlib.sha256(f"{name}|{key}".encode()).hexdigest()[:12]
        self._path = folder / f"scores-{digest}.jsonl"
        self._known: dict[str, list[float]] = {}
        self.seconds = 0.0
        self.units = 0
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self._known[row["case"]] = row["scores"]

    def of(self, case: Case, critic: Critic) -> Scores:
        """Scores of the case's units, from the file if they are there."""
        place = f"{case.id}|{len(case.units)}|{case.units[0].doc}"
        if place not in self._known:
            started = time.perf_counter()
            scores = [float(one) for one in critic.score(case.query, case.units)]
            self.seconds += time.perf_counter() - started
            self.units += len(scores)
            self._known[place] = scores
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": place, "scores": scores}) + "\n")
        return np.asarray(self._known[place], dtype=np.float64)


def learned(names: Sequence[str], encoder: Encoder) -> dict[str, tuple[Critic, str]]:
    """The trained critics with digests of their weights, those asked for."""
    from harness.compress.critics import features
    from harness.compress.critics.fused import FusedCritic
    from harness.compress.critics.token import WEIGHTS, TokenCritic

    key = hashlib.sha256()
    for path in (*sorted(WEIGHTS.glob("*")), Path(features.__file__ or "")):
        key.update(path.read_bytes())
    makers: dict[str, Callable[[], Critic]] = {
        "token critic": TokenCritic,
        "fused": lambda: FusedCritic(encoder=encoder),
    }
    return {name: (makers[name](), key.hexdigest()) for name in makers if name in names}


def arms_of(
    case: Case, number: int, caches: dict[str, tuple[Scored, Critic]], seed: int
) -> dict[str, Scores]:
    """Scores of every arm for one case."""
    count = len(case.units)
    scores = {name: cache.of(case, critic) for name, (cache, critic) in caches.items()}
    both = standard(scores["BM25"]) + standard(scores["embedding"])
    gold = np.zeros(count)
    gold[sorted(frozenset[int]().union(*case.gold))] = 1
    return {
        "gold": gold,
        "random": np.random.default_rng((seed, number)).random(count),
        "lead": -np.arange(count, dtype=np.float64),
        "BM25 + embedding": both,
        "BM25 + embedding, 15 mean": moving_mean(both, 15),
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
    order = [int(at) for at in np.argsort(-scores, kind="stable")]
    room = budget * float(sizes.sum())
    before = np.concatenate([[0.0], np.cumsum(sizes[order])[:-1]])
    filled = {at for at, used in zip(order, before, strict=True) if used < room}
    kept = set(order[:1])
    room -= float(sizes[order[0]])
    for at in order[1:]:
        if sizes[at] <= room:
            kept.add(at)
            room -= float(sizes[at])
    count = len(case.gold)
    return {
        "any": sum(bool(answer & kept) for answer in case.gold) / count,
        "all": sum(answer <= kept for answer in case.gold) / count,
        "filled": sum(bool(answer & filled) for answer in case.gold) / count,
    }


def interval(gains: Sequence[float], clusters: Sequence[str], seed: int) -> list[float]:
    """95 % interval of the mean gain, documents resampled."""
    names = sorted(set(clusters))
    place = {name: at for at, name in enumerate(names)}
    total, count = np.zeros(len(names)), np.zeros(len(names))
    for gain, cluster in zip(gains, clusters, strict=True):
        total[place[cluster]] += gain
        count[place[cluster]] += 1
    draws = np.random.default_rng(seed).integers(0, len(names), (RESAMPLES, len(names)))
    means = total[draws].sum(1) / count[draws].sum(1)
    return [round(100 * float(one), 1) for one in np.quantile(means, (0.025, 0.975))]


def measure(
    cases: Sequence[Case], caches: dict[str, tuple[Scored, Critic]], seed: int
) -> dict[str, Any]:
    """Recall of every arm at every budget, and what the fused critic gains on each baseline."""
    counts = open_tokenizer("minilm").counts
    found: dict[str, dict[float, list[dict[str, float]]]] = {}
    for number, case in enumerate(cases):
        sizes = np.asarray(counts([unit.text for unit in case.units]), dtype=np.float64)
        for name, scores in arms_of(case, number, caches, seed).items():
            for budget in BUDGETS:
                row = recalls(case, scores, sizes, budget)
                found.setdefault(name, {}).setdefault(budget, []).append(row)
    clusters = [case.cluster for case in cases]
    table = {
        name: {
            f"{budget:.0%}": {rule: _percent([row[rule] for row in rows]) for rule in rows[0]}
            for budget, rows in by_budget.items()
        }
        for name, by_budget in found.items()
    }
    some = {
        name: {budget: [row["any"] for row in rows] for budget, rows in by_budget.items()}
        for name, by_budget in found.items()
    }
    facts: dict[str, Any] = {"cases": len(cases), "documents": len(set(clusters)), "recall": table}
    if "fused" in some:
        facts["fused against"] = {
            f"{budget:.0%}": _gains(some, budget, clusters, seed) for budget in BUDGETS
        }
    return facts


def _gains(
    some: dict[str, dict[float, list[float]]], budget: float, clusters: Sequence[str], seed: int
) -> dict[str, Any]:
    gains: dict[str, Any] = {}
    for name in (*BASELINES[2:], "token critic"):
        if name in some:
            pairs = zip(some["fused"][budget], some[name][budget], strict=True)
            differences = [one - other for one, other in pairs]
            gains[name] = {
                "gain": _percent(differences),
                "interval": interval(differences, clusters, seed),
            }
    return gains


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 1)


def main() -> None:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--cache", type=Path, required=True, help="folder of scores")
    parser.add_argument("--out", type=Path, default=Path("evals/results/compression_quality.json"))
    parser.add_argument("--size", type=int, default=10_000, help="cases of a set, at most")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--sets", nargs="*", default=["xquad", "covidqa", "qmsum"])
    parser.add_argument("--learned", nargs="*", default=["token critic", "fused"])
    options = parser.parse_args()
    folder = options.shared / "data/compression/dev"
    readers: dict[str, Callable[[], list[Case]]] = {
        "xquad": lambda: xquad(folder, options.seed),
        "covidqa": lambda: covidqa(folder),
        "qmsum": lambda: qmsum(folder),
    }
    encoder = remembering(open_encoder("encoder"), options.cache)
    critics: dict[str, tuple[Critic, str]] = {
        "BM25": (LexicalCritic(), "1"),
        "embedding": (EmbeddingCritic(encoder), encoder.name),
    }
    if options.learned:
        critics |= learned(options.learned, encoder)
    report: dict[str, Any] = {"seed": options.seed, "budgets": list(BUDGETS), "sets": {}}
    for name in options.sets:
        caches = {
            arm: (Scored(options.cache / name, arm, key), critic)
            for arm, (critic, key) in critics.items()
        }
        cases = sample(readers[name](), options.size, options.seed)
        report["sets"][name] = measure(cases, caches, options.seed)
        print(name, json.dumps(report["sets"][name], indent=1), flush=True)
    write_atomic(options.out, json.dumps(report, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
