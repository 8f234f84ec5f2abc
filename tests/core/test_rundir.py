"""The run directory: one writer, resumable, locked to what it depends on."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.core.rundir import RunReader, RunWriter
from harness.models import CallStore


def test_resume_needs_the_same_lock(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", {"tasks": "a", "seed": 1}) as run:
        run.append_item({"id": "1"})
    with RunWriter(tmp_path / "r", {"tasks": "a", "seed": 1}) as run:
        assert [row["id"] for row in run.items()] == ["1"]
    with pytest.raises(BadInput, match="other seed"):
        RunWriter(tmp_path / "r", {"tasks": "a", "seed": 2})


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from harness.core import BadInput\n"
        "from harness.core.rundir import RunWriter\n"
        "try:\n    RunWriter(Path(sys.argv[1]), {})\n"
        "except BadInput as error:\n    print(error)\n"
    )
    with RunWriter(tmp_path / "r", {}):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "r")],
            capture_output=True,
            text=True,
            check=True,
        )
    assert "another process is writing" in done.stdout


def test_no_run_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run at"):
        RunReader(tmp_path)


def test_an_unknown_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema_version": 99}')
    with pytest.raises(BadInput, match="schema 99"):
        RunReader(tmp_path)


def test_a_run_folder_is_its_owners_alone(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "one"
    with RunWriter(run, {"a": 1}) as writer:
        writer.append_item({"id": "x"})
    with CallStore(run / "calls.sqlite"):
        pass
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [run, *run.iterdir()]}
    assert modes.pop("one") == 0o700
    assert set(modes) >= {"run.json", "items.seg", "trajectories.seg", "calls.sqlite"}
    assert {name for name, mode in modes.items() if mode != 0o600} <= {"writer.lock"}
