"""Some of the storm: every parser takes mutated inputs, or refuses them as it documents."""

from __future__ import annotations

from tests.fuzz.storm import storm
from tests.fuzz.targets import TARGETS


def test_mutated_inputs_end_in_documented_errors_alone() -> None:
    count = 10
    total, faults = storm([*TARGETS], 41, count)
    assert not faults, "\n".join(f"{fault.target} {fault.number}: {fault.what}" for fault in faults)
    assert total == count * len(TARGETS)
