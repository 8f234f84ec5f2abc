"""What useless rules cost the simulated order desk, where a profile says so."""

from __future__ import annotations

import pytest

from lab.simulator import load_profile

REMEDY = "- Round the total to two decimals."
USELESS = "- Check your work before you answer."


def test_only_useless_rules_distract() -> None:
    profile = load_profile("orders?distraction=0.1")
    assert profile.distracts("# Orders\n\nRules of the desk.\n") == 0
    assert profile.distracts(REMEDY) == 0
    assert profile.distracts(f"{REMEDY}\n{USELESS}\n{USELESS}") == pytest.approx(1 - 0.9**2)


def test_nothing_distracts_by_default() -> None:
    assert load_profile("orders").distracts("\n".join([USELESS] * 50)) == 0
