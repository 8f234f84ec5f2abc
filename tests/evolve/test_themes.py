"""Headings: the skill's own where they fit, else one for all rules."""

from __future__ import annotations

from harness.core import Edit, Patch
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.skill_layout import GUIDE, RULES, assemble, file_under
from harness.skills import apply_patch, new_skill

LOOK = Lesson(title="Structure Discovery", text="Inspect the structure before you begin.")
CHECK = Lesson(title="Read Back", text="Verify the result after saving.")


def test_rules_go_under_the_headings_of_the_skill_where_they_fit() -> None:
    own = {"Structure": "Inspect the structure of a file.", "Reports": "Write a report."}
    assert file_under([CHECK, LOOK], own) == [RULES, "Structure"]
    assert file_under([CHECK, LOOK], {}) == [RULES, RULES]


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


def test_rules_of_a_new_skill_stand_under_one_heading_the_best_supported_first() -> None:
    skill = new_skill("x", "Rules.", f"\n# X\n\n## {GUIDE}\n\nRead the rules before you start.\n")
    edits = [
        Edit(
            file="SKILL.md", op="add_section", target_section="## Lessons",
            content=f"- **Advice**: {text}", sources=tuple("abc"[:support]), support=support,
        )
        for text, support in [
            ("Escalate allergies.", 2), ("Verify dates twice.", 3), ("Only one says it.", 1)
        ]
    ]  # fmt: skip
    final, _ = assemble(skill, edits, {}, min_support=2, max_rules=9)
    text = apply_patch(skill, Patch(edits=final)).skill.text
    assert [line for line in text.split("\n") if line.startswith("## ")] == [
        f"## {GUIDE}", f"## {RULES}", "## References",
    ]  # fmt: skip
    assert text.index("Verify dates") < text.index("Escalate")
