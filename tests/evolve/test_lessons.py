"""Markdown to single lessons: none lost, none glued together."""

from __future__ import annotations

from harness.core import Edit
from harness.evolve.merge.lessons import of_edit, split


def test_bullets_paragraphs_and_nested_bullets() -> None:
    content = (
        "## 6. Range Parsing\n- **Full Coverage**: Cover every cell.\n  - also the last one\n"
        "- **Bounds**: Parse both ends.\n\n**Scope**: Stay inside.\n"
    )
    found = split(content, "Trace-Derived Lessons")
    assert [(title, text) for title, text, _, _ in found] == [
        ("Full Coverage", "Cover every cell. also the last one"),
        ("Bounds", "Parse both ends."),
        ("Scope", "Stay inside."),
    ]
    assert {section for _, _, section, _ in found} == {"Range Parsing"}


def test_labels_of_parts_are_no_titles() -> None:
    content = "### Header rows\n**Issue**: Headers get changed.\n\n**Rule**: Skip the header row."
    assert [(t, text) for t, text, *_ in split(content)] == [
        ("Header rows", "Skip the header row.")
    ]


def test_code_stays_with_its_lesson() -> None:
    found = split(
        "- **Copy**: Use copy.\n\n```python\n# not a heading\ncopy(x)\n```\n- **B**: Next."
    )
    assert [title for title, *_ in found] == ["Copy", "B"]
    assert found[0][3] == "```python\n# not a heading\ncopy(x)\n```"


def test_two_appends_to_one_section_are_two_lessons() -> None:
    """Official defect 10: the shorter of two appends to a section was dropped."""
    one = Edit(
        file="SKILL.md", op="append_to_section", target_section="## A", content="- Short one."
    )
    two = one.model_copy(update={"content": "- A much longer other lesson of the same section."})
    assert len([lesson for edit in (one, two) for lesson in of_edit(edit)]) == 2


def test_plain_items_belong_to_the_lesson_that_introduces_them() -> None:
    content = (
        "**Check**: After saving, look at:\n- the file\n- every sheet\n- **Copy**: Copy first."
    )
    assert [(title, text) for title, text, *_ in split(content)] == [
        ("Check", "After saving, look at: the file; every sheet"),
        ("Copy", "Copy first."),
    ]
