"""Suites: files, folders, shipped names, splits, and the published SpreadsheetBench shapes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from harness.agents import open_agent
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.evals import (
    EvalPlan,
    EvalSettings,
    agent_spec,
    finished_items,
    load_suite,
    run_eval,
)
from harness.models import open_model
from harness.sandbox import select


def tasks_file(folder: Path, count: int) -> Path:
    rows = [{"id": f"t{n}", "prompt": "p", "answer": "a", "check": "em"} for n in range(count)]
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_one_file_is_halved_without_overlap(tmp_path: Path) -> None:
    path = tasks_file(tmp_path, 40)
    halves = [
        {task.id for task in load_suite(str(path), split).tasks} for split in ("train", "selection")
    ]
    assert not halves[0] & halves[1]
    assert len(halves[0] | halves[1]) == 40
    assert len(halves[0]) == len(halves[1])
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert {task.id for task in load_suite(str(path), "train").tasks} == halves[0]
    more = {task.id for task in load_suite(str(tasks_file(tmp_path, 41)), "train").tasks}
    assert len(halves[0] - more) <= 1, "a task that is added moves one other at most"
    with pytest.raises(BadInput, match="no split 'test'"):
        load_suite(str(path), "test")


def test_shipped_suites_load_every_split() -> None:
    sizes = {
        split: len(load_suite("demo", split).tasks) for split in ("train", "selection", "test")
    }
    assert sizes == {"train": 150, "selection": 250, "test": 400}


def test_a_repeated_id_is_named(tmp_path: Path) -> None:
    path = tasks_file(tmp_path, 2)
    path.write_text(path.read_text() * 2)
    with pytest.raises(BadInput, match="task id 't0' stands there twice"):
        load_suite(str(path))


@pytest.mark.wing("engines")
@pytest.mark.parametrize(
    ("check", "suite_agent", "model", "agent", "expected"),
    [
        ("spreadsheet", "", "local/small", None, "graph:program"),
        ("spreadsheet", "", None, None, "graph:program"),
        ("spreadsheet", "", "openai/large", None, "graph:react"),
        ("output", "", "local/small", None, "graph:program"),
        ("em", "", "local/small", None, "graph:react"),
        ("spreadsheet", "agent: graph:react", "local/small", None, "graph:react"),
        ("spreadsheet", "", "local/small", "graph:react", "graph:react"),
        ("em", "agent: graph:answer", "local/small", "graph:program", "graph:program"),
    ],
)
def test_an_embedded_model_writes_programs_for_workbooks(
    tmp_path: Path,
    check: str,
    suite_agent: str,
    model: str | None,
    agent: str | None,
    expected: str,
) -> None:
    row = {"id": "a", "prompt": "p", "answer": "gold.xlsx", "check": check}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    path = tmp_path / "suite.yaml"
    path.write_text(f"name: s\ntasks: t.jsonl\n{suite_agent}\n")
    models = (model, "analyst=openai/large") if model else ()
    settings = EvalSettings(suite=str(path), models=models, agent=agent)
    assert agent_spec(settings, load_suite(str(path))) == expected


def test_the_digest_sees_the_contents_of_files(tmp_path: Path) -> None:
    row = {"id": "a", "prompt": "p", "files": ["x.txt"], "answer": "gold.txt", "check": "em"}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    digests: set[str] = set()
    for inputs, gold in (("1", "1"), ("2", "1"), ("2", "2")):
        (tmp_path / "x.txt").write_text(inputs)
        (tmp_path / "gold.txt").write_text(gold)
        digests.add(load_suite(str(tmp_path / "t.jsonl")).digest)
    assert len(digests) == 3


def test_an_agent_works_on_real_workbooks(shared: Path, tmp_path: Path) -> None:
    """Loader, ReAct graph, sandbox and official scoring, with the simulated model."""
    suite = load_suite(str(shared / "data" / "dev" / "spreadsheetbench_tasks.jsonl"))
    assert len(suite.tasks) == 214
    plan = EvalPlan(suite=suite, agent=open_agent("graph:react"), limit=2)
    model = open_model("simulated/ledger")
    report = asyncio.run(
        run_eval(plan, tmp_path / "run", model=model, sandbox=select("auto"), concurrency=2)
    )
    assert report.simulated
    assert report.passed + report.failed == 2
    items = finished_items(RunReader(tmp_path / "run"))
    assert all(item.usage.calls > 1 for item in items)
    assert not list((tmp_path / "run" / "work").iterdir())
