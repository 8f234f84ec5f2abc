"""Length bands that partition, frequencies in proportion to difficulty, and caps."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from examples.objectives.curriculum import LengthCurriculum
from harness.core import BadInput

CURRICULUM = LengthCurriculum()


@given(st.integers(0, 100_000))
def test_bands_partition_and_hold_their_caps(tokens: int) -> None:
    phase = CURRICULUM.phase_of(tokens)
    assert (phase is None) == (tokens > 60_000)
    if phase is not None:
        assert tokens <= CURRICULUM.caps[phase]
        assert phase == 0 or tokens > CURRICULUM.caps[phase - 1]


def test_frequencies_are_in_proportion_to_difficulty() -> None:
    rewards = {"a": 1.0, "b": 0.5, "c": 0.25, "d": 0.0, "long": 0.1}
    lengths = {**dict.fromkeys("abcdu", 1000), "long": 30_000, "longest": 90_000}
    drawn = CURRICULUM.draw(lengths, rewards, 1, 23_000, Random(5))
    assert drawn[0] == "long"
    counts = Counter(drawn[1:])
    assert set(counts) == set("abcd")  # `u` has no outcome, the others belong to other bands
    expected = [23_000 * weight / 23 for weight in (1, 2, 4, 16)]
    assert chisquare([counts[name] for name in "abcd"], expected).pvalue > 0.001
    even = chisquare([counts[name] for name in "abcd"])
    assert even.pvalue < 1e-6


def test_items_that_nobody_solved_have_the_ceiling() -> None:
    assert CURRICULUM.difficulty(0.0) == CURRICULUM.ceiling == CURRICULUM.difficulty(0.01)
    assert CURRICULUM.difficulty(1.0) == 1.0
    for mean in (-0.1, 1.1, float("nan")):
        with pytest.raises(BadInput, match="mean reward"):
            CURRICULUM.difficulty(mean)


def test_the_first_phase_has_nothing_earlier() -> None:
    assert CURRICULUM.draw({"a": 1, "b": 30_000}, {"a": 0.5}, 0, 9, Random(1)) == ["a"]
    with pytest.raises(BadInput, match="phase"):
        CURRICULUM.draw({}, {}, 2, 1, Random(1))
