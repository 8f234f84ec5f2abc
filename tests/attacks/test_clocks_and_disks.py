"""Hostile clocks and disks: time that runs back, syncs and renames that fail in mid-run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from harness.core import Unreachable
from harness.core.rundir import RunReader
from harness.evals import records
from harness.evals.control import read_status
from harness.models import CallStore
from tests.attacks.running import command, in_time, suite_of
from tests.models.http_server import Served, completion, serve

TASKS = 12
BACK = """
import time
real, calls = time.time, [0]
def back():
    calls[0] += 1
    return real() - {ahead} - 3600 * (calls[0] > {after})
time.time = back
time.time_ns = lambda: int(back() * 1e9)
"""
FAILING = """
import errno, os
real, calls = os.{name}, [0]
def failing(*arguments, **options):
    calls[0] += 1
    if calls[0] > {after}:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return real(*arguments, **options)
os.{name} = failing
"""
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int calls;
static int fails(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (strstr(path, "calls.sqlite") == 0 || ++calls <= AFTER) return 0;
    errno = EIO;
    return 1;
}
int fsync(int fd) { return fails(fd) ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd); }
int fdatasync(int fd) { return fails(fd) ? -1 : ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd); }
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    rows = [{"id": f"t{n}", "prompt": f"p{n}", "answer": "1"} for n in range(TASKS)]
    return suite_of(tmp_path / "suite", rows, max_turns=1)


def evaluated(
    suite: Path, server: Served, *more: str | Path, code: str = "", preload: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the suite; where there is such a thing, in a process that runs `code` first."""
    words = ("eval", suite, "--sandbox", "none", "--model", "openai/m", "--concurrency", "2",
             "--base-url", server.url, "--json", *more)  # fmt: skip
    if not code and preload is None:
        return in_time(*words)
    hook = suite.parent / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(code)
    env = {"PYTHONPATH": os.pathsep.join(filter(None, [str(hook), os.environ.get("PYTHONPATH")]))}
    env |= {"LD_PRELOAD": str(preload)} if preload else {}
    return command(*words, env=env)


def holds(run: Path, server: Served) -> None:
    """The run is whole: every task passed once, and no reply was paid for twice."""
    reader = RunReader(run)
    assert sorted(item.id for item in records(run)) == sorted(f"t{n}" for n in range(TASKS))
    assert {item.outcome for item in records(run)} == {"pass"}
    assert len([*reader.trajectories()]) == TASKS
    with CallStore(run / "calls.sqlite") as calls:
        assert len(calls.answered()) == TASKS


def test_clock_set_back(suite: Path, tmp_path: Path) -> None:
    """The clock goes back by an hour in mid-run, and by another hour before the run is resumed."""
    run = tmp_path / "run"
    with serve(lambda _: completion("1"), delay_s=0.05) as server:
        done = evaluated(suite, server, "--out", run, "--budget-calls", "6",
                         code=BACK.format(ahead=0, after=20))  # fmt: skip
        assert done.returncode == 3, done.stderr[-500:]
        done = evaluated(suite, server, "--resume", run, code=BACK.format(ahead=7200, after=5))
        assert done.returncode == 0, done.stderr[-500:]
    holds(run, server)
    assert len(server.bodies) == TASKS
    report = json.loads(done.stdout)
    seconds = [item.usage.seconds for item in records(run)]
    assert all(0 < taken < 100 for taken in [*seconds, report["seconds"]])
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    with CallStore(run / "calls.sqlite") as calls:
        stored = [call.body["messages"][-1]["content"] for call in calls.answered()]
        assert all(call.usage.seconds > 0 for call in calls.answered())
    assert stored[:6] == asked[:6] or sorted(stored[:6]) == sorted(asked[:6])


def test_clock_set_back_after_death(tmp_path: Path) -> None:
    """The clock was set back after a runner died: its last sign of life lies in the future."""
    (tmp_path / "run.json").write_text("{}")
    status: dict[str, Any] = {
        "pid": 1, "updated": time.time() + 3600, "paused": False, "concurrency": 1, "total": 1,
        "passed": 0, "failed": 0, "invalid": 0, "waiting": 1, "running": {}, "tokens": 0,
        "cost_usd": None,
    }  # fmt: skip
    (tmp_path / "status.json").write_text(json.dumps(status))
    with pytest.raises(Unreachable, match="was killed or stopped"):
        read_status(tmp_path)


@pytest.mark.parametrize("after", [pytest.param(2, marks=pytest.mark.full), 5])
@pytest.mark.parametrize("name", ["fsync", "rename", "replace"])
def test_disk_fails(name: str, after: int, suite: Path, tmp_path: Path) -> None:
    """`fsync` or `rename` fails with an input/output error in mid-run, and on every later try."""
    run = tmp_path / "run"
    with serve(lambda _: completion("1"), delay_s=0.15) as server:
        code = FAILING.format(name=name, after=after)
        done = evaluated(suite, server, "--out", run, code=code)
        assert done.returncode in (0, 2), done.stderr[-500:]
        assert "Traceback" not in done.stderr and "fault of ours" not in done.stderr
        if done.returncode:
            assert "cannot" in done.stderr and "Input/output error" in done.stderr
        if (run / "run.json").exists():
            done = evaluated(suite, server, "--resume", run)
        else:
            done = evaluated(suite, server, "--out", run)
        assert done.returncode == 0, done.stderr[-500:]
    holds(run, server)
    assert len(server.bodies) <= TASKS + 2, "what was in flight at most is asked for again"


@pytest.mark.parametrize("after", [pytest.param(0, marks=pytest.mark.full), 8])
def test_database_sync_fails(after: int, suite: Path, tmp_path: Path) -> None:
    """The sync of the database of calls fails in mid-run, when replies are paid for."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for the library that fails")
    (tmp_path / "shim.c").write_text(SHIM)
    shim = tmp_path / "shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", f"-DAFTER={after}", "-o", str(shim),
                    str(tmp_path / "shim.c"), "-ldl"], check=True)  # fmt: skip
    run = tmp_path / "run"
    with serve(lambda _: completion("1"), delay_s=0.05) as server:
        done = evaluated(suite, server, "--out", run, preload=shim)
        assert done.returncode == 2, done.stderr[-500:]
        assert "cannot use the call store" in done.stderr and "disk I/O error" in done.stderr
        assert "Traceback" not in done.stderr
        more = ["--resume", run] if (run / "run.json").exists() else ["--out", run]
        done = evaluated(suite, server, *more)
        assert done.returncode == 0, done.stderr[-500:]
    holds(run, server)
    assert len(server.bodies) <= TASKS + 2
