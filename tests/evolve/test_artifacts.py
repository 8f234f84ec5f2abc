"""The artifact store commits many values at once, and what it says is stored is stored."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evolve.artifacts import NAME, ArtifactStore
from harness.evolve.types import AnalystRecord, Reading
from tests.evolve.conftest import trajectory


def reading(number: int) -> Reading:
    name = f"r{number}"
    return Reading(record=AnalystRecord(kind="error", trajectory_id=name, task_id=name))


def test_values_that_are_kept_at_the_same_time_share_a_transaction(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / NAME)
    commits: list[str] = []
    store._db.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)  # pyright: ignore[reportPrivateUsage]  # counts what cannot be seen otherwise

    async def keep() -> list[str]:
        return await asyncio.gather(*(store.keep(reading(number)) for number in range(200)))

    keys = asyncio.run(keep())
    assert len(commits) <= 3
    with sqlite3.connect(tmp_path / NAME) as other:
        assert other.execute("SELECT COUNT(*) FROM shelf").fetchone() == (200,)
    assert [store.get(key, Reading) for key in keys] == [reading(n) for n in range(200)]


def test_a_value_that_cannot_be_written_is_an_error_for_everyone_who_waits(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / NAME)
    store.close()

    async def keep() -> list[object]:
        tasks = (store.keep(reading(number)) for number in range(3))
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(result) for result in asyncio.run(keep())] == [BadInput] * 3


def test_trajectories_are_taken_in_and_found_again(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path / NAME)
    runs = store.take_in(trajectory(f"t{number:03}", "pass", "x") for number in range(300))
    assert [run.id for run in runs.runs] == [f"t{number:03}" for number in range(300)]
    assert [run.trajectory_id for run in store.load(runs.runs[:2])] == ["t000", "t001"]


@pytest.mark.parametrize("content", [b"no database at all, but a text that is long enough"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(BadInput, match="cannot open"):
        ArtifactStore(tmp_path / NAME)
