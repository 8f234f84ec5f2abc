"""Judging again in worker processes: the same files as in this process, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evals import Tally, records, regrade_folder
from harness.fleet import LocalExecutor
from tests.fleet.conftest import MARK
from tests.fleet.judged import contents, finished_run, judged_rows, write_suite
from tests.fleet.running import processes


def test_two_workers_leave_the_same_files_even_if_one_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = judged_rows("text", "code", "broken", "command", "table")
    run, seen, out = finished_run(tmp_path, rows), list[Tally](), tmp_path / "workers"
    monkeypatch.setenv(MARK, str(tmp_path))

    def watch(tally: Tally) -> None:
        seen.append(replace(tally))
        if tally.done == 8:
            killed = processes("multiprocessing.spawn", f"{MARK}={tmp_path}")
            os.kill(killed[0], signal.SIGKILL)

    spread = regrade_folder(
        run, out, None, "auto", trust_checks=False, executor=LocalExecutor(2), on_progress=watch
    )
    alone = regrade_folder(run, tmp_path / "alone", None, "auto", trust_checks=False)
    assert contents(out) == contents(tmp_path / "alone")
    assert spread.model_copy(update={"after": alone.after}) == alone
    assert spread.graded == 30
    assert [tally.done for tally in seen] == list(range(1, 31))
    assert seen[-1].usage.tokens == 0
    after = {item.id: item for item in records(out)}
    assert after["code4@1"].reason == "sees the file outside: False"
    assert after["broken4"].reason.endswith("ended with exit code 1: no opinion")
    assert [after[f"command{n}"].outcome for n in (3, 4, 5)] == ["fail", "pass", "fail"]
    assert {after[f"table{n}"].outcome for n in (4, 5)} == {"pass"}


def test_the_first_answer_that_cannot_be_judged_is_named_whoever_is_quicker(tmp_path: Path) -> None:
    rows = judged_rows("text")
    run = finished_run(tmp_path, rows)
    rows[0]["check"], rows[2]["check"] = "checks/slow.py:judge", "checks/missing.py:judge"
    write_suite(tmp_path / "suite", rows)
    (tmp_path / "suite" / "checks" / "slow.py").write_text("import time\ntime.sleep(0.4)\n")
    said: list[str] = []
    for executor in (None, LocalExecutor(2)):
        with pytest.raises(BadInput, match="slow") as error:
            regrade_folder(
                run, tmp_path / "out", None, "auto", trust_checks=True, executor=executor
            )
        said.append(str(error.value))
        assert not (tmp_path / "out").exists()
    assert said[0] == said[1]


def test_workers_that_do_not_judge_import_nothing_of_it() -> None:
    script = (
        "import sys, harness.fleet.bulk\n"
        "print([name for name in sys.modules if name.startswith(('harness.evals.', 'pydantic.'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
