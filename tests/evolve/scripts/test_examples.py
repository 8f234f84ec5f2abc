"""The examples that come with our suites: each program passes its task of the train split."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.core import assets
from harness.evals import load_suite
from harness.evolve import EvolveSettings
from harness.evolve.scripts import judged
from harness.trajectories import open_trajectories

FOLDER = assets.root() / "evals" / "examples"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_every_example_passes(name: str, tmp_path: Path) -> None:
    examples = list(open_trajectories(FOLDER / f"{name}.jsonl"))
    train = load_suite(name, "train")
    ids = {task.id for task in train.tasks}
    settings = EvolveSettings.model_validate(
        {"out": tmp_path, "trajectories": FOLDER / f"{name}.jsonl", "create": "x"}
    )
    file, _ = asyncio.run(judged(train, settings))
    assert [run.outcome for run in open_trajectories(file)] == ["pass"] * len(examples)
    assert ids.issuperset(run.task_id for run in examples)
    # Two programs of each of eight kinds.
    kinds = [
        task.meta["kind"] for task in train.tasks for run in examples if run.task_id == task.id
    ]
    assert len(kinds) == 16 and len(set(kinds)) == 8
