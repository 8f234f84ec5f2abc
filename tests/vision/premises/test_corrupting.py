"""The rule auditor, and constraints that are spoilt more and more."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vision.premises import (
    Constraints,
    Solution,
    Step,
    audit_by_rules,
    contradiction,
    corrupt,
    flipped,
)

FACTS = Constraints(
    caption="A bar chart of 3 regions.",
    facts=("Fenland in 2021 is 42", "Fenland in 2022 is 50.5", "Fenland is higher than Westvale"),
    uncertain=("the unit",),
)


@pytest.mark.parametrize(
    ("claim", "fact", "contradicts"),
    [
        ("The value of Fenland is 40", "Fenland is 42", True),
        ("Fenland is 42.0", "Fenland is 42", False),
        ("Westvale is 40", "Fenland is 42", False),
        ("Fenland in 2022 is 50", "Fenland in 2021 is 42", False),
        ("Fenland in 2021 is 50", "Fenland in 2021 is 42", True),
        ("Fenland is lower than Westvale", "Fenland is higher than Westvale", True),
        ("Westvale is lower than Fenland", "Fenland is higher than Westvale", False),
        ("Fenland is higher than Westvale", "Fenland is higher than Westvale", False),
        ("Fenland is large", "Fenland is 42", False),
        ("1,200 at Fenland", "Fenland 1200", False),
    ],
)
def test_contradictions_are_direct(claim: str, fact: str, contradicts: bool) -> None:
    assert contradiction(claim, fact) is contradicts


def test_premises_are_audited_one_by_one() -> None:
    steps = (
        Step(text="a", premise="Fenland in 2021 is 41"),
        Step(text="Fenland in 2022 is 1"),  # no premise, so nothing is claimed of the image
        Step(text="b", premise="Fenland in 2022 is 50.5"),
    )
    found = audit_by_rules(Solution(steps=steps, answer="x"), FACTS.lines())
    assert [(one.step, one.constraint) for one in found] == [(0, "Fenland in 2021 is 42")]


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 50))
def test_what_is_spoilt_at_a_low_rate_is_spoilt_alike_at_a_higher(
    one: float, two: float, seed: int
) -> None:
    low, high = sorted((one, two))
    fewer = corrupt(FACTS, "drop", low, str(seed)).lines()
    least = corrupt(FACTS, "drop", high, str(seed)).lines()
    assert set(least) <= set(fewer) <= set(FACTS.lines())
    changed = {
        at: line
        for at, line in enumerate(corrupt(FACTS, "flip", low, str(seed)).lines())
        if line != FACTS.lines()[at]
    }
    worse = corrupt(FACTS, "flip", high, str(seed)).lines()
    assert all(worse[at] == line for at, line in changed.items())


def test_rates_of_none_and_all() -> None:
    for kind in ("drop", "flip"):
        assert corrupt(FACTS, kind, 0.0, "s") == FACTS
        with pytest.raises(ValueError, match="rate"):
            corrupt(FACTS, kind, 1.1, "s")
    assert corrupt(FACTS, "drop", 1.0, "s").lines() == ()
    flipped_all = corrupt(FACTS, "flip", 1.0, "s")
    assert all(new != old for new, old in zip(flipped_all.lines(), FACTS.lines(), strict=True))
    assert flipped_all.uncertain == FACTS.uncertain


@given(st.integers(0, 10_000), st.integers(0, 2), st.integers(0, 1000))
def test_a_flip_changes_one_number_and_keeps_its_decimals(
    value: int, decimals: int, seed: int
) -> None:
    number = f"{value:.{decimals}f}"
    line = flipped(f"Fenland is {number} here", Random(seed))
    head, tail = line[:11], line[-5:]
    assert (head, tail) == ("Fenland is ", " here")
    new = line[11:-5]
    assert new != number
    assert len(new.partition(".")[2]) == decimals


def test_a_line_without_number_or_relation_stays() -> None:
    assert flipped("A plain line", Random(1)) == "A plain line"
    assert flipped("Fenland is above", Random(1)) == "Fenland is below"
