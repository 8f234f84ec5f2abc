"""No patch whatever breaks the invariants of :func:`harness.skills.apply_patch`."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import Edit, Patch
from harness.skills import apply_patch, load_skill, new_skill, provenance_of, validate, write_skill

BODY = """
# Basics

See [dates](references/dates.md).

## Checks

- check one
- check two

```python
# Checks
x = 1
```

### Deeper

deep text
"""
SKILL = replace(
    new_skill("a-skill", "Use when testing.", BODY), files={"references/dates.md": b"# Dates\n"}
)
OPS = (
    "insert_after",
    "insert_before",
    "append_to_section",
    "replace_in_section",
    "add_section",
    "delete_section",
    "create",
    "delete_file",
)
FRAGMENTS = (
    "- check one",
    "- check two",
    "check",
    "x = 1",
    "deep text",
    "## Checks",
    "### Deeper",
    "Checks",
    "Deeper",
    "Notes",
    "# Basics",
    "[dates](references/dates.md)",
    "[money](references/money.md)",
    "```",
    "```python\ny = 2\n```",
    "---",
    "===",
    "<!--",
    "| a | b |",
    "> quoted",
    "",
    " ",
    "New Section",
)
TEXT = st.one_of(
    st.sampled_from(FRAGMENTS),
    st.lists(st.sampled_from(FRAGMENTS), min_size=2, max_size=3).map("\n".join),
    st.text(max_size=12),
)
FILES = st.sampled_from(
    [
        "SKILL.md",
        "SKILL.md",
        "SKILL.md",
        "references/dates.md",
        "references/money.md",
        "../out.md",
        "/out.md",
        "references/../../out.md",
        "x/y/../../../out.md",
    ]
)
WILD = st.builds(
    Edit,
    file=st.one_of(FILES, st.text(max_size=8)),
    op=st.sampled_from(OPS),
    target_section=TEXT,
    target_text=TEXT,
    content=TEXT,
    old_text=TEXT,
    after_section=TEXT,
    support=st.integers(0, 3),
)
# Edits that mostly fit, so that they meet each other.
SECTIONS = st.sampled_from(["Checks", "## Checks", "Deeper", "Checks > Deeper", "Notes", "Basics"])
ANCHORS = st.sampled_from(
    ["- check one", "- check two", "x = 1", "deep text", "two", "- new", "### Sub", "See [dates]"]
)
CONTENT = st.sampled_from(
    [
        "- new",
        "- new\n- newer",
        "### Sub\n\ntext",
        "# Checks\n\n- in checks",
        "## Notes\n- noted",
        "A paragraph.",
        "Setext\n------\n\ntext",
        "- [money](references/money.md)",
        "- see `references/dates.md`",
        "deep text",
        "- check one",
        "```python\n# Checks\n```",
        "| a | b |\n|---|---|",
        "---",
        "```\nopen",
        "    indented",
    ]
)
FITTING = st.builds(
    Edit,
    file=st.sampled_from(["SKILL.md"] * 6 + ["references/dates.md", "references/money.md"]),
    op=st.sampled_from(OPS),
    target_section=st.one_of(SECTIONS, st.just("")),
    target_text=ANCHORS,
    content=CONTENT,
    old_text=ANCHORS,
    after_section=st.one_of(SECTIONS, st.just("")),
    support=st.integers(0, 3),
)
EDITS = st.one_of(FITTING, FITTING, FITTING, WILD)


@given(edits=st.lists(EDITS, max_size=7))
def test_any_patch_leaves_a_valid_skill_and_settles(edits: list[Edit]) -> None:
    patch = Patch(edits=tuple(edits))
    result = apply_patch(SKILL, patch)
    assert len(result.applied) + len(result.withheld) == len(edits)
    assert [one for one in validate(result.skill) if one.level == "error"] == []
    assert result.skill.header == SKILL.header
    assert set(result.skill.files) <= {"references/dates.md", "references/money.md"} | {
        path for path in result.skill.files if path.count("/") == 1 and ".." not in path
    }
    again = apply_patch(result.skill, patch)
    assert again.skill.all_files == result.skill.all_files
    assert apply_patch(SKILL, patch).skill == result.skill
    kept = provenance_of(result, SKILL)
    assert kept.skill == result.skill.digest


@settings(max_examples=40, deadline=None)
@given(edits=st.lists(EDITS, max_size=5))
def test_nothing_is_written_outside(edits: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "skills" / "a-skill"
        result = apply_patch(SKILL, Patch(edits=tuple(edits)))
        write_skill(result.skill, root)
        assert [path.name for path in Path(folder).iterdir()] == ["skills"]
        assert [path.name for path in root.parent.iterdir()] == ["a-skill"]
        assert load_skill(root).all_files == result.skill.all_files


def test_the_recorded_patches_of_a_real_model(shared: Path) -> None:
    """223 edits that Qwen3.5-122B proposed: the result is valid, within limits and stable."""
    edits: list[Edit] = []
    rows = (shared / "data/dev/spreadsheet_skill_patches.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, rows):
        edits += [
            Edit(
                file=raw["file"],
                op="add_section",
                target_section=raw["target"],
                content=raw["content"],
                sources=(row["trajectory_id"],),
                support=1,
            )
            for raw in row.get("edits", [])
        ]
    patch = Patch(edits=tuple(edits))
    result = apply_patch(SKILL, patch)
    assert result.rolled_back == ""
    assert len(result.applied) >= 20
    assert [one for one in validate(result.skill) if one.level == "error"] == []
    assert apply_patch(result.skill, patch).skill == result.skill
