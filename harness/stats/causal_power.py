"""Causal power of many possible causes of failures, taken one at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Powers that are tried, and the prior of each: as if so many attempts had shown the cause and
# passed.
POWERS = np.array([0.02, 0.05, *np.linspace(0.1, 0.9, 17), 0.95, 0.98])
DOUBT = 0.05


class Explained(NamedTuple):
    """A cause that was taken.

    Attributes:
        cause: its number.
        power: chance that it makes an attempt fail, where it is there.
        gain: log likelihood that it adds to the causes taken before it, in nats: failures that
            they leave open, less passes that speak against it.
        leak: chance of a failure without any cause taken so far.
    """

    cause: int
    power: float
    gain: float
    leak: float


def explain_failures(
    exposed: NDArray[np.bool_], failed: NDArray[np.bool_], least: float, most: int
) -> tuple[list[Explained], Floats]:
    """Forward selection under P(fail) = 1 - (1 - leak) * prod(1 - power of every cause there).

    The noisy-OR of Pearl (1988, section 4.3), whose parameter is the causal power of Cheng
    (1997): causes act alone, and one that only keeps company with another adds nothing to it.

    Args:
        shown: whether an attempt shows a cause [attempts, causes].
        failed: how it ended [attempts].
        least: gain from which on a cause is taken.
        most: causes taken at most.

    Returns:
        The causes taken, in that order; the first of equals comes first. And of every cause the
        log likelihood of a power of one half beside those taken, against none: how far from
        harmless it is.
    """
    selected: list[Explained] = []
    in_failures = exposed[failed].astype(np.float64)
    passes = exposed[~failed].sum(axis=0)
    escapes = np.ones(len(in_failures))  # chance of each failure to pass all causes taken
    free = np.ones(exposed.shape[1], dtype=np.bool_)
    while len(selected) < most and free.any():
        # The leak explains what is open: of all passes, and the failures by what is left of them.
        leak = _leak(escapes, int((~failed).sum()))
        open_now = (1 - leak) * escapes
        before = np.log1p(-open_now)
        best = np.full(exposed.shape[1], -np.inf)
        power = np.zeros(exposed.shape[1])
        for value in POWERS:
            added = np.log1p(-open_now * (1 - value)) - before
            gain = added @ in_failures + (passes + DOUBT) * np.log1p(-value)
            better = gain > best
            best[better], power[better] = gain[better], value
        best[~free] = -np.inf
        cause = int(np.round(best, 9).argmax())
        if best[cause] < least:
            break
        selected.append(Explained(cause, float(power[cause]), float(best[cause]), leak))
        escapes = escapes * (1 - power[cause] * in_failures[:, cause])
        free[cause] = False
    open_now = (1 - _leak(escapes, int((~failed).sum()))) * escapes
    halved = np.log1p(-open_now / 2) - np.log1p(-open_now)
    return selected, halved @ in_failures + passes * math.log(0.5)


def _leak(escapes: Floats, passes: int) -> float:
    """Chance of a failure for no cause at hand, by EM."""
    leak = 0.5
    for _ in range(100):
        due = leak / (1 - (1 - leak) * escapes)
        leak = float((due.sum() + 0.5) / (len(escapes) + passes + 1))
    return leak
