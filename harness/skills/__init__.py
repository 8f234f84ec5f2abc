"""A skill directory as a value: parse, validate, patch, write, explain, diff, export."""

from __future__ import annotations

from harness.skills.apply import apply_patch
from harness.skills.diff import diff
from harness.skills.export import Exported, Target, export, install, pack
from harness.skills.markdown import Section, find_sections, sections
from harness.skills.provenance import (
    Explanation,
    Provenance,
    explain,
    explain_place,
    provenance_of,
    provenance_path,
    read_provenance,
    write_provenance,
)
from harness.skills.read import load_skill, new_skill, parse_skill
from harness.skills.summary import summary
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
    "Explanation",
    "Exported",
    "Limits",
    "Problem",
    "Provenance",
    "Section",
    "Skill",
    "Target",
    "apply_patch",
    "count_tokens",
    "diff",
    "explain",
    "explain_place",
    "export",
    "find_sections",
    "install",
    "load_skill",
    "new_skill",
    "pack",
    "parse_skill",
    "provenance_of",
    "provenance_path",
    "read_provenance",
    "sections",
    "summary",
    "validate",
    "write_provenance",
    "write_skill",
]
