"""The example notebook runs from its first cell to its last, in a kernel."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_every_cell_runs(repository: Path, tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="no kernel to run a notebook in")
    nbformat: Any = pytest.importorskip("nbformat")
    nbclient: Any = pytest.importorskip("nbclient")
    folder = shutil.copytree(repository / "examples" / "notebook", tmp_path / "notebook")
    notebook = nbformat.read(folder / "measure.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    assert "0% -> 100%" in outputs
    assert "The capital of Peru is Lima." in outputs, "the table of attempts"
    assert "3 passed, 0 failed, 0 invalid" in outputs, "the result as HTML"
    assert "3/3" in outputs, "a bar"


CELL = """
import pandas
from harness.api import evaluate

table = pandas.DataFrame({"prompt": ["Say yes", "Say no"], "answer": ["yes", "no"]})

def agent(prompt):
    return "Yes."

def check(answer, expected):
    return answer.strip(".").lower() == expected

evaluate(table, agent=agent, check=check, model="none")
"""


def test_a_frame_an_agent_and_a_check_of_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="no kernel to run a notebook in")
    nbformat: Any = pytest.importorskip("nbformat")
    nbclient: Any = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    assert "1 passed, 1 failed, 0 invalid" in json.dumps(notebook.cells[0]["outputs"])


GOOD = """
from harness.api import aevaluate, evaluate, evolve

report = evaluate("demo", limit=4, seed=1, skill="skills/a", out="runs/x", split="test")
rows: list[str | None] = [sample.answer for sample in report.samples]
frame = report.to_pandas()
skill: str = evolve("out", suite="demo", create="a", analyst="exemplar", gate="none").skill


async def later() -> int:
    return (await aevaluate(tasks=[{"prompt": "x"}], agent=len, model=["a", "agent=b"])).passed
"""
BAD = """
from harness.api import evaluate, evolve

evaluate("demo", limt=4)
evaluate("demo", limit="many")
evaluate("demo", split="tests")
evolve("out", analyst="clever")
evolve("out", creat="x")
"""


def test_a_type_checker_knows_every_setting(repository: Path, tmp_path: Path) -> None:
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(repository)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    for name, text in (("good.py", GOOD), ("bad.py", BAD)):
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "-p", str(tmp_path),
         "--pythonpath", sys.executable],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    faults = [
        (Path(row["file"]).name, row["range"]["start"]["line"])
        for row in json.loads(done.stdout)["generalDiagnostics"]
        if row["severity"] == "error"
    ]
    assert sorted(set(faults)) == [("bad.py", line) for line in range(3, 8)], done.stdout
