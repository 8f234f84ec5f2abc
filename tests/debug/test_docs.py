"""The Python examples of the pages on checkpoints and the debugger."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.checkpoints import open_store
from harness.core.trajectory import Trajectory
from tests.checkpoints.graphs import talk

TRAJECTORY = Trajectory.model_validate(
    {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": "t",
        "agent": {"name": "a", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Go."},
            {"step_id": 2, "source": "agent", "message": "Gone.",
             "metrics": {"prompt_tokens": 900, "completion_tokens": 200}},
            {"step_id": 3, "source": "agent", "message": "Done."},
        ],
    }
)  # fmt: skip


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def run(example: str, names: dict[str, Any]) -> None:
    exec(compile(example, "example", "exec"), names)  # noqa: S102  # our own pages


def test_the_store_as_its_page_shows_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = examples(repository / "docs/concepts/checkpoints.md")
    run(example.replace('{"messages": []}', '{"messages": [], "turn": 0}'), {"builder": talk(2)})
    with open_store(tmp_path / "checkpoints.sqlite") as store:
        assert "2" in {
            row.config.get("configurable", {}).get("thread_id") for row in store.list(None)
        }


def test_a_trajectory_played_back_as_the_page_shows_it(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = examples(repository / "docs/concepts/debugger.md")
    run(example, {"trajectory": TRAJECTORY})
    assert capsys.readouterr().out.startswith("breakpoint {'step_id': 2")
