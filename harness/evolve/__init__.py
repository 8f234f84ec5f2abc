"""Trace2Skill: analysts over trajectories, one patch a record, one merge, one skill, one gate."""

from __future__ import annotations

from harness.evolve.analysts.exemplar import (
    answer_format,
    example_edit,
    exemplar_patch,
    worked_examples,
)
from harness.evolve.analysts.records import RecordedPatches, read_recorded, to_patch
from harness.evolve.batches import batches
from harness.evolve.evolution import Evaluate, Event, Evolution
from harness.evolve.merge.deterministic import merge_deterministic
from harness.evolve.run import evolve
from harness.evolve.session import plan_evolution, run_evolution
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import (
    AnalystRecord,
    Conflict,
    Discarded,
    EvolveOptions,
    EvolveResult,
    GateResult,
    Loss,
    MemoryItem,
    Merge,
)

__all__ = [
    "AnalystRecord",
    "Conflict",
    "Discarded",
    "Evaluate",
    "Event",
    "Evolution",
    "EvolveOptions",
    "EvolveResult",
    "EvolveSettings",
    "GateResult",
    "Loss",
    "MemoryItem",
    "Merge",
    "RecordedPatches",
    "answer_format",
    "batches",
    "evolve",
    "example_edit",
    "exemplar_patch",
    "merge_deterministic",
    "plan_evolution",
    "read_recorded",
    "run_evolution",
    "to_patch",
    "worked_examples",
]
