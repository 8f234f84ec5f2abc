"""A planted false rule is convicted by what `explain` shows: its own sources, and passed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.evolve import EvolveOptions, evolve
from harness.evolve.objections import denies
from harness.skills import explain_place, read_provenance
from tests.evolve.conftest import record_row, trajectory, write_rows, write_trajectories

FALSE = "Read back the .value property of formula cells to confirm that they evaluated."
TRUE = "Reading back the .value property of formula cells does not confirm that they evaluated."
OTHER = "When deleting several rows, go from the last row to the first."
CODE = "print(ws['A1'].value)  # confirm"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """Four failed and two passed runs; one of the five lessons of the false rule denies it."""
    import asyncio

    failed = [trajectory(name, "fail", CODE) for name in "abcd"]
    passed = [trajectory("e", "pass", CODE), trajectory("f", "pass", "nothing of the kind")]
    runs = write_trajectories(tmp_path / "runs", [*failed, *passed])
    quote: dict[str, Any] = {"evidence": [CODE]}
    rows = [record_row(name, [("Read back", FALSE)], **quote) for name in "abc"]
    rows.append(record_row("d", [("Read back", TRUE), ("Delete", OTHER)], **quote))
    for row in rows:
        for item in row["memory_items"]:
            item["evidence"] = [CODE] if "value" in item["lesson"] else []
    options = EvolveOptions(
        out=tmp_path / "out", create="tables", trajectories=runs, min_support=1,
        patches=write_rows(tmp_path / "patches.jsonl", rows),
    )  # fmt: skip
    return Path(asyncio.run(evolve(options)).skill)


def test_a_false_rule_shows_who_denies_it(skill: Path) -> None:
    lines = (skill / "SKILL.md").read_text().split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "to confirm that they evaluated" in line)
    found = explain_place(f"{skill}/SKILL.md:{number}")
    assert found.evidence is not None
    wordings = {text for texts in found.evidence.wordings.values() for text in texts}
    assert any(FALSE in text for text in wordings)
    denying = [row for row in found.evidence.against if row.kind == "lesson"]
    assert [row.trajectory_id for row in denying] == ["d"]
    assert TRUE in denying[0].text
    (run,) = [row for row in found.evidence.against if row.kind == "run"]
    assert (run.trajectory_id, run.outcome, run.step) == ("e", "pass", 2)
    assert "run e, which passed, step 2 shows it" in str(run)
    contrast = found.evidence.contrast
    assert contrast is not None
    assert (contrast.failed, contrast.of_failed, contrast.passed, contrast.of_passed) == (
        4,
        4,
        1,
        2,
    )
    assert all(quote.step == 2 for record in found.records for quote in record.quotes)


def test_a_rule_that_nobody_denies_has_no_objection(skill: Path) -> None:
    text = "\n".join(path.read_text() for path in skill.rglob("*.md"))
    assert OTHER in text
    provenance = read_provenance(skill)
    (edit,) = [edit for edit in provenance.edits if OTHER in edit.content]
    number = 1 + (skill / edit.file).read_text().split("\n").index(edit.content)
    found = explain_place(f"{skill / edit.file}:{number}").evidence
    assert found is not None and not [row for row in found.against if row.kind == "lesson"]


@pytest.mark.parametrize(
    ("rule", "lesson", "against"),
    [
        (FALSE, "openpyxl does not evaluate formula cells; .value returns the formula.", True),
        ("Use pandas instead of openpyxl to write styles.", "Use openpyxl to write styles.", True),
        ("Never delete sheets of the workbook.", "Delete sheets of the workbook first.", True),
        ("Never delete sheets of the workbook.", "Do not delete sheets of the workbook.", False),
        ("Never delete sheets.", "Delete empty rows in reverse order.", False),
        (OTHER, "When deleting several rows, start at the bottom.", False),
    ],
)
def test_polarity(rule: str, lesson: str, against: bool) -> None:
    assert (denies(rule, lesson) > 0) == against
