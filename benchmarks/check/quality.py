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

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reports import option, read_options
from harness.core import write_atomic
from harness.rag.check.verify.evidence import Source
from harness.rag.check.verify.reading import read
from harness.stats import auc, balanced_accuracy, cluster_interval
from harness.train.verifier.features import Featured, Labelled, evaluation_sets, featured
from harness.train.verifier.fit import (
    Rows,
    as_probabilities,
    as_rows,
    best_threshold,
    calibrated,
    calibration_error,
    choose_strength,
    cross_fitted,
    fit,
    middle_threshold,
)
from harness.train.verifier.session import Trained, train

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

SIMPLE = ("cover_document.mean", "cosine.mean", "numbers_missing.most")
LAYER = "values_missing.most"
BASELINES = {"word overlap": SIMPLE[0], "embedding": SIMPLE[1]}
BAR = 0.03
VARIANTS = ("global", "own", "both")


def main() -> None:
    """Score every set and write the result."""
    given = read_options(
        __doc__,
        shared=Path,
        out=Path,
        cache=option(type=Path, help="folder that keeps features"),
        wordnet=option(type=Path, required=True, help="its database files"),
    )
    sets = {
        name: featured(claims, given.cache)
        for name, claims in evaluation_sets(given.shared / "data").items()
    }
    trained = train(given.shared / "data", given.wordnet, given.cache)
    each = {name: scored(found, trained) for name, found in sets.items()}
    chosen, areas = choose_variant(each)
    result: dict[str, Any] = {
        "command": "python -m benchmarks.check.quality --shared ../shared --wordnet DICT "
        "--out evals/results/check_quality.json",
        "variant": {"chosen": chosen, "mean_auc_tuning": areas},
        "sets": {name: score_set(one, chosen) for name, one in each.items()},
        "numeric_layer": numeric_layer(sets["summedits"]),
        "wice_support": support_recall([one for one in sets["wice"] if not one.claim.tuning]),
        "training": trained.report,
    }
    write_atomic(given.out, json.dumps(result, indent=1) + "\n")
    for name, one in result["sets"].items():
        print(name, json.dumps({key: one[key] for key in ("baselines", "variants", "chosen")}))
    print(result["numeric_layer"], result["wice_support"])


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


def scored(found: Sequence[Featured], trained: Trained) -> Scored:
    """Scores of one set."""
    names = trained.classifier.names
    tuning = as_rows([one for one in found if one.claim.tuning], names)
    kept = [one for one in found if not one.claim.tuning]
    rest = as_rows(kept, names)
    name = str(tuning.sets[0])
    strength, _ = choose_strength(tuning)
    own = fit(tuning, strength)
    inside = {
        "global": _odds(trained.cross_fitted[name]),
        "own": _odds(cross_fitted(tuning, strength)),
    }
    outside = {
        "global": _odds(as_probabilities(trained.classifier, [one.features for one in kept])),
        "own": _odds(own.predict_proba(rest.features)[:, 1]),
    }
    at = names.index(LAYER)
    return Scored(
        tuning,
        rest,
        _with_both(inside, tuning.features[:, at]),
        _with_both(outside, rest.features[:, at]),
        _simple(found),
    )


def _with_both(scores: Mapping[str, Floats], missing: Floats) -> dict[str, Floats]:
    every = {**scores, "both": (scores["global"] + scores["own"]) / 2}
    return {name: _layered(one, missing) for name, one in every.items()}


def choose_variant(sets: Mapping[str, Scored]) -> tuple[str, dict[str, float]]:
    """The variant with the best mean area under the curve on the tuning parts; all areas."""
    found = {
        name: _rounded(
            float(np.mean([auc(one.inside[name], one.tuning.supported) for one in sets.values()]))
        )
        for name in VARIANTS
    }
    return max(found, key=lambda name: found[name]), found


