"""Attempts of an evolution in worker processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.evolve import EvolveSettings, run_evolution
from tests.evolve.baselines.conftest import order_tasks


@pytest.fixture
def settings(tmp_path: Path) -> EvolveSettings:
    for split, count in (("train", 8), ("selection", 4)):
        rows = [task.model_dump(mode="json") for task in order_tasks(split, count)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "suite.yaml").write_text(
        "name: orders\ntasks: {train: train.jsonl, selection: selection.jsonl}\ntools: []\n"
    )
    return EvolveSettings(
        out=tmp_path / "out",
        suite=str(tmp_path / "suite.yaml"),
        create="order-desk",
        models=("simulated/orders", "analyst=simulated/orders-analyst"),
        sandbox="none",
    )


@pytest.mark.slow
def test_two_workers_lead_to_the_same_skill(settings: EvolveSettings, tmp_path: Path) -> None:
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
