"""Runs and an evolution on disk as the commands leave them, for the page to show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.core import AgentInfo, Step, Trajectory, Usage
from harness.core.rundir import RunWriter
from harness.core.trajectory import Observation, ObservationResult, ToolCall
from harness.evals import ItemRecord
from harness.evolve import EvolveSettings, run_evolution
from tests.debug.web.agent import HOSTILE

QUOTE = "I take  each row\nwhatever became of it."
LESSON = "Leave orders that were cancelled out of every sum."
CODE = "import csv\nrows = list(csv.reader(open('orders.csv')))"


def lock(**changed: Any) -> dict[str, Any]:
    """Return the lock of a run of the suite `orders`."""
    fixed: dict[str, Any] = {
        "kind": "eval",
        "suite": "orders",
        "split": "test",
        "tasks": "5" * 64,
        "skill": None,
        "skill_name": None,
        "agent": "cmd:clerk",
        "model": "simulated/orders",
        "simulated": True,
        "limit": None,
    }
    return {**fixed, **changed}


def attempt(name: str, outcome: str, asked: str, said: str) -> Trajectory:
    """A tool call, its result, and an answer in front of which stands a thought."""
    call = ToolCall(tool_call_id="c1", function_name="python", arguments={"code": CODE})
    result = ObservationResult(source_call_id="c1", content=f"14 rows {HOSTILE}")
    return Trajectory(
        trajectory_id=name,
        agent=AgentInfo(name="clerk", version="1"),
        steps=(
            Step(step_id=1, source="user", message=asked),
            Step(
                step_id=2,
                source="agent",
                message="I read the file.\n\n```python\nprint(rows)\n```\n\nNow I know.",
                tool_calls=(call,),
                observation=Observation(results=(result,)),
            ),
            Step(step_id=3, source="agent", message="42.", reasoning_content=said),
        ),
        extra={"harness": {"task_id": name, "task": {"prompt": asked}, "outcome": outcome}},
    )


def write_run(path: Path, outcomes: dict[str, str], said: str = QUOTE, **changed: Any) -> Path:
    """A finished run; task `t3` asks about bananas."""
    with RunWriter(path, lock(**changed)) as run:
        for name, outcome in outcomes.items():
            fruit = "bananas" if name == "t3" else "apples"
            asked = f"How many {fruit} were ordered in {name}? {HOSTILE}"
            trajectory = attempt(name, outcome, asked, said)
            run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
            item = ItemRecord.model_validate(
                {
                    "id": name,
                    "task_id": name,
                    "outcome": outcome,
                    "value": float(outcome == "pass"),
                    "reason": "" if outcome == "pass" else f"expected 7, got 42 {HOSTILE}",
                    "answer": "42",
                    "usage": Usage(
                        calls=2, prompt_tokens=90, completion_tokens=10, seconds=1.5 + int(name[1:])
                    ),
                }
            )
            run.append_item(item.model_dump(mode="json"))
    return path


def write_long_sample(path: Path) -> Path:
    """A run of one sample whose twenty answers are a megabyte of Markdown."""
    table = "| fruit | **sum** |\n|---|---|\n| apples | `7` |\n\nThe total is 42, as it says.\n\n"
    said = table * (50_000 // len(table))
    steps = tuple(Step(step_id=n, source="agent", message=said) for n in range(1, 21))
    about = AgentInfo(name="clerk", version="1")
    trajectory = Trajectory(trajectory_id="t1", agent=about, steps=steps)
    item = ItemRecord(id="t1", task_id="t1", outcome="pass", value=1.0, answer=said)
    with RunWriter(path, lock()) as run:
        run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
        run.append_item(item.model_dump(mode="json"))
    return path


def write_evolution(out: Path, *, inside: bool = True) -> Path:
    """An evolution from four failures, all quoting one thought.

    Args:
        out: its folder.
        inside: whether its runs lie in it, as those of `evolve --suite` do.
    """
    names = [f"t{number}" for number in range(4)]
    folder = out / "runs" / "train" if inside else out.with_name(out.name + "-read")
    runs = write_run(folder, dict.fromkeys(names, "fail"), split="train", tasks="7" * 64)
    rows = [
        {
            "trajectory_id": name,
            "_task_id": name,
            "_run": "r1",
            "analyst_type": "error",
            "root_cause": f"Cancelled rows were added. {HOSTILE}",
            "memory_items": [{"title": "Cancelled", "lesson": LESSON, "generalization": ""}],
            "evidence": [QUOTE, "It was careless in its own way."],
            "edits": [],
        }
        for name in names
    ]
    patches = out.parent / "patches.jsonl"
    patches.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_evolution(
        EvolveSettings(
            out=out, trajectories=runs, patches=patches, create="order-desk", sandbox="none"
        )
    )
    return out


def write_world(root: Path) -> Path:
    """Two arms of one suite, an evolution, and a run of another version."""
    names = [f"t{number}" for number in range(12)]
    plain = {name: "fail" if number % 3 else "pass" for number, name in enumerate(names)}
    taught = {**plain, "t1": "pass", "t2": "pass", "t11": "invalid"}
    write_run(root / "eval-baseline", plain)
    write_run(root / "eval", taught, skill="a" * 64, skill_name="order-desk")
    old = root / "old"
    old.mkdir()
    (old / "run.json").write_text('{"schema_version": 99}', encoding="utf-8")
    write_evolution(root / "evolved")
    return root
