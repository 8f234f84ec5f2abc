"""Eval runs in worker processes: as in one process, whatever dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.core import BadInput, LimitReached, Unreachable
from harness.fleet import LocalExecutor, Tree, WorkersLost, workers
from harness.fleet.workers import Worker, value_of
from tests.fleet.running import (
    doubled,
    evaluated,
    kill_after,
    left_behind,
    processes,
    repeated,
    suite_in,
)
from tests.models.http_server import serve

MARK = "HARNESS_TEST_FLEET"
WORKER = "multiprocessing.spawn"
DEADLY = "tests.fleet.deadly:deadly"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Stands in the environment of the workers of this test alone."""
    monkeypatch.setenv(MARK, str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return f"{MARK}={tmp_path}"


def test_a_killed_worker_costs_nothing_that_was_paid_for(tmp_path: Path, mark: str) -> None:
    suite = suite_in(tmp_path / "suite", 12)
    with serve(doubled) as served:
        evaluated(suite, tmp_path / "alone", served)
    with serve(doubled, delay_s=0.3) as served:
        killer = kill_after(served, 5, WORKER, mark)
        report = evaluated(suite, tmp_path / "fleet", served, workers=2, concurrency=3)
        killer.join()
        assert not repeated(served)  # the driver waits for the answer, and its next worker gets it
        evaluated(suite, tmp_path / "fleet", served, resume=tmp_path / "fleet")
        assert len(served.bodies) == 12
    assert (report.passed, report.failed, report.invalid) == (8, 4, 0)
    assert left_behind(tmp_path / "fleet") == left_behind(tmp_path / "alone")
    assert not processes(WORKER, mark)


def test_a_budget_holds_over_all_workers(tmp_path: Path, mark: str) -> None:
    suite = suite_in(tmp_path / "suite", 12)
    with serve(doubled, delay_s=0.05) as served:
        with pytest.raises(LimitReached, match="budget of 5 calls"):
            evaluated(suite, tmp_path / "run", served, workers=2, concurrency=8, budget_calls=5)
        assert len(served.bodies) == 5
    assert len(left_behind(tmp_path / "run")[0]) == 5
    assert not processes(WORKER, mark)


def asking(*values: Any, spec: dict[str, Any] | None = None, root: Path | None = None) -> list[Any]:
    """The answers of one worker process, errors in place of those that fail."""

    async def main() -> list[Any]:
        trees = {} if root is None else {"base": Tree(root)}
        answers = list[Any]()
        async with LocalExecutor(1).open(DEADLY, spec or {}, trees) as ask:
            for value in values:
                try:
                    async with asyncio.timeout(0.3 if value in ("wait", "hang") else None):
                        answers.append(await ask(value))
                except (WorkersLost, BadInput, Unreachable, TimeoutError) as error:
                    answers.append(error)
        return answers

    return asyncio.run(main())


def test_a_worker_that_dies_or_hangs_is_replaced_and_any_other_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "GRACE_S", 0.5)
    values = ("a", "refuse", "wait", "b", "die", "c", "hang", "d")
    first, refused, left, second, lost, third, hung, fourth = asking(*values, root=tmp_path)
    assert isinstance(refused, BadInput) and str(refused) == "no such value"
    assert isinstance(lost, WorkersLost) and "3 workers died" in str(lost)
    assert isinstance(left, TimeoutError) and isinstance(hung, TimeoutError)
    assert [value[0] for value in (first, second, third, fourth)] == ["a", "b", "c", "d"]
    assert first[1] == second[1]
    assert len({first[1], third[1], fourth[1], os.getpid()}) == 4
    assert first[2] == {"base": str(tmp_path)}
    for pid in (first[1], third[1], fourth[1]):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_that_cannot_begin_says_why() -> None:
    (error,) = asking("alive", spec={"unable": True})
    assert isinstance(error, Unreachable)
    assert str(error) == "a worker cannot begin: there is no such sandbox"


def test_another_version_is_refused() -> None:
    answer = asyncio.run(Worker("0", DEADLY, {}, {}).ask("alive"))
    with pytest.raises(Unreachable, match="install the same on every node"):
        value_of(answer)
    answer = asyncio.run(Worker(harness.__version__, DEADLY, {}, {}).ask("alive"))
    assert value_of(answer)[0] == "alive"


def test_a_script_that_begins_itself_again_in_its_workers_is_told(tmp_path: Path) -> None:
    suite, script = suite_in(tmp_path / "suite", 1), tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom harness.api import EvalSettings, run_evaluation\n"
        f"run_evaluation(EvalSettings(suite={str(suite)!r}, out=Path({str(tmp_path / 'run')!r}), "
        "models=('simulated/ledger',), sandbox='none', workers=1))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'needs `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def test_workers_end_with_a_driver_that_is_killed(tmp_path: Path, mark: str) -> None:
    suite = suite_in(tmp_path / "suite", 4)
    with serve(doubled, delay_s=60) as served:
        command = [
            sys.executable, "-m", "harness", "eval", str(suite), "--out", str(tmp_path / "run"),
            "--sandbox", "none", "--model", "openai/served", "--base-url", served.url,
            "--workers", "2",
        ]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as driver:
            until = time.monotonic() + 60
            while len(served.bodies) < 2 and time.monotonic() < until:
                time.sleep(0.01)
            assert len(processes(WORKER, mark)) == 2
            driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 10
        while processes(WORKER, mark) and time.monotonic() < until:
            time.sleep(0.05)
        assert not processes(WORKER, mark)
