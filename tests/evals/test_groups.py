"""Tasks in groups: named in three ways, counted everywhere, noticed where nobody names them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.api import compare_runs, evaluate
from harness.cli import cli
from harness.core import BadInput
from harness.evals import column_of, load_suite, records
from harness.stats import wilson
from harness.tasks.files.duplicates import near_duplicates

KINDS = ("refund", "address", "invoice", "delivery", "login", "gift card")
EACH = 6
NONE = ("--model", "none", "--sandbox", "none")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tasks of six kinds; an agent that says 4 passes all of three of them and none of the rest."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tickets.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["prompt", "answer", "kind"])
        for number, kind in enumerate(KINDS):
            for index in range(EACH):
                prompt = f"How many days does a customer wait for a {kind} in case {index}?"
                rows.writerow([prompt, 4 if number % 2 else 5, kind])
    return path


def run(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["eval", *words, *NONE, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_group_column_is_named_on_the_command_line_in_the_suite_and_in_python(
    table: Path,
) -> None:
    agent = ("--agent", "cmd:echo 4")
    mapped = run(str(table), *agent, "--map", "kind=group", "--out", "runs/mapped")
    named = run(str(table), *agent, "--group-by", "kind", "--out", "runs/named")
    (table.parent / "suite.yaml").write_text(f"name: s\ntasks: {table.name}\ngroup_by: kind\n")
    written = run("suite.yaml", *agent, "--out", "runs/written")
    python = evaluate(
        str(table),
        agent="cmd:echo 4",
        model="none",
        sandbox="none",
        group_by="kind",
        progress=False,
    )
    with table.open() as file:
        rows = list(csv.DictReader(file))
    listed = evaluate(
        tasks=rows, agent="cmd:echo 4", model="none", sandbox="none", group_by="kind",
        progress=False,
    )  # fmt: skip
    for report in (mapped, named, written, python.model_dump(), listed.model_dump()):
        assert report["groups"] == len(KINDS)
        assert report["score"] == 0.5
        low, high = report["ci95"]
        # Six groups that pass or fail as a whole are six tasks, not 36.
        assert high - low > 1.8 * (wilson(18, 36)[1] - wilson(18, 36)[0])  # type: ignore[index]
    assert "6 groups" in str(python)
    assert python.rows()[0]["group"] in KINDS


def test_a_finished_run_is_counted_by_group_when_it_is_resumed_with_one(table: Path) -> None:
    agent = ("--agent", "cmd:echo 4")
    before = run(str(table), *agent, "--out", "runs/r")
    assert "groups" not in before
    made = [item.usage for item in records(Path("runs/r"))]
    after = run(str(table), *agent, "--resume", "runs/r", "--group-by", "kind")
    assert after["groups"] == len(KINDS)
    assert [item.usage for item in records(Path("runs/r"))] == made
    assert after["ci95"][0] < before["ci95"][0] < before["ci95"][1] < after["ci95"][1]


def test_runs_are_compared_by_group(table: Path) -> None:
    by_kind = ("--group-by", "kind")
    run(str(table), "--agent", "cmd:echo 4", "--out", "runs/a", *by_kind)
    run(str(table), "--agent", "cmd:echo 5", "--out", "runs/b", *by_kind)
    paired = compare_runs("runs/a", "runs/b").paired
    assert paired.groups == len(KINDS)
    assert paired.independent == len(KINDS)
    assert paired.ci95 is not None
    assert paired.ci95[0] < -0.6
    result = CliRunner().invoke(cli, ["compare", "runs/a", "runs/b"])
    assert "36 paired tasks in 6 groups" in result.output


def test_near_duplicates_without_a_group_are_said_once(table: Path) -> None:
    words = ["eval", str(table), "--agent", "cmd:echo 4", *NONE]
    said = CliRunner().invoke(cli, [*words, "--out", "runs/a"]).output
    assert said.count("36 of 36 prompts are near-duplicates") == 1
    assert "such as 'How many days" in said and "in case 1?'" in said
    assert "--group-by COLUMN" in said
    grouped = CliRunner().invoke(cli, [*words, "--out", "runs/b", "--group-by", "kind"]).output
    assert "near-duplicates" not in grouped
    assert "by group, 6 groups" in grouped
    python = evaluate(str(table), agent="cmd:echo 4", model="none", sandbox="none", progress=False)
    assert "36 of 36 prompts are near-duplicates" in str(python)
    assert "or group_by COLUMN" in str(python)


def test_different_questions_under_one_instruction_are_no_near_duplicates() -> None:
    rule = "Answer with one number, in euros, without words, and round it down to whole ones."
    prompts = [
        f"{rule}\n{question}"
        for question in ("What does the train to Lyon cost?", "How tall is the tower?",
                         "Add the fees of both accounts.", "What does the train to Nice cost?")
    ]  # fmt: skip
    quoted = "'What does the train to Lyon cost?' and 'What does the train to Nice cost?'"
    assert near_duplicates(prompts) == (2, 4, quoted)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(table: Path) -> None:
    with pytest.raises(BadInput, match=r"no task has a column 'sort' to group by; .* 'kind'"):
        load_suite(f"{table}?sort=group")


def test_by_the_column_of_the_answer_says_its_name() -> None:
    with pytest.raises(BadInput, match=r"'expected', 'queue' \(`expected` is the answer, whatever"):
        column_of({"a": {"prompt": "Why?", "expected": "x", "queue": "b"}}, "soll")


def test_a_group_changes_no_digest(table: Path) -> None:
    plain, grouped = load_suite(str(table)), load_suite(f"{table}?kind=group")
    assert {task.group for task in grouped.tasks} == set(KINDS)
    assert plain.digest == grouped.digest
