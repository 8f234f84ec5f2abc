"""Headings: the skill's own where it has them, else topics and phases in the order of the work."""

from __future__ import annotations

from harness.core import Edit
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.skill_layout import GUIDE, assemble, file_under, order
from harness.skills import new_skill

LOOK = Lesson(title="Structure Discovery", text="Inspect the structure before you begin.")
CHECK = Lesson(title="Read Back", text="Verify the result after saving.")


def test_rules_go_under_the_phases_of_the_work() -> None:
    headings = file_under([CHECK, LOOK])
    assert headings == ["Check before you finish", "Look before you change"]
    assert order(headings) == ["Look before you change", "Check before you finish"]


def test_a_skill_with_its_own_phases_gets_no_second_ones() -> None:
    assert file_under([CHECK, LOOK], {"Look": "x", "Check": "y"}) == ["Check", "Look"]


def test_a_noun_that_many_titles_share_is_a_topic() -> None:
    formulas = [Lesson(title=f"Formula {x}", text="Read it twice.") for x in ("A", "B", "C")]
    others = [Lesson(title=f"Thing {n}", text="Read it twice.") for n in "abcdefg"]
    headings = file_under([*formulas, *others])
    assert headings[:3] == ["Formulas"] * 3
    assert "Formulas" not in headings[3:]


def test_no_rule_is_filed_under_how_the_skill_is_read() -> None:
    skill = new_skill("x", "Rules.", f"\n# X\n\n## {GUIDE}\n\nRead the rules before you start.\n")
    rule = Edit(
        file="SKILL.md", op="add_section", target_section="## Rules",
        content="- **Read first**: Read the rules before you start and follow those that fit.",
        sources=("a", "b"), support=2,
    )  # fmt: skip
    edits, _ = assemble(skill, [rule], {"a": "a", "b": "b"}, min_support=2, max_rules=9)
    assert [edit.target_section for edit in edits] != [f"## {GUIDE}"]
    assert edits[0].after_section == GUIDE
