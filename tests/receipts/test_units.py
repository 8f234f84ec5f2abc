"""Cutting skills into units, and rendering any subset of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.receipts import Cut, cut
from harness.skills import Skill, load_skill, new_skill, validate

PARTS = st.sampled_from(
    [
        "## Look\n",
        "### Deeper\n",
        "## Examples\n",
        "A paragraph. It has two sentences.\n",
        "Do this:\n",
        "- one\n- two\n  - nested\n",
        "1. first\n\n   more of it\n2. second\n",
        "```python\n# no heading\nprint(1)\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "See [dates](references/dates.md) for dates. Keep types.\n",
        "- Run `scripts/fix.py` or read references/dates.md.\n",
        "Read references/other.md.\n",
        "<!-- a comment -->\n",
        "---\n",
        "Setext\n------\n",
        "- item\n```\ncode right behind it\n```\n",
    ]
)
FILES = {
    "references/dates.md": b"# Dates\n\nSee references/other.md. Dates are hard.\n",
    "references/other.md": b"# Other\n\n- a\n- b\n",
    "scripts/fix.py": b"print(1)\n",
}


def _skill(parts: list[str], tight: bool) -> Skill:
    body = "\n# Title\n\n" + ("" if tight else "\n").join(parts)
    named = {path: data for path, data in FILES.items() if path in body}
    if "references/dates.md" in named:
        named["references/other.md"] = FILES["references/other.md"]
    skill = new_skill("some-skill", "Does something.", body)
    return replace(skill, files=named)


def _errors(skill: Skill) -> set[str]:
    """Errors without line numbers and sizes, which shift with what is left out."""
    return {f"{one.file}: {one.message}" for one in validate(skill) if one.level == "error"}


@given(parts=st.lists(PARTS, max_size=12), tight=st.booleans(), data=st.data())
def test_all_units_are_the_skill_and_any_subset_validates(
    parts: list[str], tight: bool, data: st.DataObject
) -> None:
    skill = _skill(parts, tight)
    parsed = cut(skill)
    numbers = range(len(parsed.units))
    assert _every_text(parsed, set(numbers)) == skill.body
    chosen = data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set[int]()))
    rendered = parsed.render(chosen)
    assert _errors(rendered) <= _errors(skill)
    assert rendered.header == skill.header
    gone = {p for unit in parsed.units if unit.number not in chosen for p in unit.files}
    assert not gone & rendered.files.keys()


def _every_text(parsed: Cut, numbers: set[int]) -> str:
    """SKILL.md's body put together from its segments, not taken from the skill."""
    return parsed.text("SKILL.md", numbers)


def test_each_unit_brings_its_own_text_and_nothing_of_the_others(repository: Path) -> None:
    skill = load_skill(repository / "skills" / "spreadsheet-basics")
    parsed = cut(skill)
    kinds = [unit.kind for unit in parsed.units]
    assert kinds.count("rule") == 15 and kinds.count("example") == 1
    assert kinds.count("reference") == 1 and kinds.count("section") == 1
    texts = [unit.text for unit in parsed.units if not unit.files]
    for unit in parsed.units:
        body = parsed.render([unit.number]).body
        shown = [text for text in texts if text in body]
        assert shown == ([] if unit.files else [unit.text])
        lines = skill.text.split("\n")
        if not unit.files:
            assert "\n".join(lines[unit.lines[0] - 1 : unit.lines[1]]) == unit.text


def test_what_only_leads_somewhere_goes_along() -> None:
    body = (
        "\n# T\n\n## Rules\n\nFollow these:\n\n- a\n- b\n\n## Dates\n\n"
        "Read [dates](references/dates.md). Keep types.\n\n## More\n\nSee references/dates.md.\n"
    )
    skill = replace(
        new_skill("some-skill", "Does something.", body),
        files={"references/dates.md": b"# Dates\n"},
    )
    parsed = cut(skill)
    assert [unit.id for unit in parsed.units][2:] == ["SKILL.md:17", "references/dates.md"]
    assert parsed.render([1]).body == "\n# T\n\n## Rules\n\nFollow these:\n\n- b\n"
    assert parsed.render([2]).body == "\n# T\n\n## Dates\n\nKeep types.\n"
    only = parsed.render([3])
    assert "Read [dates](references/dates.md)." in only.body and "Keep types" not in only.body
    assert "## More" in only.body and "## Rules" not in only.body
    assert list(only.files) == ["references/dates.md"]
    assert parsed.render([]).body == "\n# T\n"


def test_a_skill_without_anything_left_keeps_a_title() -> None:
    skill = new_skill("some-skill", "Does something.", "\nOnly text.\n")
    assert cut(skill).render([]).body == "\n# Some skill\n"
