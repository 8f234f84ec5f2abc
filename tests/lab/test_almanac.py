"""The almanac: the same bytes every time, answers that stand in their text, no task twice."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.core import Task, assets

DIGESTS = {
    "train": "fa977be143b1591e3b5c36fe31a4bb939efb5bef3b0b3e9a0ddd1958b85a4a8e",
    "selection": "5ec625a1a3642a1560bb33d0c3644fa5f29d98685ccfc3dfbed6cfb06c5a5bd8",
    "test": "86cb7dd1678db3e7627c0f8d235025fd7c36b49024c81da572af570838368fea",
}


def _rows(split: str) -> list[dict[str, Any]]:
    return list(assets.load_module(assets.find("corpora/almanac/generate.py")).tasks(split))


@pytest.mark.parametrize("split", DIGESTS)
def test_command_writes_the_pinned_bytes(split: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    script = assets.find("corpora/almanac/generate.py")
    subprocess.run([sys.executable, str(script), split, str(out)], check=True)
    assert hashlib.sha256(out.read_bytes()).hexdigest() == DIGESTS[split]


def test_answers_stand_in_their_text_once_as_a_span_and_no_task_comes_twice() -> None:
    rows = [row for split in DIGESTS for row in _rows(split)]
    tasks = [Task.model_validate(row) for row in rows]
    assert all(str(task.answer) in task.prompt for task in tasks)
    assert len({task.prompt for task in tasks}) == len({task.id for task in tasks}) == 800


def test_any_first_thirty_are_balanced() -> None:
    for split in DIGESTS:
        first = _rows(split)[:30]
        pairs = Counter((row["meta"]["stratum"], row["meta"]["asked"]) for row in first)
        assert len(pairs) == 30


def test_sample_is_the_start_of_train() -> None:
    lines = assets.find("corpora/almanac/sample.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == _rows("train")[:30]
