"""Real ledger tasks: correct scripts are proven, scripts that only pass the clean input are not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from harness.core import Task, read_rows
from harness.corpora import generate
from harness.evolve.analysts.agentic import prove, trials
from harness.sandbox import Sandbox
from tests.evolve.agentic.attacks import ATTACKS
from tests.evolve.agentic.ledger_scripts import correct_script

KINDS = 11


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Task]]:
    """The first 33 training tasks: one of every kind and difficulty."""
    folder = tmp_path_factory.mktemp("ledger")
    file = Path(generate("ledger", folder, "train", 3 * KINDS).files["train"])
    return folder, [Task.model_validate(row) for _, row in read_rows(file)]


def test_every_kind_has_two_perturbed_inputs(ledger: tuple[Path, list[Task]]) -> None:
    folder, tasks = ledger
    for task in tasks[:KINDS]:
        with tempfile.TemporaryDirectory() as store:
            kinds = [trial.kind for trial in trials(task, folder, Path(store))]
        assert kinds[0] == "clean" and len(kinds) >= 3 and "control" in kinds, task.id


def test_three_kinds_are_proven(ledger: tuple[Path, list[Task]], sandbox: Sandbox) -> None:
    folder, tasks = ledger
    for task in tasks[4:7]:
        proof = prove(correct_script(task), task, folder, sandbox)
        assert proof.holds, (task.id, proof)


@pytest.mark.full
def test_every_kind_is_proven(ledger: tuple[Path, list[Task]], sandbox: Sandbox) -> None:
    """At a difficulty each that no other test here takes."""
    folder, tasks = ledger
    chosen = [tasks[kind + KINDS * ((kind + 1) % 3)] for kind in range(KINDS)]
    unproven = [
        task.id for task in chosen if not prove(correct_script(task), task, folder, sandbox).holds
    ]
    assert unproven == []


@pytest.mark.parametrize("kinds", [2, pytest.param(KINDS, marks=pytest.mark.full)])
def test_attacks_are_not_proven(
    ledger: tuple[Path, list[Task]], sandbox: Sandbox, kinds: int
) -> None:
    """Copying by position passes where the task keeps the order of the rows, and only there."""
    folder, tasks = ledger
    easy_middle_hard = [tasks[kind + KINDS * (kind % 3)] for kind in range(kinds)]
    assert len({str(task.meta["kind"]) for task in easy_middle_hard}) == kinds
    proven = {
        (attack.__name__, str(task.meta["kind"]))
        for task in easy_middle_hard
        for attack in ATTACKS
        if prove(attack(task, folder), task, folder, sandbox).holds
    }
    assert proven <= {("by_position", "deduplicate"), ("by_position", "unmerge")}
