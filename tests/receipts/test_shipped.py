"""The receipts that ship with our skills hold, and one changed byte is noticed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from harness.receipts import verify
from harness.skills import CARD, RECEIPT, RECORDS


@pytest.fixture
def shipped(repository: Path) -> Path:
    return repository / "skills" / "short-answers"


def test_the_receipt_holds_in_seconds_and_without_a_call(shipped: Path) -> None:
    started = time.process_time()
    found = verify(shipped)
    assert found.valid, found.differs
    assert found.tasks and found.rescored == found.rollouts > 0
    assert time.process_time() - started < 30


@pytest.mark.parametrize("name", ["SKILL.md", RECEIPT, RECORDS, CARD])
def test_one_flipped_bit_is_noticed(shipped: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / shipped.name
    shutil.copytree(shipped, copy)
    for part in (RECEIPT, RECORDS, CARD):
        shutil.copy(shipped.parent / f"{shipped.name}.{part}", tmp_path)
    path = copy / name if name == "SKILL.md" else tmp_path / f"{copy.name}.{name}"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert not verify(copy, tasks=False).valid
