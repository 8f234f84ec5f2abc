"""Patches: what is applied, what is withheld and why, and no official defect among it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core import Edit, Patch
from harness.skills import ApplyResult, Limits, Skill, apply_patch, new_skill, validate

BODY = """
# Basics

Read [dates](references/dates.md).

## Checks

- check one

```python
# Checks
x = 1
```

### Deeper

deep text

## Writing

Write values.
They stay.
"""
SKILL = new_skill("a-skill", "Use when testing.", BODY)


def skill(**files: str) -> Skill:
    from dataclasses import replace

    data = {f"references/{name}.md": text.encode() for name, text in files.items()}
    return replace(SKILL, files={"references/dates.md": b"# Dates\n\n- a date\n", **data})


def edit(op: str, content: str = "", file: str = "SKILL.md", **fields: Any) -> Edit:
    return Edit.model_validate({"file": file, "op": op, "content": content, **fields})


def apply(*edits: Edit, limits: Limits | None = None, start: Skill | None = None) -> ApplyResult:
    """Apply, and hold every result to the invariants."""
    start = start or skill()
    patch = Patch(edits=edits)
    result = apply_patch(start, patch, limits)
    assert len(result.applied) + len(result.withheld) == len(edits)
    assert [one for one in validate(result.skill) if one.level == "error"] == []
    again = apply_patch(result.skill, patch, limits)
    assert again.skill.all_files == result.skill.all_files
    assert result.skill.header == start.header
    return result


def reason(*edits: Edit, **options: Any) -> str:
    """The reason why exactly one of the edits is withheld."""
    result = apply(*edits, **options)
    ((_, why),) = result.withheld
    return why


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (
            edit("append_to_section", "- check two", target_section="## Checks"),
            "x = 1\n```\n\n- check two\n\n### Deeper\n",
        ),
        (
            edit("append_to_section", "### More\ntext", target_section="Checks"),
            "deep text\n\n### More\ntext\n\n## Writing",
        ),
        (
            edit("append_to_section", "## Checks\n\n# Big\ntext", target_section="Checks"),
            "deep text\n\n### Big\ntext\n\n## Writing",
        ),
        (edit("insert_after", "- check two", target_text="check one"), "one\n- check two\n\n```"),
        (edit("insert_before", "- zero", target_text="- check one"), "\n- zero\n- check one\n"),
        (
            edit("insert_after", "More prose.", target_text="Write values."),
            "Write values.\nThey stay.\n\nMore prose.\n",
        ),
        (edit("insert_after", "- rule", target_text="x = 1"), "x = 1\n```\n\n- rule\n\n### Deeper"),
        (edit("replace_in_section", "y = 2", old_text="x = 1"), "# Checks\ny = 2\n```"),
        (edit("replace_in_section", "", old_text="They stay."), "Write values.\n"),
        (
            edit("replace_in_section", "Put", old_text="Write", target_section="Writing > x"),
            "",
        ),
        (
            edit("add_section", "text", target_section="## Notes", after_section="Deeper"),
            "deep text\n\n## Notes\n\ntext\n\n## Writing",
        ),
        (edit("add_section", "## Notes\n- a"), "They stay.\n\n## Notes\n\n- a\n"),
        (edit("add_section", "- b", target_section="Writing"), "They stay.\n\n- b\n"),
        (edit("delete_section", target_section="Checks"), "dates.md).\n\n## Writing\n"),
        (edit("insert_after", "- b", "references/dates.md", target_text="- a date"), ""),
    ],
)
def test_each_operation(one: Edit, expected: str) -> None:
    if one.target_section == "Writing > x":
        assert "no section" in reason(one)
        return
    result = apply(one)
    assert result.withheld == ()
    assert expected in result.skill.text
    if one.file != "SKILL.md":
        assert result.skill.files[one.file] == b"# Dates\n\n- a date\n- b\n"


def test_create_with_its_link_and_delete_with_its_unlink() -> None:
    made = apply(
        edit("createFile", "# Money\n\ntext", "references/money.md"),
        edit("append_to_section", "- [money](references/money.md)", target_section="Writing"),
        edit("deleteFile", file="references/dates.md"),
        edit("replace_in_section", "", old_text="Read [dates](references/dates.md)."),
    )
    assert made.withheld == ()
    assert list(made.skill.files) == ["references/money.md"]


@pytest.mark.parametrize(
    "file",
    [
        "../../PWNED.md",
        "/etc/passwd.md",
        "references/../../x.md",
        "references\\x.md",
        "C:x.md",
        "references//x.md",
        ".hidden.md",
        "references/.hidden.md",
        "~/x.md",
        "",
        "LICENSE.txt",
        "references/x.py",
        "recalc.py",
        "skill.md",
        "notes.md",
        "references/a/b.md",
        "references/Dates.md",
    ],
)
def test_defect_8_no_path_leaves_the_skill(file: str) -> None:
    link = edit("append_to_section", f"see {file or 'x'}", target_section="Writing")
    result = apply(edit("create", "text", file), link)
    assert any(one.op == "create" for one, _ in result.withheld)
    assert list(result.skill.files) == ["references/dates.md"]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (edit("insert_after", "x", target_text=" \n"), "empty target_text"),
        (edit("replace_in_section", "x", old_text=""), "empty old_text"),
        (edit("insert_after", "x", target_text="absent"), "not in the file"),
        (edit("insert_after", "x", target_text="es"), "occurs"),
        (edit("insert_after", "x", target_text="Use when testing."), "not in the file"),
        (edit("append_to_section", "x", target_section="description"), "no section"),
        (edit("append_to_section", "x"), "no target_section"),
        (edit("append_to_section", " \n", target_section="Checks"), "empty content"),
        (edit("append_to_section", "```py\nx", target_section="Checks"), "never closes"),
        (edit("append_to_section", "x", "references/no.md", target_section="A"), "no file"),
        (edit("create", "x"), "protected"),
        (edit("delete_file"), "protected"),
        (edit("delete_section", target_section="Basics"), "empty"),
        (edit("insert_after", "x = 2", target_text="x = 1"), "code block"),
        (edit("replace_in_section", "", old_text="```python"), "fence open"),
        (edit("create", "# Other", "references/dates.md"), "exists"),
    ],
)
def test_defect_8_bad_targets_are_withheld(one: Edit, why: str) -> None:
    assert why in reason(one)
    assert apply(one).skill.all_files == skill().all_files


@pytest.mark.parametrize("heading", ["", "New Section", "## New Section"])
def test_defect_7_no_placeholder_heading(heading: str) -> None:
    assert reason(edit("add_section", "text", target_section=heading))
    assert reason(edit("append_to_section", "## New Section\nx", target_section="Checks"))


def test_defect_7_comments_in_code_are_no_sections() -> None:
    result = apply(edit("append_to_section", "- rule", target_section="Checks"))
    assert "```python\n# Checks\nx = 1\n```\n\n- rule" in result.skill.text
    gone = apply(edit("delete_section", target_section="Checks")).skill.text
    assert "x = 1" not in gone


def test_defect_7_no_duplicate_section_and_headings_on_their_own_line() -> None:
    result = apply(
        edit("add_section", "- a", target_section="## Notes"),
        edit("add_section", "- b", target_section="## Notes"),
        edit("insert_after", "### Sub\n- c", target_text="They stay."),
    )
    text = result.skill.text
    assert text.count("## Notes") == 1
    assert "They stay.\n\n### Sub\n- c\n\n## Notes\n\n- a\n- b\n" in text


def test_defect_8_overlapping_lines_keep_the_better_supported() -> None:
    weak = edit("replace_in_section", "weak", old_text="Write values.", support=1)
    strong = edit("replace_in_section", "strong", old_text="values.\nThey", support=3)
    result = apply(weak, strong)
    assert "same lines" in result.withheld[0][1] or "not in the file" in result.withheld[0][1]
    assert "Write strong stay." in result.skill.text
    tie = apply(
        edit("delete_section", target_section="Deeper"),
        edit("replace_in_section", "other", old_text="deep text"),
    )
    assert [one.index for one in tie.applied] == [0]


def test_an_anchor_is_not_deleted_under_an_insertion() -> None:
    insertion = edit("insert_after", "- kept", target_text="deep text", support=2)
    assert "same lines" in reason(insertion, edit("delete_section", target_section="Deeper"))


def test_defect_9_pairs_are_judged_after_trial_application() -> None:
    create = edit("create", "# M", "references/money.md")
    bad_link = edit("insert_after", "[m](references/money.md)", target_text="absent")
    result = apply(create, bad_link)
    assert len(result.withheld) == 2
    assert "references/money.md" not in result.skill.files
    dangling = edit("append_to_section", "[m](references/money.md)", target_section="Writing")
    assert "does not exist" in reason(dangling)
    assert "still links" in reason(edit("delete_file", file="references/dates.md"))
    unlink = edit("replace_in_section", "", old_text="Read [dates](references/dates.md).")
    assert "only link" in reason(unlink)


def test_defect_10_distinct_appends_to_one_section_are_both_kept() -> None:
    a = edit("append_to_section", "- a longer lesson", target_section="Checks")
    b = edit("append_to_section", "- short", target_section="Checks")
    text = apply(a, b, a).skill.text
    assert text.count("- a longer lesson\n- short\n") == 1
    assert text.count("longer lesson") == 1


def test_limits_withhold_the_least_supported() -> None:
    long = "\n".join(f"- rule {n}" for n in range(470))
    big = edit("append_to_section", long, target_section="Checks", support=1)
    small = edit("append_to_section", "- rule x", target_section="Writing", support=2)
    assert "must stay below 480" in reason(big, small, limits=Limits(skill_lines=480))
    words = edit("append_to_section", "word " * 5000, target_section="Checks")
    assert "tokens" in reason(words)
    create = edit("create", "x\n" * 301, "references/x.md")
    link = edit("append_to_section", "references/x.md", target_section="Checks")
    assert len(apply(create, link).withheld) == 2
    short = edit("create", "x", "references/x.md")
    assert len(apply(short, link, limits=Limits(references=1)).withheld) == 2


def test_frontmatter_is_untouched_even_if_it_looks_like_an_anchor() -> None:
    one = edit("replace_in_section", "owned", old_text='name: "a-skill"')
    assert "not in the file" in reason(one)


def test_an_edit_may_rest_on_text_of_another() -> None:
    late = edit("insert_after", "- second", target_text="- first new", support=5)
    early = edit("append_to_section", "- first new", target_section="Writing", support=1)
    assert "- first new\n- second\n" in apply(late, early).skill.text


def test_a_flip_flop_never_settles_and_is_refused() -> None:
    there = edit("replace_in_section", "Beta", old_text="Write values.")
    back = edit("replace_in_section", "Write values.", old_text="Beta")
    apply(there, back)


def test_an_error_that_no_edit_was_withheld_for_undoes_everything() -> None:
    start = skill()
    good = edit("append_to_section", "- rule", target_section="Writing", support=3)
    bad = edit("replace_in_section", "New Section", old_text="Deeper")
    result = apply_patch(start, Patch(edits=(good, bad)))
    assert "placeholder heading" in result.rolled_back
    assert result.skill is start
    assert (result.applied, len(result.withheld)) == ((), 2)


LINES = len(SKILL.text.removesuffix("\n").split("\n"))


@pytest.mark.parametrize(
    ("limits", "size"),
    [
        (Limits(skill_lines=LINES + 1), f"(must stay below {LINES + 1})"),
        (Limits(skill_tokens=100), "tokens (limit 100)"),
        (Limits(reference_lines=4), "references/dates.md would have 4 lines"),
    ],
)
def test_each_tier_has_its_own_limit(limits: Limits, size: str) -> None:
    body = edit("append_to_section", "- rule\n- rule two", target_section="Writing")
    reference = edit("insert_after", "- b", "references/dates.md", target_text="- a date")
    result = apply(body, reference, limits=limits)
    ((withheld, why),) = result.withheld
    assert size in why
    assert withheld == (reference if "dates" in size else body)


def test_lines_know_their_edit() -> None:
    result = apply(
        edit("append_to_section", "- absent", target_section="Nowhere"),
        edit("append_to_section", "- rule", target_section="Writing"),
    )
    lines = result.skill.text.removesuffix("\n").split("\n")
    owners = result.lines["SKILL.md"]
    assert len(owners) == len(lines)
    assert [line for line, owner in zip(lines, owners, strict=True) if owner == 1 and line] == [
        "- rule"
    ]


def test_the_recorded_shape_of_a_patch_is_read() -> None:
    raw = {
        "reasoning": "r",
        "edits": [{"file": "SKILL.md", "op": "create_file", "target_section": ""}],
        "changelog_entries": ["c"],
        "batch_index": 1,
    }
    assert Patch.model_validate_json(json.dumps(raw)).edits[0].op == "create"
