"""How often the interval of a pass rate that a judge measured holds the true rate. No model.

    python -m benchmarks.judge.coverage

For each setting, runs are drawn: answers that are right or wrong, a judge with a given sensitivity
and specificity, and a calibration on labels of its own. Beside the corrected interval stands that
of the judged rate alone (Wilson), which takes the judge for the truth.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from harness.stats import corrected_rate, wilson

TRUE, JUDGES = (0.2, 0.5, 0.8), ((0.95, 0.9), (0.85, 0.85), (0.9, 0.7))
SIZES, LABELS = (100, 400), (40, 100)


def cover(
    true: float, judge: tuple[float, float], n: int, labels: int, trials: int
) -> dict[str, Any]:
    """Coverage of both intervals in one setting; half of the labels are passes."""
    draw = np.random.default_rng(20261126)
    corrected = plain = silent = 0
    half, width = labels // 2, 0.0
    for _ in range(trials):
        right = int(draw.binomial(n, true))
        passed = int(draw.binomial(right, judge[0]) + draw.binomial(n - right, 1 - judge[1]))
        counts = int(draw.binomial(half, judge[0])), half, int(draw.binomial(half, judge[1])), half
        bounds, found = wilson(passed, n), corrected_rate(passed / n, n, *counts)
        plain += bounds is not None and bounds[0] <= true <= bounds[1]
        if found is None:
            silent += 1
        else:
            corrected += found.low <= true <= found.high
            width += found.high - found.low
    valid = trials - silent
    return {
        "true": true, "judge": judge, "n": n, "labels": labels, "trials": trials,
        "corrected": corrected / valid if valid else None, "plain": plain / trials,
        "width": width / valid if valid else None, "no rate": silent / trials,
    }  # fmt: skip


def main() -> None:
    """Print a line for each setting, and the extremes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    grid = itertools.product(TRUE, JUDGES, SIZES, LABELS)
    rows = [cover(*setting, trials=options.trials) for setting in grid]
    shares = [row["corrected"] for row in rows]
    plain = [row["plain"] for row in rows]
    result = {
        "simulated": True,
        "rows": rows, "corrected": [min(shares), max(shares), sum(shares) / len(shares)],
        "plain": [min(plain), max(plain), sum(plain) / len(plain)],
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
