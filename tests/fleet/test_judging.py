"""Judging again in worker processes: the same files as in this process, whatever dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evals.regrade import RegradeReport, regrade_folder
from harness.evals.runner import Tally
from harness.evals.session import records
from harness.fleet import LocalExecutor
from tests.fleet.judged import contents, finished_run, judged_rows, write_suite


def regraded(run: Path, name: str, workers: int, *, trust: bool = False) -> RegradeReport:
    executor = LocalExecutor(workers) if workers else None
    out = run.with_name(name)
    return regrade_folder(run, out, None, "auto", trust=trust, executor=executor)


def test_two_workers_leave_the_same_files(tmp_path: Path) -> None:
    rows = judged_rows("text", "code", "broken", "command", "table")
    run, seen = finished_run(tmp_path, rows), list[Tally]()
    alone = regraded(run, "alone", 0)
    out = tmp_path / "workers"
    spread = regrade_folder(
        run, out, None, "auto", trust=False, executor=LocalExecutor(2), on_progress=seen.append
    )
    assert contents(out) == contents(tmp_path / "alone")
    assert spread.model_copy(update={"after": alone.after}) == alone
    assert (spread.graded, seen[-1].done, seen[-1].total, seen[-1].usage.tokens) == (30, 30, 30, 0)
    after = {item.id: item for item in records(out)}
    assert after["code4@1"].reason == "sees the file outside: False"
    assert after["broken4"].reason.endswith("ended with exit code 1: no opinion")
    assert [after[f"command{n}"].outcome for n in (3, 4, 5)] == ["fail", "pass", "fail"]
    assert {after[f"table{n}"].outcome for n in (4, 5)} == {"pass"}


def test_a_worker_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    run = finished_run(tmp_path, judged_rows("text", "deadly"))
    spread = regraded(run, "workers", 1, trust=True)
    assert (tmp_path / "suite" / "checks" / "died").exists()
    alone = regraded(run, "alone", 0, trust=True)
    assert contents(tmp_path / "workers") == contents(tmp_path / "alone")
    assert spread.graded == alone.graded == 12


def test_the_first_answer_that_cannot_be_judged_is_named_whoever_is_quicker(tmp_path: Path) -> None:
    rows = judged_rows("text", "code")
    run = finished_run(tmp_path, rows)
    rows[0]["check"], rows[5]["check"] = "checks/slow.py:judge", "checks/missing.py:judge"
    write_suite(tmp_path / "suite", rows)
    (tmp_path / "suite" / "checks" / "slow.py").write_text("import time\ntime.sleep(0.4)\n")
    said: list[str] = []
    for workers in (0, 2):
        with pytest.raises(BadInput, match="slow") as error:
            regraded(run, f"out{workers}", workers, trust=True)
        said.append(str(error.value))
        assert not (tmp_path / f"out{workers}").exists()
    assert said[0] == said[1]
