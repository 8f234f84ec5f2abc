"""Verdicts without a language model on SummEdits, QAGS, WiCE and FaithBench, beside baselines.

    python -m benchmarks.check.quality --shared ../shared --out evals/results/check_quality.json

Split: a row is for tuning if the SHA-256 of its document's text (SummEdits `doc`, QAGS `article`,
FaithBench `source`, the lines of WiCE's `evidence`) as a number modulo 10 is below 3. Everything
is chosen there (strength, variant, threshold per set); the rest is scored once. QAGS: one claim a
sentence, majority of three workers. WiCE: supported against partially and not supported.
FaithBench: unsupported if any annotator marked an unwanted hallucination; its items were selected
because detectors, GPT-4o among them, disagreed.

Variants: `global` is one model for all sets, the packaged one (rows of the tuning parts, and
corrupted texts where they help there); `own` has a head of its own for every set, fitted on its
tuning part; `both` averages their log odds. In all three the numeric layer comes first: a claim
with a value in digits that the document has not is unsupported. One variant is chosen for all
sets: the best mean area under the curve over the tuning parts, every row scored by a model that
saw no row of its source. Thresholds: half way between the medians of both labels in the tuning
part. Calibration: a logistic curve through the tuning part's scores, ten bins of equal size.

Baselines: majority; word overlap, cosine and number flag (digits as strings) with thresholds of
the tuning part, the better of our rule and of the best balanced accuracy there; and a logistic
regression on the three, cross-validated by source within the rest, which so learns from more
rows of the set than any variant does.

What was seen of the rest before: scores of an earlier version, for every variant, with other
thresholds (`docs/concepts/checking-verdicts.md` lists them).
Intervals: 95 %, bootstrap over documents (2,000 draws).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.check.whole import interval
from benchmarks.reports import option, read_options, report
from harness.rag.check.verify import Source, read
from harness.stats import auc, balanced_accuracy
from harness.train.verifier.features import Featured, Labelled, evaluation_sets, featured
from harness.train.verifier.fit import (
    Rows,
    Trained,
    as_rows,
    best_threshold,
    choose_strength,
    cross_fitted,
    fit,
    train,
)
from lab.training.calibration import (
    as_probabilities,
    calibrated,
    calibration_error,
    middle_threshold,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SIMPLE = ("cover_document.mean", "cosine.mean", "numbers_missing.most")
LAYER = "values_missing.most"
BASELINES = {"word overlap": SIMPLE[0], "embedding": SIMPLE[1]}
BAR = 0.03
VARIANTS = ("global", "own", "both")


def main() -> None:
    """Score every set and write the result."""
    options = read_options(
        __doc__,
        shared=Path,
        out=Path,
        cache=option(type=Path, help="folder that keeps features"),
        wordnet=option(type=Path, required=True, help="its database files"),
    )
    sets = {
        name: featured(claims, options.cache)
        for name, claims in evaluation_sets(options.shared / "data").items()
    }
    trained = train(options.shared / "data", options.wordnet, options.cache)
    each = {name: scored(rows, trained) for name, rows in sets.items()}
    chosen, areas = choose_variant(each)
    result: dict[str, Any] = {
        "command": "python -m benchmarks.check.quality --shared ../shared --wordnet DICT "
        "--out evals/results/check_quality.json",
        "variant": {"chosen": chosen, "mean_auc_tuning": areas},
        "sets": {name: score_set(scores, chosen) for name, scores in each.items()},
        "numeric_layer": numeric_layer(sets["summedits"]),
        "wice_support": support_recall([row for row in sets["wice"] if not row.claim.tuning]),
        "training": trained.report,
    }
    report(result, options.out)


@dataclass(frozen=True)
class Scored:
    """One set: log odds of its variants.

    Attributes:
        tuning: its rows for choosing.
        rest: its other rows.
        inside: by variant, scores of the tuning part by models that saw no row of the source.
        outside: by variant, scores of the rest.
        baselines: what they say to the rest.
    """

    tuning: Rows
    rest: Rows
    inside: Mapping[str, Floats]
    outside: Mapping[str, Floats]
    baselines: Mapping[str, Flags]


def scored(sample: Sequence[Featured], trained: Trained) -> Scored:
    """Scores of one set."""
    names = trained.classifier.names
    tuning = as_rows([row for row in sample if row.claim.tuning], names)
    held_out = [row for row in sample if not row.claim.tuning]
    test = as_rows(held_out, names)
    name = str(tuning.sets[0])
    strength, _ = choose_strength(tuning)
    own = fit(tuning, strength)
    inside = {
        "global": _odds(trained.cross_fitted[name]),
        "own": _odds(cross_fitted(tuning, strength)),
    }
    outside = {
        "global": _odds(as_probabilities(trained.classifier, [row.features for row in held_out])),
        "own": _odds(own.predict_proba(test.features)[:, 1]),
    }
    column = names.index(LAYER)
    return Scored(
        tuning,
        test,
        _with_both(inside, tuning.features[:, column]),
        _with_both(outside, test.features[:, column]),
        _simple(sample),
    )


def _with_both(scores: Mapping[str, Floats], missing: Floats) -> dict[str, Floats]:
    every = {**scores, "both": (scores["global"] + scores["own"]) / 2}
    # Below all others where a value of the claim is none of the document's.
    return {name: odds - np.where(missing > 0, 100.0, 0.0) for name, odds in every.items()}


def choose_variant(sets: Mapping[str, Scored]) -> tuple[str, dict[str, float]]:
    """The variant with the best mean area under the curve on the tuning parts; all areas."""
    means = {
        name: round(
            float(
                np.mean(
                    [auc(scores.inside[name], scores.tuning.supported) for scores in sets.values()]
                )
            ),
            4,
        )
        for name in VARIANTS
    }
    return max(means, key=lambda name: means[name]), means


def score_set(scores: Scored, chosen: str) -> dict[str, Any]:
    """Baselines and variants of one set, on the rows that are not for tuning."""
    test, tuning = scores.rest, scores.tuning
    variants: dict[str, dict[str, Any]] = {}
    flags: dict[str, Flags] = {}
    for name in VARIANTS:
        inside, outside = scores.inside[name], scores.outside[name]
        flags[name] = outside >= middle_threshold(inside, tuning.supported)
        inside, outside = np.clip(inside, -8, 8), np.clip(outside, -8, 8)
        variants[name] = {
            "balanced_accuracy": round(balanced_accuracy(flags[name], test.supported), 4),
            "auc": round(auc(outside, test.supported), 4),
            "auc_tuning": round(auc(inside, tuning.supported), 4),
            "calibration_error": round(
                calibration_error(calibrated(inside, tuning.supported, outside), test.supported), 4
            ),
        }
    figures = {
        name: round(balanced_accuracy(flags, test.supported), 4)
        for name, flags in scores.baselines.items()
    }
    best = max(figures, key=lambda name: figures[name])
    low, high = interval(flags[chosen], scores.baselines[best], test.supported, test.sources)
    difference = variants[chosen]["balanced_accuracy"] - figures[best]
    return {
        "claims": len(test.supported),
        "claims_tuning": len(tuning.supported),
        "sources": len(np.unique(test.sources)),
        "supported": round(float(test.supported.mean()), 4),
        "baselines": figures,
        "variants": variants,
        "chosen": {
            "balanced_accuracy": variants[chosen]["balanced_accuracy"],
            "best_baseline": best,
            "difference": round(difference, 4),
            "ci95": [round(low, 4), round(high, 4)],
            "bar_met": bool(difference >= BAR and low > 0),
        },
    }


def _odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, 1e-6, 1 - 1e-6)
    return np.log(clipped / (1 - clipped))


def _simple(sample: Sequence[Featured]) -> dict[str, Flags]:
    """What the baselines say to the rest."""
    tuning = as_rows([row for row in sample if row.claim.tuning], SIMPLE)
    test = as_rows([row for row in sample if not row.claim.tuning], SIMPLE)
    flags: dict[str, Flags] = {"majority": np.ones(len(test.supported), bool)}
    for name, feature in BASELINES.items():
        column = SIMPLE.index(feature)
        inside = tuning.features[:, column]
        tried = [
            test.features[:, column] >= rule(inside, tuning.supported)
            for rule in (best_threshold, middle_threshold)
        ]
        flags[name] = max(tried, key=lambda candidate: balanced_accuracy(candidate, test.supported))
    flags["number flag"] = test.features[:, SIMPLE.index(SIMPLE[2])] == 0
    flags["logistic on the three, cross-validated in the rest"] = cross_fitted(test, 1.0) >= 0.5
    return flags


def numeric_layer(sample: Sequence[Featured]) -> dict[str, dict[str, Any]]:
    """Precision and recall of "a value in digits that the document has not" for an edit."""
    result: dict[str, dict[str, Any]] = {}
    for part in (True, False):
        rows = [row for row in sample if row.claim.tuning == part]
        flagged = [row for row in rows if row.features["values_missing.most"] > 0]
        right = sum(not row.claim.supported for row in flagged)
        wrong = sum(not row.claim.supported for row in rows)
        result["tuning" if part else "rest"] = {
            "flagged": len(flagged),
            "precision": round(right / max(1, len(flagged)), 4),
            "recall": round(right / max(1, wrong), 4),
        }
    return result


def support_recall(sample: Sequence[Featured], k: int = 5) -> dict[str, Any]:
    """Share of the best set of supporting sentences among the k nearest, beside BM25 alone."""
    ours: list[float] = []
    lexical: list[float] = []
    for row in sample:
        if any(row.claim.supporting):
            ours.append(_recall(row.claim, row.nearest[:k]))
            source = Source(row.claim.document)
            reading = read(row.claim.claim)
            nearest = [source.sentences[number] for number in source.candidates(reading)[:k]]
            lexical.append(_recall(row.claim, [(each.start, each.end) for each in nearest]))
    return {
        "claims": len(ours),
        f"recall@{k}": round(float(np.mean(ours)), 4),
        f"recall@{k} of BM25": round(float(np.mean(lexical)), 4),
    }


def _recall(claim: Labelled, nearest: Sequence[tuple[int, int]]) -> float:
    """A supporting sentence is found if a near one overlaps with it."""
    return max(
        sum(any(a < end and start < b for a, b in nearest) for start, end in group) / len(group)
        for group in claim.supporting
        if group
    )


if __name__ == "__main__":
    main()
