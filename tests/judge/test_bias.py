"""Bias probes: each planted bias is found, and none where there is none."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from harness.judge import Question, Verdict
from harness.judge.direct import DirectJudge
from harness.judge.probes.bias import Bias, items, marks, probe
from harness.judge.types import Preference
from tests.judge.cases import chooser, run

SPEC = "openai/judge-x"
SIGNS: dict[Bias, Callable[[str], bool]] = {
    "length": lambda text: "To summarise" in text,
    "style": lambda text: "## " in text,
    "self": lambda text: SPEC in text,
    "authority": lambda text: "Smith et al." in text,
    "injection": lambda text: "Ignore previous" in text,
}


class Planted:
    """A judge that draws lots, except that it is moved by one thing with some chance."""

    def __init__(
        self, sign: Callable[[str], bool] | None, seed: int, strength: float = 0.6
    ) -> None:
        self._sign, self._draw, self._strength = sign, random.Random(seed), strength

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        preference: Preference = self._draw.choice(("A", "B"))
        if self._sign is not None and self._draw.random() < self._strength:
            marked = self._sign(first), self._sign(second)
            if marked[0] != marked[1]:
                preference = "A" if marked[0] else "B"
        return Verdict(preference=preference)


class FirstJudge:
    """A judge that takes what is shown first, most of the time."""

    def __init__(self) -> None:
        self._draw = random.Random(1)

    async def one_order(self, question: Question, first: str, second: str) -> Verdict:
        return Verdict(preference="A" if self._draw.random() < 0.8 else "B")


@pytest.mark.parametrize("bias", list(SIGNS))
def test_a_planted_bias_is_found_and_no_other(bias: Bias) -> None:
    report = run(probe(Planted(SIGNS[bias], seed=7), "planted", SPEC))
    assert {row.bias for row in report.probes if row.found} == {bias}
    rate = next(row.rate for row in report.probes if row.bias == bias)
    assert rate is not None
    assert rate > 0.5


def test_a_bias_of_position_is_no_other() -> None:
    report = run(probe(FirstJudge(), "first", SPEC))
    assert {row.bias for row in report.probes if row.found} == {"position"}


def test_a_judge_without_bias_is_accused_in_one_of_twenty_at_most() -> None:
    trials = 100

    async def accused() -> int:
        total = 0
        for seed in range(trials):
            report = await probe(Planted(None, seed), "fair", SPEC, seed=seed)
            total += any(row.found for row in report.probes)
        return total

    assert run(accused()) <= 0.05 * trials + 4  # the family of six, and two standard errors


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
