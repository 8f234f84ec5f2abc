"""A skill directory as a value: parse, validate, patch, write, explain, diff, export."""

from __future__ import annotations

from harness.skills.apply import apply_patch
from harness.skills.markdown import Section, find_sections, sections
from harness.skills.read import load_skill, new_skill, parse_skill
from harness.skills.tokens import TOKENIZER, count_tokens
from harness.skills.types import (
    SKILL_FILE,
    AppliedEdit,
    ApplyResult,
    Limits,
    Problem,
    Skill,
)
from harness.skills.validate import validate
from harness.skills.write import write_skill

__all__ = [
    "SKILL_FILE",
    "TOKENIZER",
    "AppliedEdit",
    "ApplyResult",
    "Limits",
    "Problem",
    "Section",
    "Skill",
    "apply_patch",
    "count_tokens",
    "find_sections",
    "load_skill",
    "new_skill",
    "parse_skill",
    "sections",
    "validate",
    "write_skill",
]
