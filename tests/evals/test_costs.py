"""Estimates of a run's cost before any call."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvalSettings, plan_evaluation, run_evaluation
from harness.core import Task
from harness.evals import records, shown_in, shown_warning, taught_by
from tests.models.http_server import Answer, completion, serve


def settings(folder: Path, tasks: int = 6, **fields: Any) -> EvalSettings:
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(tasks)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given: dict[str, Any] = {"models": ("openai/gpt-4.1-mini",), "out": folder / "runs" / "next"}
    return EvalSettings(suite=str(folder / "s.jsonl"), sandbox="none", **{**given, **fields})


def estimated(found: EvalSettings) -> dict[str, Any]:
    return plan_evaluation(found)["estimate"][0]


def test_without_an_earlier_run_prompts_are_counted_and_it_is_said(tmp_path: Path) -> None:
    found = estimated(settings(tmp_path))
    assert (found["attempts"], found["calls"], found["completion_tokens"]) == (6, 6, 3000)
    expected = (found["prompt_tokens"] * 0.4 + 3000 * 1.6) / 1e6
    assert found["cost_usd"] == pytest.approx(expected)
    assert "no earlier run" in found["basis"]
    assert found["most_usd"] is None
    assert not (tmp_path / "runs").exists()


def test_a_skill_is_part_of_every_prompt(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: skill\ndescription: d\n---\n" + "word " * 400)
    bare = estimated(settings(tmp_path))["prompt_tokens"]
    both = plan_evaluation(settings(tmp_path, skill=skill, baseline=True))
    assert both["attempts"] == 12
    assert both["estimate"][0]["prompt_tokens"] == bare
    assert both["estimate"][1]["prompt_tokens"] > bare + 6 * 400


def test_an_earlier_run_tells_what_attempts_use(tmp_path: Path) -> None:
    def slow(_body: Any) -> Answer:
        time.sleep(0.2)
        return completion("4")

    with serve(slow) as served:
        first = settings(tmp_path, out=tmp_path / "runs" / "first", base_url=served.url)
        run_evaluation(first)
        used = [item.usage for item in records(tmp_path / "runs" / "first")]
        found = estimated(settings(tmp_path, epochs=3))
        assert len(served.bodies) == 6
    assert found["calls"] == 18
    assert found["prompt_tokens"] == 3 * sum(one.prompt_tokens for one in used)
    assert found["completion_tokens"] == 3 * sum(one.completion_tokens for one in used)
    assert "6 attempts of first (openai/gpt-4.1-mini, skill none); 18 of 18" in found["basis"]
    assert found["most_usd"] >= found["cost_usd"] > 0
    other = estimated(settings(tmp_path, models=("openai/gpt-4.1",)))
    assert 0.2 < found["seconds"] < 60  # six at once took so long, and eighteen take more
    assert other["seconds"] is None  # another model has its own pace
    (tmp_path / "runs" / "first" / "calls.sqlite").write_text("damaged")
    assert estimated(settings(tmp_path))["seconds"] is None


def test_tasks_of_this_suite_that_taught_the_skill_are_counted(tmp_path: Path) -> None:
    skill, run = tmp_path / "skill" / "mine", tmp_path / "runs" / "train"
    with serve(lambda _body: completion("4")) as served:
        run_evaluation(settings(tmp_path, 3, out=run, base_url=served.url))
    tasks = [Task(id=name, prompt="x") for name in ("t1", "t2", "t7")]
    taught = taught_by(skill)
    assert sum(task.id in taught for task in tasks) == 2
    assert not taught_by(tmp_path / "moved" / "mine")
    assert shown_warning(skill, tasks).startswith("2 of 3 tasks taught this skill")
    assert not shown_warning(skill, tasks[2:])


def test_tasks_that_stand_in_the_skill_are_counted(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    head = "---\nname: skill\ndescription: d\n---\n"
    (skill / "SKILL.md").write_text(
        f"{head}Task: What is **the capital**\nof France?\nAnswer: Paris\n"
    )
    prompts = ["What is the capital of France?", "What is the capital of Fran", "Paris"]
    prompts.append(f"{20 * 'Read this first. '}What is the capital of Peru?")
    (skill / "more.md").write_text(f"{20 * 'Read this first. '}What is the capital of Chile?")
    tasks = [Task(id=f"t{n}", prompt=prompt) for n, prompt in enumerate(prompts)]
    assert shown_in(skill, tasks) == 1


def test_only_what_is_run_again_is_paid_for(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4")) as served:
        first = settings(tmp_path, out=tmp_path / "runs" / "first", base_url=served.url)
        run_evaluation(first)
        more = settings(tmp_path, tasks=8, earlier=tmp_path / "runs" / "first", base_url=served.url)
        plan = plan_evaluation(more)
    assert [step["action"] for step in plan["steps"]] == ["REUSE"] * 6 + ["RERUN"] * 2
    assert plan["estimate"][0]["attempts"] == 2


def test_an_unknown_price_is_no_price(tmp_path: Path) -> None:
    found = estimated(settings(tmp_path, models=("openai/nobody-knows",)))
    assert found["cost_usd"] is None
    assert found["price"].startswith("unknown: name a table with HARNESS_PRICES")
    # The packaged table holds at the provider's own endpoint only.
    assert estimated(settings(tmp_path, base_url="http://127.0.0.1:9/v1"))["cost_usd"] is None
    assert estimated(settings(tmp_path, models=("simulated/lookup",)))["cost_usd"] == 0


def test_a_folder_that_is_no_run_stands_in_no_way(tmp_path: Path) -> None:
    for name, text in {"a": "{", "b": '{"schema_version": 99}'}.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(text)
    assert "no earlier run" in estimated(settings(tmp_path))["basis"]
