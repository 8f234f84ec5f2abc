"""Spoilt constraints make worse choices, the worse the more are spoilt, on our rendered corpus."""

from __future__ import annotations

from typing import get_args

from benchmarks.vision.premises import accuracy, at_random, cases, sweep
from harness.vision.premises import Corruption


def test_accuracy_falls_with_every_rate_of_corruption() -> None:
    made = cases("test", seeds=3, misread=0.4)
    assert len(made) >= 90
    clean = accuracy(made, None, 0.0)
    assert clean > accuracy(made, None, 0.0, gated=False) > at_random(made)
    for kind in get_args(Corruption):
        found = sweep(made, kind)
        assert found["accuracy"][0] == round(clean, 4)
        assert found["spearman"] <= -0.9
