"""`harness skill explain | versions | rollback | diff | review`, as a user drives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.skill.commands import skill
from harness.core import BadInput
from harness.skills import load_skill, review_path, rows_of
from harness.skills.review import open_review
from tests.skills.evolved import SEED, evolve


def call(*arguments: str | Path, keys: str = "") -> str:
    words = [str(one) for one in arguments]
    result = CliRunner().invoke(skill, words, input=keys, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def line_of(folder: Path, text: str) -> str:
    number = (folder / "SKILL.md").read_text().split("\n").index(text) + 1
    return f"{folder}/SKILL.md:{number}"


def test_explain_goes_from_the_line_to_the_step(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    text = call("explain", line_of(folder, "- read back"))
    assert "append_to_section, support 2 tasks, from t1, t2" in text
    assert "t1: The result was never read back." in text
    assert '"saved output.xlsx"  t1 step 7' in text
    assert '"done"  t1 not located' in text
    found = json.loads(call("explain", line_of(folder, "- read back"), "--json"))
    assert found["edit"]["sources"] == ["t1", "t2"]
    quote = found["records"][0]["quotes"][0]
    assert (quote["text"], quote["step"]) == ("saved output.xlsx", 7)
    assert "no patch wrote this line" in call("explain", line_of(folder, "- old"))


def test_explain_without_records_says_so_and_refuses_damaged_ones(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    (tmp_path / "records.json").unlink()
    assert "no analyst wrote it" in call("explain", line_of(folder, "- read back"))
    (tmp_path / "records.json").write_text("{}")
    with pytest.raises(BadInput, match="expected a list"):
        call("explain", line_of(folder, "- read back"))


def test_versions_rollback_and_diff(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    listed = json.loads(call("versions", folder, "--json"))["versions"]
    assert [one["current"] for one in listed] == [False, True]
    assert "before the edits" in call("versions", folder)
    assert "+- read back" in call("diff", folder, "--version", SEED.digest[:8])
    text = call("rollback", folder)
    assert f"--to {listed[1]['digest'][:12]}" in text
    assert load_skill(folder).all_files == SEED.all_files
    call("rollback", folder, "--to", listed[1]["digest"])
    assert load_skill(folder).digest == listed[1]["digest"]
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "mine\n")
    assert "not recorded" in call("versions", folder)
    with pytest.raises(BadInput, match="--version"):
        call("diff", folder)


def test_review_one_by_one_in_the_terminal(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    text = call("review", folder, keys="n\ntoo vague\nskip\nquit\n")
    assert '"saved output.xlsx"  t1 step 7' in text
    assert "2 of 3 edits are not judged yet" in text
    assert "read back" in load_skill(folder).text
    text = call("review", folder, keys="all\n")  # goes on where it stopped
    assert "too vague" in text
    assert "2 of 3 edits are in" in text
    assert "read back" not in load_skill(folder).text


def test_review_without_a_terminal(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    shown = json.loads(call("review", folder, "--list", "--json"))
    assert [row["verdict"] for row in shown["edits"]] == [""] * 3
    assert shown["applied"] is None
    assert not review_path(folder).exists()
    name = shown["edits"][0]["id"]
    done = json.loads(
        call("review", folder, "--reject", name, "--reason", "why", "--approve", "all", "--json")
    )
    assert done["applied"]["rejected"] == [{"id": name, "verdict": "rejected", "reason": "why"}]
    assert done["undecided"] == []
    assert json.loads(review_path(folder).read_text())["applied"] == load_skill(folder).digest
    with pytest.raises(BadInput, match="found both"):
        call("review", folder, "--approve", "all", "--reject", "all")


def test_review_with_the_decisions_of_the_report_page(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    made = [
        {"id": row.id, "verdict": "rejected" if row.number == 1 else "approved"} for row in rows
    ]
    path = tmp_path / "download.json"
    path.write_text(json.dumps({"skill": version.digest, "decisions": made}))
    assert "2 of 3 edits are in" in call("review", folder, "--decisions", path)
    assert "read back" not in load_skill(folder).text


@pytest.mark.parametrize("command", ["versions", "rollback", "review"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: harness skill {command}" in call(command, "--help")
