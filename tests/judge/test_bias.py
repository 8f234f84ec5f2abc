"""Bias probes: each planted bias is found, and none where there is none.

python -m tests.judge.test_bias    # 200 trials a bias, 400 of a judge without any: 4 minutes
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from harness.judge import Question, Verdict
from harness.judge.direct import DirectJudge
from harness.judge.probes.bias import Bias, items, marks, probe
from tests.judge.cases import chooser, run

SPEC = "simulated/judge"
SIGNS: dict[Bias, Callable[[str], bool]] = {
    "style": lambda text: "## " in text,
    "self": lambda text: SPEC in text,
    "authority": lambda text: "Smith et al." in text,
    "injection": lambda text: "Ignore previous" in text,
}


class Planted:
    """A judge that draws lots, except that one thing moves it with some chance."""

    def __init__(self, bias: Bias | None, strength: float, seed: int) -> None:
        self._bias: Bias | None = bias
        self._strength, self._draw = strength, random.Random(seed)

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        """See :class:`harness.judge.probes.bias.OrderJudge`."""
        moved = self._draw.random() < self._strength
        marked = True, False
        if self._bias == "length":
            marked = len(first) > len(second), len(first) < len(second)
        elif self._bias is not None and self._bias != "position":
            marked = SIGNS[self._bias](first), SIGNS[self._bias](second)
        if self._bias is not None and moved and marked[0] != marked[1]:
            return Verdict(preference="A" if marked[0] else "B")
        return Verdict(preference=self._draw.choice(("A", "B")))


def measure(bias: Bias | None, seeds: range, strength: float = 0.6) -> tuple[float, float]:
    """Shares of trials in which the planted bias is found, and any other; a seed a trial."""

    async def all_trials() -> tuple[float, float]:
        found = accused = 0
        for seed in seeds:
            report = await probe(Planted(bias, strength, seed), "planted", SPEC, seed=seed)
            biases = {row.bias for row in report.probes if row.found}
            found += bias in biases
            accused += bool(biases - {bias})
        return found / len(seeds), accused / len(seeds)

    return run(all_trials())


@pytest.mark.parametrize("bias", ["length", *SIGNS])
def test_a_planted_bias_is_found_and_no_other(bias: Bias) -> None:
    report = run(probe(Planted(bias, 0.6, seed=8), "planted", SPEC))
    assert {row.bias for row in report.probes if row.found} == {bias}
    rate = next(row.rate for row in report.probes if row.bias == bias)
    assert rate is not None
    assert rate > 0.5


@pytest.mark.parametrize("likes_long", [True, False])
def test_a_judge_of_length_alone_has_no_other_bias(likes_long: bool) -> None:
    """Before, the other answer had no filler: such a judge had five biases of six."""

    class ByLength:
        async def one_order(self, question: Question, first: str, second: str) -> Verdict:
            if len(first) == len(second):
                return Verdict(preference="tie")
            return Verdict(preference="A" if (len(first) > len(second)) == likes_long else "B")

    report = run(probe(ByLength(), "by length", SPEC))
    assert {row.bias for row in report.probes if row.found} == {"length"}
    ties = {row.bias: row.ties for row in report.probes}
    assert all(ties[bias] == 64 for bias in SIGNS)


def test_a_bias_of_position_is_no_other() -> None:
    report = run(probe(Planted("position", 0.6, seed=1), "first", SPEC))
    assert {row.bias for row in report.probes if row.found} == {"position"}


def test_a_judge_without_bias_is_accused_in_one_of_twenty_at_most() -> None:
    assert measure(None, range(100))[1] <= 0.05


def test_ties_and_invalid_verdicts_are_counted_apart() -> None:
    equal = DirectJudge(chooser(lambda first, second: 0))
    [row] = run(probe(equal, "equal", SPEC, biases=("length",), count=8)).probes
    assert (row.pairs, row.ties, row.invalid, row.rate, row.found) == (0, 8, 0, None, False)


def test_answers_of_a_pair_differ_in_wording_alone() -> None:
    rows = items(192)
    assert len({(question.prompt, a, b) for question, a, b in rows}) == 192
    assert all(a != b for _, a, b in rows)
    changed = {bias: change("x") for bias, change in marks(SPEC).items()}
    assert changed.pop("position") == "x"
    assert all(text != "x" and "x" in text for text in changed.values())


if __name__ == "__main__":  # not the seeds on which the level was chosen, which were 0 to 399
    print("no bias:", measure(None, range(1000, 1400))[1], flush=True)
    for planted in ("position", "length", *SIGNS):
        print(planted, *measure(planted, range(1000, 1200)), flush=True)
