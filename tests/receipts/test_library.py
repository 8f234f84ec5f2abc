"""Skills checked against one another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, Refused
from harness.receipts import check_library
from harness.skills import new_skill, write_skill


def write(root: Path, name: str, description: str, *rules: str) -> None:
    body = f"\n# {name}\n\n" + "".join(f"- {rule}\n" for rule in rules)
    write_skill(new_skill(name, description, body), root / name)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write(tmp_path, "sheets", "Edit Excel workbooks and fill cells with formulas.",
          "Use pandas.", "Sort rows in ascending order.")  # fmt: skip
    write(
        tmp_path,
        "workbooks",
        "Fill cells of Excel workbooks.",
        "Never pandas.",
        "Never use pandas.",
    )
    write(tmp_path, "poems", "Write poems about the sea.", "Use rhymes.")
    return tmp_path


def test_collisions_and_disagreements_are_found(library: Path) -> None:
    found = check_library([library])
    assert found.skills == ("poems", "sheets", "workbooks")
    (collision,) = found.collisions
    assert collision.skills == ("sheets", "workbooks") and collision.overlap == 1.0
    (disagreement,) = found.disagreements
    assert disagreement.one == ("sheets/SKILL.md:8",)
    assert disagreement.about == "panda"  # a stem
    assert set(disagreement.two) <= {"workbooks/SKILL.md:8", "workbooks/SKILL.md:9"}


def test_the_command_says_no_with_exit_5(library: Path) -> None:
    shown = CliRunner().invoke(cli, ["skill", "library", str(library), "--json"])
    assert isinstance(shown.exception, Refused)
    assert len(json.loads(shown.stdout)["collisions"]) == 1
    clear = CliRunner().invoke(
        cli, ["skill", "library", str(library / "poems"), str(library / "sheets")]
    )
    assert clear.exit_code == 0 and "2 skills, 0 findings" in clear.output


def test_two_of_one_name(library: Path) -> None:
    write(library / "more", "poems", "Write odes.", "Use metre.")
    assert check_library([library, library / "more"]).same_name == ("poems",)


def test_the_shipped_skills_do_not_collide(repository: Path) -> None:
    assert check_library([repository / "skills"]).clear


def test_one_skill_is_no_library(library: Path) -> None:
    with pytest.raises(BadInput, match="two skills or more"):
        check_library([library / "poems"])
