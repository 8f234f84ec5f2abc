"""A judge of edits, in `skill review` and `evolve`: its cost, and how far it can be trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.evolve import evolve as evolve_command
from harness.cli.skill.commands import skill
from harness.models import CallStore
from tests.evolve.conftest import record_row, trajectory, write_rows, write_trajectories
from tests.models.http_server import Answer, Served, completion, serve
from tests.skills.evolved import evolve


def answer(body: dict[str, Any]) -> Answer:
    """Prefers the lines that read back; always the first of others; fails on dates."""
    text = str(body["messages"][-1]["content"])
    marked = dict(re.findall(r"<(first|second)-\w+>\n(.*?)\n</", text, re.DOTALL))
    if "# Dates" in text:
        return completion("I cannot tell.")
    better = "second" if "read back" in marked["second"] else "first"
    key = re.search(r'"key": "(\w+)"', text)
    assert key is not None
    return completion(json.dumps({"key": key[1], "reason": "So it is.", "better": better}), 10, 2)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Generator[Served]:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with serve(answer) as served:
        yield served


def review(folder: Path, served: Served, *words: str) -> str:
    typed = ["review", str(folder), "--judge", "openai/j", "--base-url", served.url, *words]
    result = CliRunner().invoke(skill, typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_verdict_comes_with_cost_agreement_and_calibration(tmp_path: Path, judge: Served) -> None:
    folder = evolve(tmp_path)
    text = review(folder, judge, "--list")
    assert "judge: better with it, both orders agree: So it is." in text
    assert "judge: no difference, the orders disagree" in text
    assert "judge: no verdict (expected one JSON object" in text
    assert "judge direct:openai/j: uncalibrated" in text
    assert "both orders agree in 1 of 2" in text
    asked = len(judge.bodies)
    # Once a person has decided, the judge is measured by it; nothing is paid for again.
    review(folder, judge, "--reject", "1")
    listed = json.loads(review(folder, judge, "--json"))
    facts = listed["judge"]
    assert (facts["right"], facts["decided"]) == (0, 1)
    assert facts["note"].startswith("as you decided: 0 of 1")
    assert [row["verdict"] for row in listed["edits"]] == ["rejected", "", ""]
    assert len(judge.bodies) == asked


def test_without_a_budget_for_it_nothing_is_decided(tmp_path: Path, judge: Served) -> None:
    typed = ["review", str(evolve(tmp_path)), "--judge", "openai/j", "--base-url", judge.url,
             "--budget-calls", "1", "--approve", "all"]  # fmt: skip
    assert CliRunner().invoke(skill, typed).exit_code != 0
    assert len(judge.bodies) == 1
    assert not list(tmp_path.rglob("*.review.json"))


def test_an_evolution_merges_what_the_judge_accepts(tmp_path: Path, judge: Served) -> None:
    good = "Always read back the file that was saved before you answer."
    idle = "Look at every sheet of the workbook before you write to it."
    rows = [record_row(name, [("Read", good), ("Look", idle)]) for name in "ab"]
    rows.append(record_row("c", [("# Dates", "Write # Dates in the column's own format always.")]))
    runs = write_trajectories(tmp_path / "runs", [trajectory(name, "fail", "x") for name in "abc"])
    patches = write_rows(tmp_path / "patches.jsonl", rows)
    typed = ["--create", "sheets", "--trajectories", str(runs), "--patches", str(patches)]
    typed += ["--out", str(tmp_path / "out"), "--judge", "openai/j", "--base-url", judge.url]
    plan = CliRunner().invoke(evolve_command, [*typed, "--dry-run", "--json"])
    assert json.loads(plan.stdout)["judge"] == "openai/j"
    assert not judge.bodies
    done = CliRunner().invoke(evolve_command, typed, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "judge direct:openai/j refused 0 of 5 proposed edits, no verdict on 1" in done.stdout
    assert "both orders agree in 2 of 4; uncalibrated" in done.stdout
    discarded = json.loads((tmp_path / "out" / "discarded.json").read_text())
    (row,) = [row for row in discarded if row["judgement"]]
    assert "Dates" in row["content"] and row["reason"].startswith("the judge: gives no verdict")
    with CallStore(tmp_path / "out" / "calls.sqlite") as calls:
        used = calls.usage_by_role()["judge"]
    assert used.calls == len(judge.bodies) == 12, "ten in two orders, two of them asked again"
