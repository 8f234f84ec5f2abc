"""A suite of two kinds of tasks, and runs at some of them that passed by a program."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.core import AgentInfo, Step, ToolCall, Trajectory

REGIONS = ("East", "West", "North")
SUM = """import csv
total = 0
with open('{file}') as handle:
    for row in csv.DictReader(handle):
        if row['Region'] == '{region}':
            total += int(row['{column}'])
if __name__ == '__main__':
    print(total)
"""
COUNT = "text = open('{file}').read().split()\nprint(text.count('{word}'))\n"


def write_suite(
    folder: Path, splits: Mapping[str, int] = MappingProxyType({"train": 6, "test": 2})
) -> dict[str, str]:
    """A suite with so many tasks of either kind by split; the program that solves each task."""
    folder.mkdir()
    programs: dict[str, str] = {}
    rng = random.Random(7)
    for split, count in splits.items():
        rows: list[dict[str, object]] = []
        for number in range(count):
            names = {"file": f"{split}{number}.csv", "column": ("Amount", "Price")[number % 2]}
            names["region"] = REGIONS[number % 3]
            table = [(rng.choice(REGIONS), rng.randint(1, 90)) for _ in range(12)]
            lines = [f"Region,{names['column']}", *(f"{a},{b}" for a, b in table)]
            (folder / names["file"]).write_text("\n".join(lines) + "\n")
            rows.append(
                {
                    "id": f"{split}-sum-{number}",
                    "prompt": "In {file}, what is the sum of the column '{column}' for the rows "
                    "whose 'Region' is '{region}'? Print the number alone.".format(**names),
                    "files": {names["file"]: names["file"]},
                    "answer": str(sum(b for a, b in table if a == names["region"])),
                }
            )
            programs[f"{split}-sum-{number}"] = SUM.format(**names)
            words = [rng.choice(("apple", "pear", "plum")) for _ in range(20)]
            names = {"file": f"{split}{number}.txt", "word": ("apple", "pear")[number % 2]}
            (folder / names["file"]).write_text(" ".join(words))
            rows.append(
                {
                    "id": f"{split}-count-{number}",
                    "prompt": "How many times does the word '{word}' occur in {file}?".format(
                        **names
                    ),
                    "files": {names["file"]: names["file"]},
                    "answer": str(words.count(names["word"])),
                }
            )
            programs[f"{split}-count-{number}"] = COUNT.format(**names)
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(
        "name: small\nagent: graph:program\ntools: [python]\n"
        f"tasks: {{{', '.join(f'{split}: {split}.jsonl' for split in splits)}}}\n"
    )
    return programs


def write_runs(folder: Path, suite: Path, programs: dict[str, str]) -> None:
    """A run at every train task: those with a program passed by it."""
    folder.mkdir()
    for line in (suite / "train.jsonl").read_text().splitlines():
        task = json.loads(line)
        code = programs.get(task["id"])
        call = ToolCall(tool_call_id="1", function_name="python", arguments={"code": code or ""})
        ending = Step(step_id=2, source="agent", message="", tool_calls=(call,) if code else None)
        run = Trajectory(
            trajectory_id=task["id"],
            agent=AgentInfo(name="program", version="0"),
            steps=(Step(step_id=1, source="user", message=task["prompt"]), ending),
            extra={
                "harness": {
                    "task_id": task["id"],
                    "task": {"prompt": task["prompt"]},
                    "outcome": "pass" if code else "fail",
                }
            },
        )
        (folder / f"{task['id']}.json").write_text(run.model_dump_json(exclude_none=True))


@pytest.fixture
def suite(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    folder = tmp_path / "suite"
    return folder, write_suite(folder)
