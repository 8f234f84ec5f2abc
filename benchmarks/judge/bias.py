"""Share of planted biases that the probes find, and of unbiased judges that they accuse. SIMULATED.

    python -m benchmarks.judge.bias

A judge draws lots; with a given chance it takes the marked answer instead (the first one, for the
bias of position). Each probe has 64 pairs, as in `harness judge --probe`. Found: the planted bias
is among those that the report calls found. Accused: any other is; six tests share that error.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from benchmarks.reports import Options, Result, benchmark, option
from harness.core import loops
from harness.judge import Question, Verdict
from harness.judge.probes.bias import Bias, probe
from harness.judge.session import PROBE_PAIRS
from harness.stats import wilson

SPEC = "simulated/judge"
SIGNS: dict[Bias, Callable[[str], bool]] = {
    "length": lambda text: "To summarise" in text,
    "style": lambda text: "## " in text,
    "self": lambda text: SPEC in text,
    "authority": lambda text: "Smith et al." in text,
    "injection": lambda text: "Ignore previous" in text,
}
STRENGTHS = (0.2, 0.4, 0.6)


class Planted:
    """A judge that draws lots, except that one thing moves it with some chance."""

    def __init__(self, bias: Bias | None, strength: float, seed: int) -> None:
        self._bias: Bias | None = bias
        self._strength, self._draw = strength, random.Random(seed)

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        """See :class:`harness.judge.probes.bias.OrderJudge`."""
        moved = self._draw.random() < self._strength
        marked = True, False
        if self._bias is not None and self._bias != "position":
            marked = SIGNS[self._bias](first), SIGNS[self._bias](second)
        if self._bias is not None and moved and marked[0] != marked[1]:
            return Verdict(preference="A" if marked[0] else "B")
        return Verdict(preference=self._draw.choice(("A", "B")))


def measure(bias: Bias | None, strength: float, trials: int) -> dict[str, Any]:
    """Shares of trials in which the bias is found and another is, with Wilson intervals."""

    async def all_trials() -> tuple[int, int]:
        found = accused = 0
        for seed in range(trials):
            judge = Planted(bias, strength, seed)
            probed = await probe(judge, "planted", SPEC, count=PROBE_PAIRS, seed=seed)
            named = {row.bias for row in probed.probes if row.found}
            found += bias in named
            accused += bool(named - {bias})
        return found, accused

    found, accused = loops.run(all_trials())
    result: dict[str, Any] = {"bias": bias, "strength": strength, "trials": trials}
    if bias is not None:
        result["found"] = {"value": found / trials, "ci95": wilson(found, trials)}
    result["accused of another"] = {"value": accused / trials, "ci95": wilson(accused, trials)}
    return result


@benchmark(
    trials=100,
    fair=option(type=int, default=1000, help="trials of the judge without bias"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Print a line for each bias and strength, and one for a judge without any."""
    biases: tuple[Bias, ...] = get_args(Bias)
    rows = [measure(None, 0.0, options.fair)]
    rows += [measure(bias, strength, options.trials) for strength in STRENGTHS for bias in biases]
    return {"simulated": True, "pairs": PROBE_PAIRS, "rows": rows}
