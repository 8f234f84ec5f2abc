"""Random half-subsets of units in complementary pairs.

Of a pair, each half has the units that the other lacks. So every unit is in exactly half of the
rollouts of every task, difficulty of tasks cancels, and no interaction of
two units can pass for an effect of one (a foldover design: Box and Wilson 1951). The rows of the
pairs come from Hadamard matrices (Plackett and Burman 1946) whose columns are drawn, ordered and
signed at random for every copy: within a copy all columns are orthogonal, and each row alone is a
uniform draw from all subsets, which the estimand needs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@lru_cache(maxsize=64)
def hadamard(order: int) -> Ints:
    """A Hadamard matrix of the smallest order at hand that is not below `order`, of -1 and 1.

    Orders at hand: q + 1 for primes q of the form 4k - 1 (Paley 1933), doubled as often as needed.
    """
    size = max(2, order)
    while (built := _built(size)) is None:
        size += 1
    built.flags.writeable = False
    return built


def half_subsets(units: int, pairs: int, seed: int) -> Bools:
    """The units of side 0 of every pair, [pairs, units]; side 1 has the others.

    Raises:
        BadInput: without units or pairs.
    """
    if units < 1 or pairs < 1:
        raise BadInput(f"expected at least one unit and one pair, got {units} and {pairs}")
    rng = np.random.default_rng([seed, units])
    matrix = hadamard(units)
    order = len(matrix)
    copies: list[Bools] = []
    for _ in range(-(-pairs // order)):
        columns = rng.permutation(order)[:units]
        signs = rng.choice(np.array([-1, 1]), size=units)
        copies.append((matrix[rng.permutation(order)][:, columns] * signs) > 0)
    drawn: Bools = np.concatenate(copies)[:pairs]
    return drawn


def _built(order: int) -> Ints | None:
    if order == 2:
        return np.array([[1, 1], [1, -1]])
    if order % 4:
        return None
    if all((order - 1) % divisor for divisor in range(2, int((order - 1) ** 0.5) + 1)):
        prime = order - 1
        squares = {value * value % prime for value in range(1, prime)}
        character = np.array([0] + [1 if value in squares else -1 for value in range(1, prime)])
        index = np.arange(prime)
        jacobsthal = character[(index[:, None] - index[None, :]) % prime]
        skew = np.zeros((order, order), dtype=np.int64)
        skew[0, 1:], skew[1:, 0], skew[1:, 1:] = 1, -1, jacobsthal
        return skew + np.eye(order, dtype=np.int64)
    half = _built(order // 2)
    return None if half is None else np.kron(np.array([[1, 1], [1, -1]]), half)