def score_set(one: Scored, chosen: str) -> dict[str, Any]:
    """Baselines and variants of one set, on the rows that are not for tuning."""
    rest, tuning = one.rest, one.tuning
    variants: dict[str, dict[str, Any]] = {}
    said: dict[str, Flags] = {}
    for name in VARIANTS:
        inside, outside = one.inside[name], one.outside[name]
        said[name] = outside >= middle_threshold(inside, tuning.supported)
        inside, outside = np.clip(inside, -8, 8), np.clip(outside, -8, 8)
        variants[name] = {
            "balanced_accuracy": _rounded(balanced_accuracy(said[name], rest.supported)),
            "auc": _rounded(auc(outside, rest.supported)),
            "auc_tuning": _rounded(auc(inside, tuning.supported)),
            "calibration_error": _rounded(
                calibration_error(calibrated(inside, tuning.supported, outside), rest.supported)
            ),
        }
    figures = {
        name: _rounded(balanced_accuracy(flags, rest.supported))
        for name, flags in one.baselines.items()
    }
    best = max(figures, key=lambda name: figures[name])
    low, high = interval(said[chosen], one.baselines[best], rest)
    difference = variants[chosen]["balanced_accuracy"] - figures[best]
    return {
        "claims": len(rest.supported),
        "claims_tuning": len(tuning.supported),
        "sources": len(np.unique(rest.sources)),
        "supported": _rounded(float(rest.supported.mean())),
        "baselines": figures,
        "variants": variants,
        "chosen": {
            "balanced_accuracy": variants[chosen]["balanced_accuracy"],
            "best_baseline": best,
            "difference": _rounded(difference),
            "ci95": [_rounded(low), _rounded(high)],
            "bar_met": bool(difference >= BAR and low > 0),
        },
    }


def _layered(scores: Floats, missing: Floats) -> Floats:
    """Below all others where a value of the claim is none of the document's."""
    return scores - np.where(missing > 0, 100.0, 0.0)


def _odds(probability: Floats) -> Floats:
    kept = np.clip(probability, 1e-6, 1 - 1e-6)
    return np.log(kept / (1 - kept))


def _simple(found: Sequence[Featured]) -> dict[str, Flags]:
    """What the baselines say to the rest."""
    tuning = as_rows([one for one in found if one.claim.tuning], SIMPLE)
    rest = as_rows([one for one in found if not one.claim.tuning], SIMPLE)
    said: dict[str, Flags] = {"majority": np.ones(len(rest.supported), bool)}
    for name, feature in BASELINES.items():
        at = SIMPLE.index(feature)
        inside = tuning.features[:, at]
        tried = [
            rest.features[:, at] >= rule(inside, tuning.supported)
            for rule in (best_threshold, middle_threshold)
        ]
        said[name] = max(tried, key=lambda one: balanced_accuracy(one, rest.supported))
    said["number flag"] = rest.features[:, SIMPLE.index(SIMPLE[2])] == 0
    said["logistic on the three, cross-validated in the rest"] = cross_fitted(rest, 1.0) >= 0.5
    return said


def interval(said: Flags, other: Flags, rows: Rows) -> tuple[float, float]:
    """95 % interval of the difference in balanced accuracy, drawn by documents."""

    def difference(chosen: NDArray[np.int64]) -> float | None:
        labels = rows.supported[chosen]
        if labels.all() or not labels.any():
            return None
        return balanced_accuracy(said[chosen], labels) - balanced_accuracy(other[chosen], labels)

    return cluster_interval(difference, rows.sources)


def numeric_layer(found: Sequence[Featured]) -> dict[str, dict[str, Any]]:
    """Precision and recall of "a value in digits that the document has not" for an edit."""
    result: dict[str, dict[str, Any]] = {}
    for part in (True, False):
        rows = [one for one in found if one.claim.tuning == part]
        flagged = [one for one in rows if one.features["values_missing.most"] > 0]
        right = sum(not one.claim.supported for one in flagged)
        wrong = sum(not one.claim.supported for one in rows)
        result["tuning" if part else "rest"] = {
            "flagged": len(flagged),
            "precision": _rounded(right / max(1, len(flagged))),
            "recall": _rounded(right / max(1, wrong)),
        }
    return result


def support_recall(found: Sequence[Featured], k: int = 5) -> dict[str, Any]:
    """Share of the best set of supporting sentences among the k nearest, beside BM25 alone."""
    ours: list[float] = []
    lexical: list[float] = []
    for one in found:
        if any(one.claim.supporting):
            ours.append(_recall(one.claim, one.nearest[:k]))
            source = Source(one.claim.document)
            reading = read(one.claim.claim)
            nearest = [source.sentences[at] for at in source.candidates(reading)[:k]]
            lexical.append(_recall(one.claim, [(each.start, each.end) for each in nearest]))
    return {
        "claims": len(ours),
        f"recall@{k}": _rounded(float(np.mean(ours))),
        f"recall@{k} of BM25": _rounded(float(np.mean(lexical))),
    }


def _recall(claim: Labelled, nearest: Sequence[tuple[int, int]]) -> float:
    """A supporting sentence is found if a near one overlaps with it."""
    return max(
        sum(any(a < end and start < b for a, b in nearest) for start, end in group) / len(group)
        for group in claim.supporting
        if group
    )


def _rounded(value: float) -> float:
    return round(value, 4)


if __name__ == "__main__":
    main()
