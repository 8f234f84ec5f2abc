"""Coverage of the interval of a pass rate that a judge measured. No model.

    python -m benchmarks.judge.coverage

For each setting, runs are drawn: answers that are right or wrong, a judge with a given sensitivity
and specificity, and a calibration on labels of its own. Three intervals of the corrected rate are
measured on the same runs: that of the product (Jeffreys), that of Lang and Reiczigel (2014), and
the extremes that the exact limits of the three shares allow (Clopper and Pearson). Beside them
stands the interval of the judged rate alone (Wilson), which takes the judge for the truth.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reports import Options, Result, benchmark, option
from harness.stats import corrected_rate, upper_limit, wilson, z_of

TRUE, JUDGES = (0.2, 0.5, 0.8), ((0.95, 0.9), (0.85, 0.85), (0.9, 0.7))
SIZES, LABELS = (100, 400), (40, 100)
# Attempts that the judge passed, attempts; right answers passed, of how many; wrong ones failed, of
# how many.
Counts = tuple[int, int, int, int, int, int]


def lang_reiczigel(counts: Counts) -> tuple[float, float]:
    """Normal, with pseudo-counts added to all three shares (Lang and Reiczigel 2014)."""
    passed, n, right_passes, passes, right_fails, fails = counts
    z = z_of(0.975)
    judged = (passed + z * z / 2) / (n + z * z)
    sensitivity, specificity = (right_passes + 1) / (passes + 2), (right_fails + 1) / (fails + 2)
    youden = sensitivity + specificity - 1
    true = (judged + specificity - 1) / youden
    miss, alarm = (
        rate * (1 - rate) / (size + 2)
        for rate, size in ((sensitivity, passes), (specificity, fails))
    )
    shift = 2 * z * z * (true * miss - (1 - true) * alarm)
    variance = judged * (1 - judged) / (n + z * z) + true**2 * miss + (1 - true) ** 2 * alarm
    spread = z * math.sqrt(variance) / youden
    return true + shift - spread, true + shift + spread


@functools.cache
def clopper_pearson(counts: Counts) -> tuple[float, float]:
    """The corrected rate with the three exact limits that make it least, and greatest."""
    shares = list(zip(counts[::2], counts[1::2], strict=True))
    low = [1 - upper_limit(size - hits, size, 0.975) for hits, size in shares]
    high = [upper_limit(hits, size, 0.975) for hits, size in shares]
    least, most = (
        (rate + b - 1) / (a + b - 1) if a + b > 1 else widest
        for rate, a, b, widest in ((low[0], high[1], low[2], 0.0), (high[0], low[1], high[2], 1.0))
    )
    return least, most


OTHERS: dict[str, Callable[[Counts], tuple[float, float]]] = {
    "Lang and Reiczigel": lang_reiczigel, "Clopper and Pearson": clopper_pearson,
}  # fmt: skip
NAMES = "Jeffreys", *OTHERS


def cover(
    true: float, judge: tuple[float, float], n: int, labels: int, trials: int
) -> dict[str, Any]:
    """Coverage of the intervals in one setting; half of the labels are passes."""
    draw = np.random.default_rng(20261126)
    half, plain, valid, correct = labels // 2, 0, 0, functools.cache(corrected_rate)
    covered, widths = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0.0)
    for _ in range(trials):
        right = int(draw.binomial(n, true))
        passed = int(draw.binomial(right, judge[0]) + draw.binomial(n - right, 1 - judge[1]))
        sensitive, specific = int(draw.binomial(half, judge[0])), int(draw.binomial(half, judge[1]))
        counts = passed, n, sensitive, half, specific, half
        bounds = wilson(passed, n)
        plain += bounds is not None and bounds[0] <= true <= bounds[1]
        corrected = correct(passed / n, *counts[1:])
        if corrected is None:
            continue
        valid += 1
        compared = {name: interval(counts) for name, interval in OTHERS.items()}
        for name, (low, high) in {NAMES[0]: corrected[1:], **compared}.items():
            covered[name] += low <= true <= high
            widths[name] += min(1.0, high) - max(0.0, low)
    return {
        "true": true, "judge": judge, "n": n, "labels": labels, "trials": trials,
        "covered": {name: count / valid for name, count in covered.items()},
        "width": {name: width / valid for name, width in widths.items()},
        "plain": plain / trials, "no rate": 1 - valid / trials,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Summarise an interval over settings: least, greatest, mean coverage, and its mean width."""
    shares = [row["covered"][name] for row in rows]
    return {
        "least": min(shares), "greatest": max(shares), "mean": sum(shares) / len(shares),
        "93 to 97 %": sum(0.93 <= share <= 0.97 for share in shares), "settings": len(shares),
        "width": sum(row["width"][name] for row in rows) / len(rows),
    }  # fmt: skip


@benchmark(trials=2000, out=option(type=Path))
def main(options: Options) -> Result:
    """Print a line for each setting, and the extremes."""
    grid = itertools.product(TRUE, JUDGES, SIZES, LABELS)
    rows = [cover(*setting, trials=options.trials) for setting in grid]
    plain = [row["plain"] for row in rows]
    return {
        "simulated": True,
        "rows": rows,
        "labels": {
            size: {
                name: summary([row for row in rows if row["labels"] == size], name)
                for name in NAMES
            }
            for size in LABELS
        },
        "plain": [min(plain), max(plain), sum(plain) / len(plain)],
    }  # fmt: skip
