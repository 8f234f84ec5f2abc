"""`skill explain` shows what a rule rests on and what speaks against it, in text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.skill.commands import skill
from harness.core import BadInput
from tests.skills.evolved import evolve

RULE: dict[str, Any] = {
    "content": "- read back",
    "wordings": {"t1": ["Read back what you wrote."], "t2": ["Open the file again."]},
    "quotes": {"t1": ["saved output.xlsx"]},
    "against": [
        {"kind": "lesson", "text": "Never read back.", "trajectory_id": "t3", "merged": True},
        {"kind": "run", "text": "wb.save(", "trajectory_id": "t9", "step": 4, "outcome": "pass"},
    ],
    "contrast": {
        "signs": ["wb.save("], "standing": "habit",
        "failed": 3, "of_failed": 4, "passed": 5, "of_passed": 6,
    },
    "claims": [{"claim": "`.value` evaluates", "verdict": "refuted", "program": "p"}],
}  # fmt: skip


def explained(folder: Path, *words: str) -> str:
    number = (folder / "SKILL.md").read_text().split("\n").index("- read back") + 1
    place = f"{folder}/SKILL.md:{number}"
    result = CliRunner().invoke(skill, ["explain", place, *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill whose first record quotes twice; the second quote is another lesson's."""
    skill_folder = evolve(tmp_path)
    rows = json.loads((tmp_path / "records.json").read_text())
    rows[0]["evidence_places"] = [
        {"step": 7, "how": "fragment", "passage": "wb.save('output.xlsx')\nprint('saved')"},
        {"step": None, "how": "", "passage": ""},
    ]
    (tmp_path / "records.json").write_text(json.dumps(rows))
    (tmp_path / "rules.json").write_text(json.dumps([RULE]))
    return skill_folder


def test_the_text_names_wordings_steps_objections_contrast_and_programs(folder: Path) -> None:
    text = explained(folder)
    for line in (
        "its signs stand in 3 of 4 failed and 5 of 6 passed tasks (habit): 'wb.save('",
        "checked: `.value` evaluates: refuted",
        'may speak against it: lesson of t3 (merged into this rule): "Never read back."',
        'may speak against it: run t9, which passed, step 4 shows it: "wb.save("',
        "says: Read back what you wrote.",
        '"saved output.xlsx"  t1 step 7 (fragment)',
        "| wb.save('output.xlsx')",
    ):
        assert line in text
    assert '"done"' not in text  # quoted by another lesson of the record


def test_json_has_all_of_it(folder: Path) -> None:
    found = json.loads(explained(folder, "--json"))
    assert found["evidence"] | {"content": "- read back"} == found["evidence"]
    assert [row["kind"] for row in found["evidence"]["against"]] == ["lesson", "run"]
    assert found["evidence"]["contrast"]["passed"] == 5
    assert found["evidence"]["claims"][0]["program"] == "p"
    assert found["records"][0]["wordings"] == ["Read back what you wrote."]
    assert found["records"][0]["quotes"][0]["how"] == "fragment"


def test_an_older_evolution_has_records_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.json").unlink()
    text = explained(folder)
    assert '"done"  t1 not located' in text and "speak against" not in text


@pytest.mark.parametrize("damage", ["{", "{}", "[1]", '[{"content": 1}]', '"x"', "5"])
def test_a_damaged_file_is_refused(folder: Path, tmp_path: Path, damage: str) -> None:
    (tmp_path / "rules.json").write_text(damage)
    with pytest.raises(BadInput, match=r"rules\.json"):
        explained(folder)
