"""Paired tests of the same tasks under two conditions, and how small an effect they find."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from pydantic import Field

from harness.core import Value
from harness.stats.intervals import (
    change_interval,
    cluster_names,
    clustered,
    effective_size,
    z_of,
)

# Largest denominator of a change; finer ones are rounded to it.
FINEST = 10_000
# Units of the largest sum of steps of several sizes above which signs are drawn.
LONGEST_LAW = 20_000
DRAWS = 10_000


class PairedComparison(Value):
    """Comparison of the same tasks under two conditions.

    Attributes:
        tasks: tasks with a valid attempt on both sides.
        groups: groups of them, which are then the independent ones; None where tasks name none.
        independent: independent tasks that their changes count as; None without groups.
        unpaired: tasks of either side left out (missing or invalid on one side).
        before: pass rate of the first condition over `tasks`.
        after: pass rate of the second.
        difference: after - before.
        ci95: 95 % interval of the difference over tasks, or groups
            (:func:`harness.stats.intervals.change_interval`); None below two.
        p: two-sided p-value, exact: McNemar for one attempt per task, else sign-flip; of groups
            the signs of their summed changes.
        discordance: share of tasks whose result differs.
        squared: mean squared change of a task, which is less than `discordance` where tasks have
            several attempts; None where it is the same.
        broken: ids of tasks that pass less often after, of one attempt each: not any more.
        fixed: ids of tasks that pass more often after.
    """

    tasks: int
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    independent: float | None = Field(default=None, exclude_if=lambda value: value is None)
    unpaired: int
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    ci95: tuple[float, float] | None = None
    p: float | None = None
    discordance: float | None = None
    squared: float | None = Field(default=None, exclude_if=lambda value: value is None)
    broken: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


def compare_rates(
    before: Mapping[str, float], after: Mapping[str, float], groups: Mapping[str, str] | None = None
) -> PairedComparison:
    """Compare the pass rates of the same tasks under two conditions.

    Args:
        before: task -> pass rate.
        after: the same.
        groups: task -> its group, which is one cluster; a task without one is another.
    """
    common = sorted(before.keys() & after.keys())
    unpaired = len(before.keys() | after.keys()) - len(common)
    if not common:
        return PairedComparison(tasks=0, unpaired=unpaired)
    changes = [after[task] - before[task] for task in common]
    n, names = len(common), cluster_names(common, groups or {})
    clusters = clustered(changes, names)
    discordance = sum(change != 0 for change in changes) / n
    squared = sum(change * change for change in changes) / n
    return PairedComparison(
        tasks=n,
        groups=len(clusters) if names else None,
        independent=round(effective_size(clusters), 1) if names else None,
        unpaired=unpaired,
        before=sum(before[task] for task in common) / n,
        after=sum(after[task] for task in common) / n,
        difference=sum(changes) / n,
        ci95=change_interval(changes, groups=names),
        p=sign_flip_p([sum(values) for values in clusters]),
        discordance=discordance,
        squared=None if math.isclose(squared, discordance) else squared,
        broken=tuple(task for task in common if before[task] > after[task]),
        fixed=tuple(task for task in common if before[task] < after[task]),
    )


def sign_flip_p(changes: Sequence[float]) -> float:
    """Two-sided p-value: chance of a mean change as far from 0 if every sign were a fair coin.

    Exact: changes of pass rates are multiples of one small fraction, so that the law of their sum
    is a convolution of coin tosses. With one attempt per task it is McNemar's exact test. Where
    that law is too long, signs are drawn 10,000 times with a fixed seed.
    """
    import numpy as np
    from scipy.special import gammaln

    counts = Counter(changes)
    exact = {change: Fraction(change).limit_denominator(FINEST) for change in counts}
    unit = math.lcm(*(fraction.denominator for fraction in exact.values()))
    sizes: Counter[int] = Counter()
    reached = 0
    for change, count in counts.items():
        steps = int(exact[change] * unit)
        reached += count * steps
        if steps:
            sizes[abs(steps)] += count
    farthest, reached = sum(size * count for size, count in sizes.items()), abs(reached)
    if reached == 0:
        return 1.0
    if len(sizes) > 1 and farthest > LONGEST_LAW:
        rng = np.random.default_rng(20260325)
        sums = np.zeros(DRAWS, dtype=np.int64)
        for size, count in sorted(sizes.items()):
            sums += size * (2 * rng.binomial(count, 0.5, DRAWS) - count)
        return float((np.count_nonzero(np.abs(sums) >= reached) + 1) / (DRAWS + 1))
    law = np.ones(1)  # of the sum of the steps, from the least to the greatest
    for size, count in sizes.items():
        heads = np.arange(count + 1)
        log = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
        tosses = np.zeros(2 * size * count + 1)
        tosses[:: 2 * size] = np.exp(log - count * math.log(2))
        law = np.convolve(law, tosses)
    return min(1.0, 2 * float(law[farthest + reached :].sum()))


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected so that all of them hold together (Holm 1979), in the same order."""
    corrected = [1.0] * len(values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, values[index] * (len(values) - rank)))
        corrected[index] = largest
    return corrected


def detectable_lift(
    n: float,
    discordance: float = 0.25,
    power: float = 0.8,
    alpha: float = 0.05,
    squared: float | None = None,
) -> float | None:
    """Smallest true difference that a paired test on `n` tasks finds with `power`.

    Solves Connor's sample-size formula for McNemar's test (Connor 1987) for the difference d:
    n = (z_alpha sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2. None if even d = psi is too small
    to be found. `squared` stands for psi under the roots where a task changes by less than 1
    (:class:`PairedComparison`).
    """
    squared = squared or discordance
    if n < 1 or _tasks_for(discordance, squared, power, alpha) > n:
        return None
    low, high = 1e-9, discordance
    for _ in range(60):
        middle = (low + high) / 2
        if _tasks_for(middle, squared, power, alpha) > n:
            low = middle
        else:
            high = middle
    return high


def required_tasks(
    lift: float,
    discordance: float = 0.25,
    power: float = 0.8,
    alpha: float = 0.05,
    squared: float | None = None,
) -> int:
    """Number of tasks that a paired test needs to find `lift`; see :func:`detectable_lift`."""
    return math.ceil(_tasks_for(lift, squared or max(discordance, lift), power, alpha))


def _tasks_for(lift: float, discordance: float, power: float, alpha: float) -> float:
    z_alpha, z_power = z_of(1 - alpha / 2), z_of(power)
    spread = math.sqrt(max(0.0, discordance - lift * lift))
    return (z_alpha * math.sqrt(discordance) + z_power * spread) ** 2 / (lift * lift)


def fixed_power(tasks: int, lift: float, discordance: float, alpha: float) -> float:
    """Power of the one-sided exact McNemar test on a fixed number of tasks, exactly."""
    import numpy as np
    from scipy.stats import binom

    moved = np.arange(tasks + 1)
    critical = binom.isf(alpha, moved, 0.5)
    reached = binom.sf(critical, moved, (1 + lift / discordance) / 2)
    return float((binom.pmf(moved, tasks, discordance) * reached).sum())


def fixed_tasks(lift: float, discordance: float, alpha: float, power: float) -> int:
    """Tasks from which on the one-sided exact McNemar test keeps the power.

    The exact power moves in teeth, so the next eight sizes must keep it, too.
    """
    tasks = max(2, int(0.8 * required_tasks(lift, discordance, power, 2 * alpha)))
    run = 0
    while run < 8:
        run = run + 1 if fixed_power(tasks, lift, discordance, alpha) >= power else 0
        tasks += 1
    return tasks - run
