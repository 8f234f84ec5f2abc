"""Several attempts at every task: what share of tasks one of k, all k or at least k attempts pass.

With n valid attempts at a task, c of them passed:

    pass@k       1 - C(n - c, k) / C(n, k)   one of k drawn attempts passes (Chen et al. 2021)
    pass^k       C(c, k) / C(n, k)           all k drawn attempts pass (Yao et al. 2024, tau-bench)
    at least k   1 if c >= k, else 0

each the mean over tasks. The first two have no bias for any n >= k; "at least k" belongs to the
number of attempts that was made. Invalid attempts are no attempts here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from harness.evals.types import ItemRecord, Repeated
from harness.stats.intervals import share_interval
from harness.stats.paired import attempts_by_task


def pass_at(n: int, c: int, k: int) -> float:
    """Chance that one of k attempts passes, c of n having passed."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float:
    """Chance that k attempts all pass, c of n having passed."""
    return math.comb(c, k) / math.comb(n, k)


def at_least(n: int, c: int, k: int) -> float:
    """Whether k attempts passed; `n` does not matter."""
    return float(c >= k)


RULES: Mapping[str, Callable[[int, int, int], float]] = {
    "pass@{k}": pass_at,
    "pass^{k}": pass_all,
    "at least {k}": at_least,
}


def repeated(items: Iterable[ItemRecord], epochs: int) -> dict[str, Repeated]:
    """All three rules for k = 2, 4, 8, ... and k = `epochs`; nothing for a single attempt.

    Args:
        items: records of one run.
        epochs: attempts per task that were asked for.
    """
    counts = [(len(passed), int(sum(passed))) for passed in attempts_by_task(items).values()]
    return {
        name.format(k=k): _over_tasks(rule, counts, k)
        for k in _sizes(epochs)
        for name, rule in RULES.items()
    }


def _sizes(epochs: int) -> list[int]:
    powers = [2**power for power in range(1, max(1, epochs).bit_length())]
    return sorted({*(k for k in powers if k <= epochs), *([epochs] if epochs > 1 else [])})


def _over_tasks(
    rule: Callable[[int, int, int], float], counts: Iterable[tuple[int, int]], k: int
) -> Repeated:
    values = [rule(n, c, k) for n, c in counts if n >= k]
    return Repeated(
        value=sum(values) / len(values) if values else None,
        ci95=share_interval(values),
        tasks=len(values),
    )
