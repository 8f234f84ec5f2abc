"""Three sizes of one skill from the same rules: nothing vanishes, and compact is compact."""

from __future__ import annotations

import pytest

from harness.core import Edit, Patch
from harness.evolve import EvolveOptions, seed_skill
from harness.evolve.merge.skill_layout import COMPACT_TOKENS, REFERENCE_RULES, assemble
from harness.evolve.types import Size
from harness.skills import apply_patch, count_tokens, validate

VERBS = ("sort", "copy", "count", "mark", "read", "join", "split", "round", "clean", "check")
NOUNS = (
    "rows",
    "columns",
    "cells",
    "dates",
    "totals",
    "names",
    "prices",
    "titles",
    "units",
    "codes",
)
RULES = [
    f"When you {verb} {noun}, look at the first and the last of them before you go on."
    for verb in VERBS
    for noun in NOUNS
]


def merged(number: int, text: str) -> Edit:
    support = max(1, 60 - number)
    sources = tuple(f"t{index}" for index in range(support))
    return Edit(
        file="SKILL.md", op="append_to_section", target_section="Lessons",
        content=f"- **{text.split()[2].title()}**: {text}", sources=sources, support=support,
    )  # fmt: skip


@pytest.mark.parametrize("size", ["compact", "standard", "full"])
def test_every_rule_is_in_the_skill_or_listed(size: Size, tmp_path: object) -> None:
    edits = [merged(number, text) for number, text in enumerate(RULES)]
    edits.append(merged(99, "Full Data Coverage."))
    seed = seed_skill(EvolveOptions.model_validate({"out": "x", "create": "tables", "size": size}))
    tasks = {f"t{index}": f"t{index}" for index in range(60)}
    final, discarded = assemble(seed, edits, tasks, min_support=2, max_rules=40, size=size)
    skill = apply_patch(seed, Patch(edits=final)).skill
    assert not [problem for problem in validate(skill) if problem.level == "error"]
    written = "\n".join(data.decode() for data in skill.all_files.values())
    for text in [*RULES, "Full Data Coverage."]:
        listed = [row for row in discarded if text in row.content]
        assert (text in written) != bool(listed), text
    assert "**" not in written
    in_skill = sum(text in skill.text for text in RULES)
    if size == "compact":
        assert count_tokens(skill.body) <= COMPACT_TOKENS and not skill.files
        assert 5 <= in_skill < 40
        assert all(text in skill.text for text in RULES[:in_skill])  # the best supported
    else:
        assert in_skill == 40
        assert sum(text in written for text in RULES) == min(100, 40 + REFERENCE_RULES[size])


def test_compact_leaves_the_text_of_a_seed_alone() -> None:
    seed = seed_skill(EvolveOptions.model_validate({"out": "x", "create": "tables"}))
    tasks = {f"t{index}": f"t{index}" for index in range(60)}
    edits = [merged(number, text) for number, text in enumerate(RULES)]
    final, _ = assemble(seed, edits, tasks, min_support=2, max_rules=40, size="compact")
    skill = apply_patch(seed, Patch(edits=final)).skill
    assert skill.body.startswith(seed.body.rstrip())
    assert len(final) >= 5
