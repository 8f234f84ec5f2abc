"""A run folder or a call store that is damaged is named, with exit code 2."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.core import BadInput, Usage
from harness.core.rundir import RunReader, RunWriter
from harness.evals import read_report
from harness.evals.plan import read_parts
from harness.models import CallStore
from harness.models.calls import StoredCall
from harness.models.replay import open_recording

LOCK = {"kind": "eval", "suite": "s", "model": "m", "simulated": False, "skill_name": None}


@pytest.mark.parametrize("text", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_a_lock_that_is_none_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(BadInput, match=r"run\.json"):
        RunReader(tmp_path)
    with pytest.raises(BadInput, match=r"run\.json"):
        RunWriter(tmp_path, LOCK)


@pytest.mark.parametrize("record", [{}, [1], {"id": "a", "outcome": "odd"}, {"id": []}, 7])
def test_a_record_that_is_none_is_named(tmp_path: Path, record: object) -> None:
    with RunWriter(tmp_path, LOCK) as run:
        run.append_item(record)  # pyright: ignore[reportArgumentType]  # as a stranger may
    with pytest.raises(BadInput, match="is damaged"):
        read_report(tmp_path)


def test_parts_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "parts.json").write_text('[{"shared": 1}]')
    with pytest.raises(BadInput, match=r"parts\.json"):
        read_parts(tmp_path)


@pytest.mark.parametrize("change", ["response = x'00'", "request = 7", "usage = '[]'"])
def test_a_stored_call_that_is_none_is_named(tmp_path: Path, change: str) -> None:
    path = tmp_path / "calls.sqlite"
    call = StoredCall(
        call_id="d", role="agent", kind="chat", body={"model": "m"}, response={}, usage=Usage()
    )
    with CallStore(path) as store:
        store.put([call])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE calls SET {change}")
    with pytest.raises(BadInput, match=r"calls\.sqlite' is damaged"):
        open_recording(path)
