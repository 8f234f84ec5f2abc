"""Golden vectors of SSP and SPELL, and what holds of every curve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.plugins import load, plugins
from harness.synth import rewards


@pytest.mark.shared
def test_golden_ssp_proposer(shared: Path) -> None:
    golden = json.loads((shared / "golden/golden.json").read_text())["ssp_proposer"]
    assert [rewards.one_minus(mean) for mean in golden["success"]] == pytest.approx(
        golden["one_minus_acc"]
    )
    assert [rewards.intermediate(mean) for mean in golden["success"]] == pytest.approx(
        golden["intermediate"]
    )
    assert rewards.ONE_MINUS.penalties.get("ssp", 0.0) == golden["invalid"]


@pytest.mark.shared
def test_golden_spell_questioner(shared: Path) -> None:
    golden = json.loads((shared / "golden/golden.json").read_text())["spell_questioner"]
    for text, reward in golden["gaussian"].items():
        mean = float(text)
        if mean >= 0:
            assert round(rewards.GAUSSIAN.curve(mean), 6) == reward, mean
        else:  # the official code carries rejections as means below zero
            assert mean in rewards.GAUSSIAN.penalties.values()
            assert reward == mean


def test_what_is_rejected_earns_what_the_papers_say() -> None:
    assert rewards.GAUSSIAN.penalties == {"spell": -1.0, "grounded": -0.5}
    assert not rewards.ONE_MINUS.penalties  # a penalty ends in a proposer that falls silent


@given(st.floats(0, 1))
def test_rewards_lie_in_the_unit_interval(mean: float) -> None:
    for name in plugins("bands"):
        assert 0.0 <= load("bands", name).curve(mean) <= 1.0


@given(st.floats(0.01, 0.5))
def test_the_middle_is_best_and_both_sides_are_equal(low: float) -> None:
    for curve in (rewards.gaussian, rewards.intermediate):
        assert curve(low) == pytest.approx(curve(1 - low), abs=1e-9)
        assert curve(low) <= curve(0.5)
