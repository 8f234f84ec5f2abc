"""Some of the storm: every parser takes mutated inputs, or refuses them as it documents."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.core import HarnessError
from tests.fuzz.storm import places_in, storm
from tests.fuzz.targets import TARGETS

WRONG: tuple[Any, ...] = (None, -1, float("nan"), "a\0b", "{{ 1/0 }}", [], {})


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.full)])
def test_mutated_inputs_end_in_documented_errors_alone(count: int) -> None:
    total, faults = storm([*TARGETS], 41, count)
    assert not faults, "\n".join(f"{fault.target} {fault.number}: {fault.what}" for fault in faults)
    assert total == count * len(TARGETS)


def wrongly_typed(data: bytes, rows: bool, step: int) -> Iterator[bytes]:
    """Variants of a file, each with one value in place of another one."""
    texts = data.decode().splitlines() if rows else [data.decode()]
    document = [yaml.safe_load(text) for text in texts]
    for number in range(0, len(places_in(document)), step):
        for value in WRONG:
            changed = copy.deepcopy(document)
            holder, key = places_in(changed)[number]
            holder[key] = value
            yield "\n".join(map(json.dumps, changed)).encode()


@pytest.mark.parametrize(
    ("target", "name", "step"),
    [
        ("suites", "suite.yaml", 1), ("suites", "tasks.jsonl", 1), ("matrix files", "m.yaml", 1),
        ("trigger queries", "q.yaml", 1), ("runs", "run.json", 1), ("runs", "items.jsonl", 5),
        ("receipts", "short-answers.receipt.json", 40),
    ],
)  # fmt: skip
def test_any_value_of_a_wrong_type_is_taken_or_refused(
    target: str, name: str, step: int, tmp_path: Path
) -> None:
    for files in TARGETS[target].seeds(tmp_path):
        for data in wrongly_typed(files[name], name.endswith(".jsonl"), step):
            with suppress(HarnessError):
                TARGETS[target].run({**files, name: data})
