"""A whole evolution, from files to files, with none of the official defects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.evolve import evolve as command
from harness.core import BadInput, Patch, digest_tree
from harness.evals import ItemRecord
from harness.evolve import Event, EvolveOptions, EvolveResult, evolve
from harness.skills import explain_place, load_skill, new_skill, validate, write_skill
from tests.evolve.conftest import items, record_row, trajectory, write_rows, write_trajectories

VERIFY = ("Check the file", "Reload the saved workbook and verify that the changes persisted.")
SORT = ("Delete upwards", "Delete rows from the highest index to the lowest to avoid shifts.")


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    runs = [trajectory(name, "fail", "no") for name in "abcd"]
    rows = [
        record_row("a", [VERIFY, SORT]),
        record_row("b", [VERIFY]),
        record_row("c", [VERIFY]),
        record_row("d", [("Odd", "Ask the moon about hidden columns before reading any.")]),
    ]
    return {
        "trajectories": write_trajectories(tmp_path / "runs", runs),
        "patches": write_rows(tmp_path / "patches.jsonl", rows),
    }


def run(inputs: dict[str, Path], out: Path, **more: object) -> EvolveResult:
    options = EvolveOptions.model_validate({**inputs, "out": out, "create": "sheets", **more})
    return asyncio.run(evolve(options))


def test_support_decides_where_a_rule_goes(inputs: dict[str, Path], tmp_path: Path) -> None:
    result = run(inputs, tmp_path / "out")
    skill = load_skill(result.skill)
    assert "Reload the saved workbook" in skill.body
    reference = skill.file_text("references/further-rules.md") or ""
    assert "highest index" in reference and "moon" in reference
    assert "moon" not in skill.body
    assert (result.records, result.losses, result.support) == (4, 0, {"1": 2, "3": 1})
    assert result.accepted is None and result.gate.verdict == "not gated"


def test_the_skill_is_checked_by_a_validator_that_ships(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    """Official defect 1: the validator was not shipped and the run ended with exit code 1."""
    result = run(inputs, tmp_path / "out")
    assert [one for one in validate(load_skill(result.skill)) if one.level == "error"] == []
    checked = subprocess.run(
        [sys.executable, "-m", "skills_ref.cli", "validate", result.skill],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_nothing_is_left_beside_the_skill(inputs: dict[str, Path], tmp_path: Path) -> None:
    """Official defect 2: a backup lay in the skills root, and the next step took it for a skill."""
    run(inputs, tmp_path / "out")
    run(inputs, tmp_path / "out")
    found = (tmp_path / "out" / "skill").rglob("SKILL.md")
    assert [path.parent.name for path in found] == ["sheets"]


def test_running_again_changes_no_byte(inputs: dict[str, Path], tmp_path: Path) -> None:
    """Official defect 11: a second run renamed and changed what the first had written."""
    first = run(inputs, tmp_path / "out")
    before = digest_tree(Path(first.skill)), digest_tree(tmp_path / "out" / "patches")
    run(inputs, tmp_path / "out")
    assert (digest_tree(Path(first.skill)), digest_tree(tmp_path / "out" / "patches")) == before
    other = run(inputs, tmp_path / "elsewhere")
    assert digest_tree(Path(other.skill)) == before[0]


def test_deepening_with_the_evolved_skill_adds_nothing(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    first = run(inputs, tmp_path / "one")
    again = run(inputs, tmp_path / "two", create=None, skill=Path(first.skill))
    body = load_skill(again.skill).body
    assert body.count("Reload the saved workbook") == 1


def test_every_line_that_was_added_names_its_runs(inputs: dict[str, Path], tmp_path: Path) -> None:
    skill = Path(run(inputs, tmp_path / "out").skill)
    number = 1 + (skill / "SKILL.md").read_text().split("\n").index(
        "- Reload the saved workbook and verify that the changes persisted."
    )
    edit = explain_place(f"{skill / 'SKILL.md'}:{number}").edit
    assert edit is not None
    assert (edit.sources, edit.support) == (("a", "b", "c"), 3)


def test_the_folder_holds_what_the_design_names(inputs: dict[str, Path], tmp_path: Path) -> None:
    run(inputs, tmp_path / "out")
    out = tmp_path / "out"
    patches = sorted(path.relative_to(out).as_posix() for path in out.glob("patches/**/*.json"))
    assert patches == [
        "patches/final_patch.json",
        *(f"patches/map_patches/patch_{number:04d}.json" for number in range(1, 5)),
        "patches/merge_level_1/merged_0001.json",
    ]
    for path in patches:
        Patch.model_validate_json((out / path).read_bytes())
    for name in ("discarded", "conflicts", "provenance", "report", "evolve"):
        json.loads((out / f"{name}.json").read_text())
    assert {"skill", "accepted", "edits", "discarded", "gate", "tokens", "cost_usd"} <= set(
        json.loads((out / "evolve.json").read_text())
    )


def test_the_page_escapes_what_runs_said(tmp_path: Path) -> None:
    evil = (
        "Bad <script>alert(1)</script>",
        "Reload <img src=x onerror=alert(1)> the workbook now.",
    )
    runs = write_trajectories(tmp_path / "runs", [trajectory(name, "fail", "no") for name in "ab"])
    rows = write_rows(tmp_path / "p.jsonl", [record_row(name, [evil]) for name in "ab"])
    run({"trajectories": runs, "patches": rows}, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert" not in page and "<img" not in page
    assert "&lt;img" in page


def test_the_gate_decides_and_is_announced_before_it_runs(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    events: list[str] = []
    asked: list[Path | None] = []

    async def evaluate(skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        asked.append(skill)
        limit = 20 if skill is None else 120
        return items({task: int(task[1:]) < limit for task in tasks})

    def note(event: Event) -> None:
        events.append(event.message)

    options = EvolveOptions.model_validate({**inputs, "out": tmp_path / "out", "create": "sheets"})
    tasks = tuple(f"t{n}" for n in range(200))
    done = evolve(options, evaluate=evaluate, gate_tasks=tasks, progress=note)
    result = asyncio.run(done)
    assert asked[:2] == [None, Path(result.skill)]
    assert result.gate.run < 200, "a gain of fifty points needs no more than a few looks"
    assert result.accepted is True
    assert "200 tasks in at most 10 looks" in events[0]


def test_worked_examples_without_a_model(tmp_path: Path) -> None:
    runs = [trajectory(name, "pass", "Paris") for name in ("France", "Gaul", "Ile")]
    runs += [trajectory("Peru", "fail", "It is quite surely the town of Lima, I think.")]
    folder = write_trajectories(tmp_path / "runs", runs)
    options = {"trajectories": folder, "out": tmp_path / "out", "create": "capitals"}
    result = asyncio.run(evolve(EvolveOptions.model_validate({**options, "analyst": "exemplar"})))
    body = load_skill(result.skill).body
    assert body.count("Answer: Paris") == 3
    assert "## Answer format" in body and "at most 1 word" in body


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"create": None}, "either --skill DIR"),
        ({"create": "Not A Name"}, "--create: .* such as date-formats"),
        ({"create": "a" * 65}, "at most 64 characters"),
        ({"patches": None}, "an analyst needs a model"),
        ({"trajectories": None}, "no trajectories"),
    ],
)
def test_bad_input_writes_nothing(
    inputs: dict[str, Path], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        run(inputs, tmp_path / "out", **change)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(inputs: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(BadInput, match="holds other files"):
        run(inputs, tmp_path / "mine")


def test_the_command_prints_one_json_document(inputs: dict[str, Path], tmp_path: Path) -> None:
    arguments = ["--create", "sheets", "--out", str(tmp_path / "out"), "--json"]
    for name, path in inputs.items():
        arguments += [f"--{name}", str(path)]
    plan = CliRunner().invoke(command, [*arguments, "--dry-run"], catch_exceptions=False)
    assert json.loads(plan.stdout)["gate"] == "none: not gated"
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert json.loads(done.stdout)["gate"]["verdict"] == "not gated"


def test_a_skill_that_could_never_be_valid_is_refused_before_the_first_call(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    """Its name differed from its folder, and that was found out after 271 paid calls."""
    folder = tmp_path / "other-name"
    write_skill(new_skill("sheets", "Rules for sheets."), tmp_path / "sheets")
    (tmp_path / "sheets").rename(folder)
    with pytest.raises(BadInput, match="other-name"):
        run(inputs, tmp_path / "out", create=None, skill=folder)
    assert not (tmp_path / "out").exists()
