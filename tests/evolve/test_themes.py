"""Headings: the skill's own where it has them, else topics and phases in the order of the work."""

from __future__ import annotations

from harness.core import Edit, Patch
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.skill_layout import GUIDE, assemble, file_under, order
from harness.skills import apply_patch, new_skill

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


def test_sections_stand_in_the_order_of_the_work_whatever_supports_them() -> None:
    skill = new_skill("x", "Rules.", f"\n# X\n\n## {GUIDE}\n\nRead the rules before you start.\n")
    supports = {"Read back": 3, "Convert types": 2, "Inspect structure": 2, "Iterate loop": 4}
    lessons = {
        "Read back": "Verify the result after saving.",
        "Convert types": "Normalize dates and blanks.",
        "Inspect structure": "Explore the headers.",
        "Iterate loop": "Use a template in each loop.",
    }
    edits = [
        Edit(
            file="SKILL.md", op="add_section", target_section="## Rules",
            content=f"- **{title}**: {text}", sources=tuple("abcdef"[: supports[title]]),
            support=supports[title],
        )
        for title, text in lessons.items()
    ]  # fmt: skip
    edits.append(edits[0].model_copy(update={"content": "- **Thin**: Only one run says it.",
                                             "sources": ("a",), "support": 1}))  # fmt: skip
    final, _ = assemble(skill, edits, {}, min_support=2, max_rules=9)
    text = apply_patch(skill, Patch(edits=final)).skill.text
    assert [line for line in text.split("\n") if line.startswith("## ")] == [
        f"## {GUIDE}", "## Look before you change", "## Handle types, gaps and text",
        "## Build it robustly", "## Check before you finish", "## References",
    ]  # fmt: skip


def test_a_label_of_code_or_a_word_with_an_accent_in_many_titles_breaks_no_heading() -> None:
    for word in ("order_lost", "naïveté", "v2.beta"):
        rules = [Lesson(title=f"Say {word} {n}", text=f"Say it {n}.") for n in range(4)]
        others = [Lesson(title=f"Other {n}", text=f"Do {n}.") for n in range(8)]
        assert len(file_under([*rules, *others])) == 12
