"""Whole answers without a model: does `check` pass what people call supported, beside baselines.

    python -m benchmarks.check.whole --shared ../shared --journal FILE \
        --out evals/results/check_whole.json

Sets and split are those of benchmarks/check/labelled.py: thresholds and the default are chosen
on the tuning parts, the rest is scored once. A checker's verdict is PASS or not, of
`harness.api.check` with the verifiers `rules` and `overlap`, the default. Baselines have one
threshold for all sets, as a default must: the best mean balanced accuracy over the tuning parts.
Intervals: 95 %, bootstrap over documents. A run of some sets alone fits thresholds to those.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.check.labelled import Labelled, evaluation_sets
from benchmarks.reports import Journal, Options, Result, benchmark, option
from harness.api import check
from harness.rag.check.numbers import Agreement, Mention, agreement
from harness.rag.check.numbers import read as read_values
from harness.rag.check.overlap import Source, closest_sentence, read
from harness.rag.retrieve import Document, sentence_spans
from harness.stats import balanced_accuracy, cluster_interval

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CHECKERS = ("rules", "overlap")
BASELINES = ("closest", "document", "numbers")
"""Least share of a sentence's words that its closest sentence has; mean share that the document
has; no value in digits that it lacks."""


def facts(claim: Labelled) -> dict[str, float]:
    """Check a claim with each verifier, and compute the features of the baselines."""
    passes = {
        name: check(claim.claim, Document("document", claim.document), verifier=name).verdict
        for name in CHECKERS
    }
    source = Source(claim.document)
    closest, shares, missing = [1.0], [1.0], 0
    for start, end in sentence_spans(claim.claim):
        reading = read(claim.claim[start:end])
        stems = reading.content_stems
        closest.append(closest_sentence(reading, source)[0])
        if stems:
            shares.append(sum(stem in source for stem in stems) / len(stems))
        missing += len(missing_values(claim.claim[start:end], claim.document))
    return {
        **{name: float(passes[name] == "PASS") for name in CHECKERS},
        "closest": min(closest),
        "document": float(np.mean(shares[1:] or [1.0])),
        "numbers": float(missing == 0),
    }


def missing_values(claim: str, document: str) -> list[Mention]:
    """Values written in digits that agree with none of a document's, by size alone.

    Signs, bounds and numbers in words are left out: a summary counts what its document lists.

    Args:
        claim: its text.
        document: that it is checked against.
    """
    sizes: dict[tuple[object, ...], Mention] = {}
    for size in (mention.size for mention in read_values(document)):
        sizes.setdefault(size.key, size)
    missing: list[Mention] = []
    for mention in read_values(claim):
        size = mention.size
        if not re.search(r"\d", mention.text) or size.key in sizes:
            continue  # the key is looked up first: comparing with hundreds of values takes a while
        if all(agreement(size, stated) is not Agreement.SAME for stated in sizes.values()):
            missing.append(mention)
    return missing


def threshold(
    rows: Mapping[str, Sequence[dict[str, float]]], labels: Mapping[str, Flags], name: str
) -> float:
    """Choose the threshold of a baseline by the best mean balanced accuracy over the sets."""
    tried = sorted({row[name] for group in rows.values() for row in group})

    def mean(least: float) -> float:
        flags = {
            key: np.array([row[name] >= least for row in group]) for key, group in rows.items()
        }
        return float(np.mean([balanced_accuracy(flags[key], labels[key]) for key in rows]))

    return max(tried, key=mean)


def interval(
    flags: Flags, baseline: Flags, labels: Flags, sources: NDArray[np.str_]
) -> tuple[float, float]:
    """95 % interval of the difference in balanced accuracy, drawn by documents."""

    def difference(indices: NDArray[np.int64]) -> float | None:
        truth = labels[indices]
        if truth.all() or not truth.any():
            return None
        return balanced_accuracy(flags[indices], truth) - balanced_accuracy(
            baseline[indices], truth
        )

    return cluster_interval(difference, sources)


@benchmark(
    shared=Path,
    journal=option(type=Path, help="keeps what was judged"),
    sets=option(nargs="*", help="default: all five"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Judge every claim, and write balanced accuracies of the rest."""
    journal = Journal(options.journal)
    ordered: dict[str, list[Labelled]] = {}
    judged: dict[str, list[dict[str, float]]] = {}
    for name, claims in evaluation_sets(options.shared / "data").items():
        if options.sets and name not in options.sets:
            continue
        ordered[name] = sorted(claims, key=lambda claim: claim.document)
        for claim in ordered[name]:
            text = f"{claim.claim}\0{claim.document}"
            key = hashlib.sha256(text.encode()).hexdigest()[:24]
            row = journal.result(key, partial(facts, claim))
            judged.setdefault(name, []).append(row)
    tuning = {
        name: [row for row, claim in zip(judged[name], claims, strict=True) if claim.tuning]
        for name, claims in ordered.items()
    }
    labels = {
        name: np.array([claim.supported for claim in claims if claim.tuning])
        for name, claims in ordered.items()
    }
    least = {name: threshold(tuning, labels, name) for name in BASELINES} | dict.fromkeys(
        CHECKERS, 1.0
    )
    figures: dict[str, Any] = {}
    for name, claims in ordered.items():
        held_out = [(row, c) for row, c in zip(judged[name], claims, strict=True) if not c.tuning]
        supported = np.array([claim.supported for _, claim in held_out])
        sources = np.array([hashlib.sha256(c.document.encode()).hexdigest() for _, c in held_out])
        flags = {
            key: np.array([row[key] >= bound for row, _ in held_out])
            for key, bound in least.items()
        }
        scores = {
            key: round(balanced_accuracy(flagged, supported), 4) for key, flagged in flags.items()
        }
        best = max(BASELINES, key=lambda key: scores[key])

        low, high = interval(flags["overlap"], flags[best], supported, sources)
        figures[name] = {
            "claims": len(held_out),
            "balanced_accuracy": scores,
            "best_baseline": best,
            "difference": round(scores["overlap"] - scores[best], 4),
            "ci95": [round(low, 4), round(high, 4)],
        }
    tuned = {
        key: round(float(np.mean([
            balanced_accuracy(np.array([row[key] >= bound for row in tuning[name]]), labels[name])
            for name in tuning
        ])), 4)
        for key, bound in least.items()
    }  # fmt: skip
    command = (
        "python -m benchmarks.check.whole --shared ../shared --out evals/results/check_whole.json"
    )
    return {"command": command, "thresholds": least, "mean_tuning": tuned, "sets": figures}
