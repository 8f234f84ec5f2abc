"""Re-execution of recorded runs: real code, in the real sandbox, on real workbooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from harness.core import AgentInfo, BadInput, Step, Task, Trajectory
from harness.evals.reexecution import ReexecutionReport, RunResult, plan_run, reexecute
from harness.sandbox import Sandbox, select
from harness.tasks import find_soffice, load_spreadsheetbench
from harness.trajectories import open_trajectories

RUNS = "data/dev/spreadsheet_trajectories_qwen35_122b.jsonl"
TASKS = "data/dev/spreadsheetbench_tasks.jsonl"
# Of both labels, cheap, one that needs a name which an earlier reply imported (333-29).
FEW = ("17-35", "267-18", "333-29", "41-47", "433-47", "438-18")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return select("auto")


def write_book(path: Path, **cells: int | str) -> Path:
    book = Workbook()
    sheet = book.worksheets[0]
    for name, value in cells.items():
        sheet[name] = value
    book.save(path)
    return path


def recorded(*replies: str, outcome: str = "pass") -> Trajectory:
    prompt = "### spreadsheet_path\n/mnt/d/in/1.xlsx\n\n### output_path\n/mnt/d/out/1.xlsx\n"
    steps = [Step(step_id=1, source="user", message=prompt)]
    for number, reply in enumerate(replies, start=2):
        steps.append(Step(step_id=number, source="agent", message=reply))
    return Trajectory(
        trajectory_id="one",
        agent=AgentInfo(name="a", version="1"),
        steps=tuple(steps),
        extra={"harness": {"task_id": "one", "outcome": outcome}},
    )


def fence(code: str) -> str:
    return f"Now.\n```python\n{code}\n```\nDone."


def task(folder: Path) -> Task:
    return Task(
        id="one",
        prompt="p",
        files={"input.xlsx": str(write_book(folder / "in.xlsx", A1=2))},
        answer=str(write_book(folder / "gold.xlsx", A1=2, B1=4)),
        check="spreadsheet",
        meta={"answer_position": "A1:B1"},
    )


def run_one(folder: Path, sandbox: Sandbox, run: Trajectory, **options: Any) -> RunResult:
    options = {"recalc": "off", "timeout_s": 60.0} | options
    return reexecute([run], [task(folder)], sandbox=sandbox, **options).runs[0]


LOAD = fence("import openpyxl\nb = openpyxl.load_workbook('/mnt/d/in/1.xlsx')")
SAVE = fence("b.active['B1'] = 4\nb.save('/mnt/d/out/1.xlsx')")


def test_replies_share_a_namespace_and_survive_exceptions(tmp_path: Path, sandbox: Sandbox) -> None:
    found = run_one(tmp_path, sandbox, recorded(LOAD, fence("1 / 0"), fence("exit(3)"), SAVE))
    assert (found.comparable, found.without_recalc, found.agrees) == (True, True, True)
    assert found.errors == 2


def test_a_wrong_label_is_found(tmp_path: Path, sandbox: Sandbox) -> None:
    found = run_one(tmp_path, sandbox, recorded(LOAD, SAVE, outcome="fail"))
    assert found.without_recalc is True
    assert found.agrees is False


def test_formulas_count_only_after_recalculation(tmp_path: Path, sandbox: Sandbox) -> None:
    if find_soffice() is None:
        pytest.skip("LibreOffice is absent")
    formula = fence("b.active['B1'] = '=A1*2'\nb.save('/mnt/d/out/1.xlsx')")
    found = run_one(tmp_path, sandbox, recorded(LOAD, formula), recalc="both")
    assert (found.with_recalc, found.without_recalc) == (True, False)
    assert found.agrees is True


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('nothing')", "no output file"),
        ("while True: pass", "stopped: "),
        ("import os\nos._exit(7)", "exit code 7"),
        ("import os\nos.symlink('/etc/passwd', '/mnt/d/out/1.xlsx')", "is a link"),
    ],
)
def test_what_cannot_be_compared_says_why(
    tmp_path: Path, sandbox: Sandbox, code: str, reason: str
) -> None:
    found = run_one(tmp_path, sandbox, recorded(fence(code)), timeout_s=3.0)
    assert not found.comparable
    assert found.agrees is None
    assert reason in found.reason


def test_only_the_first_fence_of_a_reply_runs() -> None:
    plan = plan_run(recorded("no code", fence("a") + "\n" + fence("b"), fence("c")))
    assert plan.codes == ("a\n", "c\n")
    assert (plan.root, plan.input, plan.output) == ("/mnt/d", "in/1.xlsx", "out/1.xlsx")


def test_runs_without_paths_or_task_are_listed(tmp_path: Path, sandbox: Sandbox) -> None:
    bare = Trajectory(
        trajectory_id="bare",
        agent=AgentInfo(name="a", version="1"),
        steps=(Step(step_id=1, source="user", message="hello"),),
    )
    report = reexecute([bare, recorded(SAVE)], [], sandbox=sandbox, recalc="off")
    assert [run.comparable for run in report.runs] == [False, False]
    assert "names no spreadsheet_path" in report.runs[0].reason
    assert "no task 'one'" in report.runs[1].reason


def test_a_folder_in_use_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "kept.txt").write_text("x")
    with pytest.raises(BadInput, match="empty or new folder"):
        reexecute([], [], sandbox=sandbox, recalc="off", out=tmp_path)


def test_an_interpreter_that_does_not_start_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    with pytest.raises(BadInput, match="Python interpreter"):
        reexecute([], [], sandbox=sandbox, recalc="off", python=tmp_path / "python")


def test_few_recorded_runs_reproduce_their_labels(shared: Path, sandbox: Sandbox) -> None:
    runs = [run for run in open_trajectories(shared / RUNS) if run.trajectory_id in FEW]
    tasks = load_spreadsheetbench(shared / TASKS)
    report = reexecute(runs, tasks, sandbox=sandbox, recalc="off")
    assert {run.id: run.agrees for run in report.runs} == dict.fromkeys(FEW, True)
    assert {run.label for run in report.runs} == {"pass", "fail"}


def test_command(shared: Path, tmp_path: Path) -> None:
    row = next(r for r in (shared / RUNS).read_text("utf-8").splitlines() if '"438-18"' in r)
    (tmp_path / "runs.jsonl").write_text(row + "\n", "utf-8")
    command = [sys.executable, "-m", "harness", "trajectories", "replay"]
    command += [str(tmp_path / "runs.jsonl"), "--tasks", str(shared / TASKS)]
    command += ["--recalc", "off", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found = ReexecutionReport.model_validate(json.loads(answer.stdout))
    assert (found.comparable, found.reproduced_without_recalc) == (1, 1)
    assert found.reproduced_with_recalc is None


@pytest.mark.full
def test_every_third_recorded_run_reproduces_its_label(shared: Path, sandbox: Sandbox) -> None:
    """All 113: `benchmarks/evals/replay.py`; 107 are comparable with pandas 3, all reproduced."""
    rows = [json.loads(line) for line in (shared / RUNS).read_text("utf-8").splitlines()][::3]
    runs = list(open_trajectories(shared / RUNS))[::3]
    report = reexecute(runs, load_spreadsheetbench(shared / TASKS), sandbox=sandbox, timeout_s=60.0)
    assert len(runs) == 38 and report.comparable >= 35
    assert report.reproduced_with_recalc == report.comparable
    assert all(run.reason for run in report.runs if not run.comparable)
    for row, run in zip(rows, report.runs, strict=True):
        expected = row["_replay"]["label_matches_with_libreoffice_recalc"]
        if expected is not None:
            assert (run.id, run.agrees) == (row["id"], expected)
            without = run.without_recalc == (run.label == "pass")
            assert (run.id, without) == (row["id"], row["_replay"]["label_matches_without_recalc"])
