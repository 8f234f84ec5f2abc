"""A public set that is converted becomes tasks which the reading families judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import BadInput, Task
from harness.core.documents import read_models
from harness.corpora import convert
from harness.rag.tasks.reading import judge
from tests.corpora.test_loaders import HOTPOT


def test_convert_writes_tasks_that_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([HOTPOT, {**HOTPOT, "_id": "h2"}]))
    convert("hotpotqa", tmp_path / "rows.json", tmp_path / "out", limit=1)
    (task,) = read_models(tmp_path / "out/test.jsonl", Task)
    assert judge(task, "brisko [Ada Hask:0-5]").outcome == "pass"
    with pytest.raises(BadInput, match="no loader 'hotpot'"):
        convert("hotpot", tmp_path / "rows.json", tmp_path / "out")
