"""When slow answers mean that fewer requests in flight would do: a policy without a clock.

A server that batches answers more slowly the more it has to do, and is right to: its throughput
grows. Past its knee throughput stays and only the waiting grows (Little's law: in flight =
throughput x latency). So slowness alone cuts nothing. Where the median of a round is twice what
its fastest answers ever took, the limit is lowered by a quarter to try; if the next round loses
throughput, the limit goes back and the next try waits twice as long.
"""

from __future__ import annotations

from statistics import median, quantiles

SLOW = 2.0
SHARE_LEFT = 0.75
LOSS = 0.9
"""Share of the throughput below which a try has failed."""
LEAST_ROUND = 8
FIRST_WAIT = 4
LONGEST_WAIT = 64
FORGET = 1.002
"""The fastest tenth rises by so much a round: a server may have become slower for good."""


class LatencyWatch:
    """Looks at rounds of answers that were given while all slots were in use.

    A round is twice as many as may be in flight, eight at least.
    """

    def __init__(self) -> None:
        self._round: list[float] = []
        self._began = 0.0
        self._best = float("inf")
        self._before: tuple[float, float] | None = None
        self._wait, self._rounds = FIRST_WAIT, 0

    def answered(self, now: float, seconds: float, limit: float) -> float:
        """The limit after an answer.

        Args:
            now: seconds of a clock that does not go back.
            seconds: that the answer took.
            limit: requests in flight at most.
        """
        if not self._round:
            self._began = now
        self._round.append(seconds)
        if len(self._round) < max(LEAST_ROUND, 2 * int(limit)):
            return limit
        rate = (len(self._round) - 1) / max(now - self._began, 1e-9)
        middle, fast = median(self._round), quantiles(self._round, n=10)[0]
        self._round = []
        self._best = min(self._best * FORGET, fast)
        return self._judged(middle, rate, limit)

    def _judged(self, middle: float, rate: float, limit: float) -> float:
        if self._before is not None:
            limit_then, rate_then = self._before
            self._before = None
            if rate < LOSS * rate_then:
                self._wait, self._rounds = min(LONGEST_WAIT, 2 * self._wait), 0
                return max(limit, limit_then)
        self._rounds += 1
        if middle < SLOW * self._best or limit < 2 or self._rounds < self._wait:
            return limit
        self._before = (limit, rate)
        return max(1.0, limit * SHARE_LEFT)

    def idle(self) -> None:
        """Not all slots are in use: what was seen of this round says nothing."""
        self._round = []
