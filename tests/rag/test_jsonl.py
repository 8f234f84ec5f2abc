"""JSONL is read alike wherever it is read: only a line feed ends a line, and a byte order mark is
no fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core import read_rows
from harness.evals import load_suite
from harness.models.scripted import Script
from harness.rag.check.batch import read_batch
from harness.rag.retrieve import parse_file
from harness.trajectories import open_trajectories

TEXT = "first\u2028second\u2029third\u0085fourth"


def rows(path: Path) -> list[Any]:
    return [row["text"] for _, row in read_rows(path)]


def documents(path: Path) -> list[Any]:
    return [document.text for document in parse_file(path)]


def tasks(path: Path) -> list[Any]:
    return [task.prompt for task in load_suite(str(path)).tasks]


def conversations(path: Path) -> list[Any]:
    return [step.message for each in open_trajectories(path) for step in each.steps]


def replies(path: Path) -> list[Any]:
    body = {"messages": [{"role": "user", "content": "ask"}]}
    reply = asyncio.run(Script(path).answer(body))
    return [reply["choices"][0]["message"]["content"]]


def answers(path: Path) -> list[Any]:
    return [row.answer for row in read_batch(path)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("read", "row"),
    [
        (rows, {"text": TEXT}),
        (documents, {"id": "a", "text": TEXT}),
        (tasks, {"id": "a", "prompt": TEXT, "answer": "x"}),
        (conversations, {"id": "a", "messages": [{"role": "user", "content": TEXT}]}),
        (replies, {"text": TEXT}),
        (answers, {"question": "q", "answer": TEXT, "contexts": ["c"]}),
    ],
)
def test_every_reader_of_lines_keeps_separators_in_strings(
    read: Callable[[Path], list[Any]], row: dict[str, Any], mark: str, tmp_path: Path
) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(mark + json.dumps(row, ensure_ascii=False) + "\n\n", "utf-8")
    assert read(path) == [TEXT]
