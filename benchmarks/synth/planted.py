"""Planted proposals: which faults the task factory rejects, for which reason, and what it keeps.

    python -m benchmarks.synth.planted [--error 0 0.05] [--out FILE]

200 faulty and 200 good proposals of the kind `search`. Proposer and checker are scripted
(SIMULATED): the figures say what the factory does with a checker that reads well, and with one of
which a share of the replies is wrong. They say nothing about a real model.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.core.plugins import load
from harness.core.rundir import RunReader, RunWriter
from harness.stats import wilson
from harness.synth.factory import Factory, open_validators
from harness.synth.proposers.search import SearchProposer
from harness.synth.registry import known_suites
from harness.synth.session import run_factory
from harness.synth.types import Materials, Record
from lab.worlds.models import FunctionModel
from lab.worlds.proposals import EXPECTED, Fault, World

FAULTS: dict[Fault, int] = {
    "good": 200, "leaked search": 25, "duplicate": 25, "unanswerable": 25, "ambiguous": 25,
    "in question": 25, "wrong gold": 25, "suite leak": 25, "repeated search": 25,
}  # fmt: skip


class Planted(SearchProposer):
    """Asks for each answer once, and for good ones of the first half again (duplicates)."""

    def __init__(self, materials: Materials, world: World) -> None:
        super().__init__(materials)
        good = [town for town, house in world.houses.items() if house.fault == "good"]
        self._answers = [*world.houses, *good[: world.duplicates]]


def measure(error: float) -> dict[str, Any]:
    """Counts and shares with a checker of which a share `error` of the replies is wrong."""
    with tempfile.TemporaryDirectory() as directory:
        folder, world = Path(directory), World(FAULTS)
        world.write(folder / "documents")
        models = FunctionModel(world.propose), FunctionModel(world.checker(error))
        materials = Materials(folder / "documents", folder / "out", *models)
        proposer = Planted(materials, world)
        total = sum(FAULTS.values())
        with RunWriter(folder / "out", {"kind": "synth"}) as run:
            factory = Factory(
                materials=materials, proposer=proposer, run=run, want=total, most=total,
                validators=open_validators(materials, proposer.validators),
                band=load("bands", proposer.band),
                suites=known_suites([str(folder / "suite.jsonl")]),
            )  # fmt: skip
            asyncio.run(run_factory(factory))
            rows = [Record.model_validate(row["record"]) for row in RunReader(run.path).items()]
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[str] = set()
    for row in rows:
        town = row.proposal.answers[0]
        fault: Fault = "duplicate" if town in seen else world.houses[town].fault
        seen.add(town)
        by, begins = EXPECTED.get(fault, ("", ""))
        right = row.by == by and row.reason.startswith(begins)
        counts[fault, f"{row.decision}{'' if right else ', other reason'}"] += 1
    faulty = [(key, n) for key, n in counts.items() if key[0] != "good"]
    rejected = sum(n for key, n in faulty if key[1].startswith("rejected"))
    reasons = sum(n for key, n in faulty if key[1] == "rejected")
    bad, good = sum(n for _, n in faulty), FAULTS["good"]
    accepted = counts["good", "accepted"]
    return {
        "error": error, "faulty": bad, "rejected": rejected, "rejected ci95": wilson(rejected, bad),
        "right reason": reasons, "good": good, "accepted": accepted,
        "accepted ci95": wilson(accepted, good),
        "by fault": {f"{fault}: {outcome}": n for (fault, outcome), n in sorted(counts.items())},
    }  # fmt: skip


@benchmark(
    error=[0.0, 0.05],
    out=option(type=Path, default=None),
)
def main(options: Options) -> Result:
    """Measure each share of wrong replies."""
    head = {"command": "python -m benchmarks.synth.planted", "simulated": True}
    return {**head, "runs": [measure(error) for error in options.error]}
