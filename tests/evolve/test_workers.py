"""Attempts of an evolution in worker processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.evolve import EvolveSettings, run_evolution
from tests.evolve.baselines.conftest import order_suite

pytestmark = pytest.mark.wing("fleet")


@pytest.fixture
def settings(tmp_path: Path) -> EvolveSettings:
    return EvolveSettings(
        out=tmp_path / "out",
        suite=order_suite(tmp_path, train=8, selection=4),
        create="order-desk",
        models=("simulated/orders", "analyst=simulated/orders-analyst"),
        sandbox="none",
    )


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["none", pytest.param("auto", marks=pytest.mark.full)])
def test_two_workers_lead_to_the_same_skill(
    settings: EvolveSettings, tmp_path: Path, gate: str
) -> None:
    settings = settings.model_copy(update={"gate": gate})
    alone = run_evolution(settings)
    spread = settings.model_copy(update={"out": tmp_path / "spread", "workers": 2})
    there = run_evolution(spread)
    assert digest_tree(Path(there.skill)) == digest_tree(Path(alone.skill))
    assert (there.gate, there.edits, there.calls) == (alone.gate, alone.edits, alone.calls)
    assert there.edits > 0


def test_workers_that_cannot_be_had_are_refused_at_once(settings: EvolveSettings) -> None:
    asked = settings.model_copy(update={"worker_resources": {"GPU": 1.0}})
    with pytest.raises(BadInput, match="need --executor ray"):
        run_evolution(asked)
    assert not settings.out.exists()
