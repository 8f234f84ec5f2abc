"""Several attempts at every task: what share of tasks one of k, all k or at least k attempts pass.

With n valid attempts at a task, c of them passed:

    pass@k       1 - C(n - c, k) / C(n, k)   one of k drawn attempts passes (Chen et al. 2021)
    pass^k       C(c, k) / C(n, k)           all k drawn attempts pass (Yao et al. 2024, tau-bench)
    at least k   1 if c >= k, else 0

each the mean over tasks. The first two have no bias for any n >= k; "at least k" belongs to the
number of attempts that was made. Invalid attempts are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from harness.core import Value
from harness.stats.intervals import share_interval


class Repeated(Value):
    """Shares of tasks that one of k, all of k or at least k attempts pass.

    Attributes:
        value: mean over `tasks`; None if none has k valid attempts.
        ci95: 95 % score interval over tasks; None below two.
        tasks: that have at least k valid attempts; the others are left out.
    """

    value: float | None
    ci95: tuple[float, float] | None
    tasks: int


def pass_at(n: int, c: int, k: int) -> float:
    """Chance that one of k attempts passes, c of n having passed."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float:
    """Chance that k attempts all pass, c of n having passed."""
    return math.comb(c, k) / math.comb(n, k)


def at_least(n: int, c: int, k: int) -> float:
    """Return 1 if at least k attempts passed, else 0; `n` does not matter."""
    return float(c >= k)


RULES: Mapping[str, Callable[[int, int, int], float]] = {
    "pass@{k}": pass_at,
    "pass^{k}": pass_all,
    "at least {k}": at_least,
}


def repeated(
    tasks: Sequence[Sequence[float]], epochs: int, groups: Sequence[str] = ()
) -> dict[str, Repeated]:
    """All three rules for k = 2, 4, 8, ... and k = `epochs`; nothing for a single attempt.

    Args:
        tasks: of each task, 1 for every valid attempt that passed and 0 for one that failed.
        epochs: attempts per task that were asked for.
        groups: of the tasks, where those of a group are not independent.
    """
    if epochs < 2:
        return {}
    powers = (2**power for power in range(1, epochs.bit_length()))
    figures: dict[str, Repeated] = {}
    for k in sorted({*powers, epochs}):
        for name, rule in RULES.items():
            enough = [index for index, passes in enumerate(tasks) if len(passes) >= k]
            values = [rule(len(tasks[i]), int(sum(tasks[i])), k) for i in enough]
            names = [groups[index] for index in enough] if groups else ()
            mean = sum(values) / len(values) if values else None
            figures[name.format(k=k)] = Repeated(
                value=mean, ci95=share_interval(values, names), tasks=len(values)
            )
    return figures


def even_spread(counts: Sequence[int]) -> tuple[float, float] | None:
    """Pearson's chi-square of counts against equal ones, and its p.

    None with a single class, or fewer than five expected in each: the distribution holds from there
    on (Cochran 1954).
    """
    from scipy.special import chdtrc

    expected = sum(counts) / len(counts) if counts else 0.0
    if len(counts) < 2 or expected < 5:
        return None
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    return statistic, float(chdtrc(len(counts) - 1, statistic))
