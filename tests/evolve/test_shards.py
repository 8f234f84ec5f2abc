"""More patches than are merged at one time: in parts, and the parts once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.evolve import EvolveResult, EvolveSettings, run_evolution
from harness.evolve.merge import deterministic
from tests.evolve.baselines.conftest import order_suite


def rules(result: EvolveResult) -> list[str]:
    """The headings of a skill, and its rules."""
    lines = Path(result.skill, "SKILL.md").read_text().splitlines()
    return [line for line in lines if line.startswith(("- ", "## "))]


@pytest.mark.slow
def test_parts_lead_to_the_same_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = EvolveSettings(
        out=tmp_path / "once",
        suite=order_suite(tmp_path, train=24, selection=4),
        create="order-desk",
        models=("simulated/orders", "analyst=simulated/orders-analyst"),
        sandbox="none",
    )
    once = rules(run_evolution(settings))
    monkeypatch.setattr(deterministic, "SHARD", 10)
    parts = rules(run_evolution(settings.model_copy(update={"out": tmp_path / "parts"})))
    assert len(parts) == len(once) == 10
    # Two of six are put in another of their lessons' wordings.
    assert sum(line in once for line in parts) >= 8
