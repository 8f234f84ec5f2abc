"""Files left in an agent's work folder end its own attempt at most, and show no secret."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.core import BadInput, Task
from harness.core.rundir import RunReader
from harness.evals import records
from harness.evals.pool import Finished, Pool
from harness.sandbox import preferred, probe_backends

PLANTS = {
    "environ": "import os; os.symlink('/proc/self/environ', 'answer.txt')",
    "key": "import os; os.symlink({key!r}, 'answer.txt')",
    "pipe": "import os; os.mkfifo('answer.txt')",
    "size": "open('answer.txt', 'wb').truncate(400_000_000)",
    "folder": "import os; os.mkdir('answer.txt')",
    "nested": "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nprint(1)",
    "locked": "import os; os.makedirs('a/b'); os.chmod('a', 0o300); print(1)",
    "honest": "print(1)",
}


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite whose agent runs the plant that its prompt names, in the sandbox."""
    if preferred(probe_backends()) is None:
        pytest.skip("no sandbox here")
    (tmp_path / "id_key").write_text("SECRET OF THE HOST")
    monkeypatch.setenv("HOST_TOKEN", "SECRET OF THE HOST")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    folder = tmp_path / "suite"
    folder.mkdir()
    for name, code in PLANTS.items():
        (folder / f"{name}.py").write_text(code.format(key=str(tmp_path / "id_key")))
    rows = [{"id": name, "prompt": name, "answer": "1"} for name in PLANTS]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    agent = "cmd:sh -c 'exec python3 -I -S {suite}/$1.py' sh {prompt}"
    (folder / "suite.yaml").write_text(f"name: s\ntasks: tasks.jsonl\nagent: {json.dumps(agent)}\n")
    return folder


def test_every_plant_costs_its_own_attempt_alone(suite: Path, tmp_path: Path) -> None:
    settings = EvalSettings(
        suite=str(suite / "suite.yaml"), out=tmp_path / "run", models=("openai/x",),
        base_url="http://127.0.0.1:9/v1",
    )  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for fields in (settings, settings.model_copy(update={"out": None, "resume": settings.out})):
        (report,) = run_evaluation(fields)
        assert report.items == len(PLANTS)
        items = {item.id: item for item in records(tmp_path / "run")}
        assert items["honest"].outcome == "pass"
        # The last three print their answer; folders without end may count as too much.
        for name in ("environ", "key", "pipe", "size", "folder"):
            assert items[name].outcome == "invalid" and "answer.txt" in items[name].reason
        assert list((tmp_path / "run" / "work").iterdir()) == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
    stored = json.dumps([*RunReader(tmp_path / "run").trajectories()])
    stored += json.dumps([item.model_dump(mode="json") for item in records(tmp_path / "run")])
    assert "SECRET OF THE HOST" not in stored


def test_a_fault_in_an_attempt_ends_no_other_one_and_bad_input_ends_the_run() -> None:
    class Broken:
        limits = slots = None

        async def run(self, task: Task, epoch: int) -> Finished:
            raise {"r": RecursionError("deep"), "b": BadInput("no such file")}[task.prompt]

    async def reasons(*prompts: str) -> list[str]:
        tasks = [(Task(id=str(n), prompt=prompt), 0) for n, prompt in enumerate(prompts)]
        pool = Pool(Broken(), tasks, 2)  # pyright: ignore[reportArgumentType]
        return [item.reason async for item, _ in pool.results()]

    assert asyncio.run(reasons("r", "r")) == ["fault in the attempt: RecursionError: deep"] * 2
    with pytest.raises(BadInput, match="no such file"):
        asyncio.run(reasons("b"))
