"""Each attempt at a task has a seed of its own, whoever's client asks the model; runs with several
attempts a task, or with tasks that taught the skill, are compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.cli.runs import _comparison_text as comparison_text  # pyright: ignore[reportPrivateUsage]
from harness.evals.comparison import compare_results
from harness.evals.report import ItemRecord, Results
from harness.stats import detectable_lift, required_tasks
from tests.models.http_server import completion, serve

CURL = (
    "cmd:sh -c 'curl -sf $OPENAI_BASE_URL/chat/completions "
    '-H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" '
    '-d "{\\"model\\": \\"m\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": '
    '\\"hello\\"}]}" > /dev/null || exit 7; echo 4\''
)


@pytest.mark.parametrize("agent", [None, CURL])
def test_the_seeds_of_epochs_reach_the_model(agent: str | None, tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(2)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serve(lambda _body: completion("4")) as served:
        settings = EvalSettings(
            suite=str(tmp_path / "s.jsonl"), out=tmp_path / "run", sandbox="none", agent=agent,
            models=("openai/scripted",), base_url=served.url, epochs=3, seed=7,
        )  # fmt: skip
        report = run_evaluation(settings)[0]
        seeds = Counter(body["seed"] for body in served.bodies)
    assert (report.items, report.passed) == (6, 6)
    # With one seed for all tasks, an engine would draw alike for all of them.
    assert len(seeds) == 6
    assert set(seeds.values()) == {1}


def results(name: str, passes: dict[str, list[bool]], taught: tuple[str, ...] = ()) -> Results:
    """A run whose tasks passed and failed as they are listed."""
    lock = {"model": "m", "simulated": False, "suite": "s", "skill_name": None}
    items = [
        ItemRecord(id=f"{task}@{epoch}", task_id=task, epoch=epoch, value=float(ok),
                   outcome="pass" if ok else "fail")
        for task, row in passes.items() for epoch, ok in enumerate(row)
    ]  # fmt: skip
    return Results(name, lock, items, taught=taught)


def test_several_attempts_a_task_show_smaller_differences() -> None:
    before = results("before", {f"t{n}": [n % 2 == 0, False] for n in range(40)})
    after = results("after", {f"t{n}": [n % 2 == 0, n < 20] for n in range(40)})
    found = compare_results(before, after)
    assert (found.paired.discordance, found.paired.squared) == (0.5, 0.125)
    once = detectable_lift(40, 0.5)
    assert found.detectable is not None and once is not None and found.detectable < once * 0.55
    assert found.detectable == detectable_lift(40, 0.5, squared=0.125)
    assert required_tasks(found.detectable, 0.5, squared=0.125) in (40, 41)
    assert "as 50% of the tasks' rates change" in comparison_text(found)
    single = [results(run.name, {i.task_id: [i.outcome == "pass"] for i in run.items[1::2]})
              for run in (before, after)]  # fmt: skip
    once_each = compare_results(single[0], single[1])
    assert once_each.paired.squared is None
    assert "as 50% of the results change" in comparison_text(once_each)


def test_tasks_that_taught_the_skill_are_told_from_the_others() -> None:
    rows = {f"t{n}": [n < 2] for n in range(12)}
    before = results("before", rows)
    taught = tuple(f"t{n}" for n in range(2, 6))
    after = results("after", rows | {name: [True] for name in taught}, taught)
    found = compare_results(before, after)
    assert found.paired.difference == 4 / 12
    assert found.held_out is not None and found.held_out.difference == 0
    said = comparison_text(found)
    assert (
        "4 of these tasks taught the skill" in said and "on the 8 others: difference +0.0%" in said
    )
    assert compare_results(before, before).held_out is None
    every = compare_results(before, results("after", rows, tuple(rows)))
    assert "on the 0 others: none is left" in comparison_text(every)
