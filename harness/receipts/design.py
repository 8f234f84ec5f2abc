"""Which units are in which rollout: random half-subsets in complementary pairs.

A pair of rollouts shares task and seed; one has the units that the other has not. So every unit is
in exactly half of the rollouts of every task, difficulty of tasks cancels, and no interaction of
two units can pass for an effect of one (a foldover design: Box and Wilson 1951). The rows of the
pairs come from Hadamard matrices (Plackett and Burman 1946) whose columns are drawn, ordered and
signed at random for every copy: within a copy all columns are orthogonal, and each row alone is a
uniform draw from all subsets, which the estimand needs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from harness.core import BadInput, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


class Rollout(Value):
    """One rollout of the design.

    Attributes:
        task: id of the task.
        pair: number of the pair at this task, from 0; both of a pair get the same seed.
        side: 0 or 1; the units of side 1 are those that side 0 lacks.
        units: numbers of the units that are in the skill.
    """

    task: str
    pair: int
    side: int
    units: tuple[int, ...]

    @property
    def epoch(self) -> int:
        """Number of the rollout at its task, from 0."""
        return 2 * self.pair + self.side

    @property
    def id(self) -> str:
        """As in a run directory: `<task>` or `<task>@<epoch>`."""
        return self.task if self.epoch == 0 else f"{self.task}@{self.epoch}"


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
    import numpy as np

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


def design(tasks: tuple[str, ...], units: int, pairs: int, seed: int) -> tuple[Rollout, ...]:
    """The rollouts in the order in which they are run: round after round over all tasks.

    Args:
        tasks: ids, in the order of a round.
        units: how many units the skill has.
        pairs: pairs of rollouts in all; the last round may be cut short.
        seed: of the subsets.
    """
    rows = half_subsets(units, pairs, seed)
    everything = range(units)
    found: list[Rollout] = []
    for number, row in enumerate(rows.tolist()):
        round_, place = divmod(number, len(tasks))
        inside = tuple(unit for unit in everything if row[unit])
        outside = tuple(unit for unit in everything if not row[unit])
        for side, chosen in enumerate((inside, outside)):
            found.append(Rollout(task=tasks[place], pair=round_, side=side, units=chosen))
    return tuple(found)


def _built(order: int) -> Ints | None:
    import numpy as np

    if order == 2:
        return np.array([[1, 1], [1, -1]])
    if order % 4 == 0 and _is_prime(order - 1):
        return _paley(order - 1)
    half = _built(order // 2) if order % 4 == 0 else None
    return None if half is None else np.kron(np.array([[1, 1], [1, -1]]), half)


def _paley(prime: int) -> Ints:
    import numpy as np

    squares = {value * value % prime for value in range(1, prime)}
    character = np.array([0] + [1 if value in squares else -1 for value in range(1, prime)])
    index = np.arange(prime)
    jacobsthal = character[(index[:, None] - index[None, :]) % prime]
    skew = np.zeros((prime + 1, prime + 1), dtype=np.int64)
    skew[0, 1:], skew[1:, 0], skew[1:, 1:] = 1, -1, jacobsthal
    return skew + np.eye(prime + 1, dtype=np.int64)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % one for one in range(2, int(number**0.5) + 1))
