"""Exact sign-flip test of paired changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FINEST = 10_000
"""Largest denominator of a change; finer ones are rounded to it."""
LONGEST_LAW = 20_000
"""Units of the largest sum of steps of several sizes above which signs are drawn."""
DRAWS = 10_000


def sign_flip_p(changes: Sequence[float]) -> float:
    """Two-sided p-value: chance of a mean change as far from 0 if every sign were a fair coin.

    Exact: changes of pass rates are multiples of one small fraction, so that the law of their sum
    is a convolution of coin tosses. With one attempt per task it is McNemar's exact test. Where
    that law is too long, signs are drawn 10,000 times with a fixed seed.
    """
    counts = Counter(changes)
    exact = {one: Fraction(one).limit_denominator(FINEST) for one in counts}
    unit = math.lcm(*(one.denominator for one in exact.values()))
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
        return _drawn(sizes, reached)
    return min(1.0, 2 * float(_law(sizes)[farthest + reached :].sum()))


def _law(sizes: Counter[int]) -> NDArray[np.float64]:
    """Law of the sum of so many steps of each size, from the least sum to the greatest."""
    import numpy as np
    from scipy.special import gammaln

    law = np.ones(1)
    for size, count in sizes.items():
        heads = np.arange(count + 1)
        log = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1)
        tosses = np.zeros(2 * size * count + 1)
        tosses[:: 2 * size] = np.exp(log - count * math.log(2))
        law = np.convolve(law, tosses)
    return law


def _drawn(sizes: Counter[int], reached: int) -> float:
    import numpy as np

    rng = np.random.default_rng(20260325)
    sums = np.zeros(DRAWS, dtype=np.int64)
    for size, count in sorted(sizes.items()):
        sums += size * (2 * rng.binomial(count, 0.5, DRAWS) - count)
    return float((np.count_nonzero(np.abs(sums) >= reached) + 1) / (DRAWS + 1))
