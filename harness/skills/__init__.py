"""A skill directory as a value: parse, validate, patch, write, explain, diff, export."""

from __future__ import annotations

from harness.skills.apply import apply_patch
from harness.skills.archive import pack
from harness.skills.benchmark import Attempt, benchmark_of, evals_of, history_of
from harness.skills.creator import Benchmark, Evals, History, creator_text, read_creator
from harness.skills.diff import diff
from harness.skills.export import Exported, Target, export, export_creator, install
from harness.skills.gated import refuse_ungated
from harness.skills.lint import lint_text
from harness.skills.markdown import Section, find_sections, sections
from harness.skills.provenance import (
    Explanation,
    Provenance,
    explain,
    explain_file,
    explain_place,
    provenance_of,
    provenance_path,
    read_provenance,
    write_provenance,
)
from harness.skills.read import load_skill, new_skill, parse_skill
from harness.skills.receipts import receipt_files
from harness.skills.review import (
    Decision,
    Review,
    ReviewRow,
    open_review,
    read_review,
    review_form,
    review_path,
    review_rows,
    rows_of,
    write_review,
)
from harness.skills.reviewed import (
    Reviewed,
    apply_review,
    decisions,
    take_decisions,
    undecided,
)
from harness.skills.rollback import Rollback, rollback
from harness.skills.scripts import Execute, admit_scripts, scripts_of
from harness.skills.sources import Quote, Source, matching, read_sources, sources_of
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
from harness.skills.versions import (
    Version,
    list_versions,
    read_log,
    read_version,
    record_version,
    version_skill,
    versions_path,
)
from harness.skills.write import write_skill

__all__ = [
    "SKILL_FILE",
    "TOKENIZER",
    "AppliedEdit",
    "ApplyResult",
    "Attempt",
    "Benchmark",
    "Decision",
    "Evals",
    "Execute",
    "Explanation",
    "Exported",
    "History",
    "Limits",
    "Problem",
    "Provenance",
    "Quote",
    "Review",
    "ReviewRow",
    "Reviewed",
    "Rollback",
    "Section",
    "Skill",
    "Source",
    "Target",
    "Version",
    "admit_scripts",
    "apply_patch",
    "apply_review",
    "benchmark_of",
    "count_tokens",
    "creator_text",
    "decisions",
    "diff",
    "evals_of",
    "explain",
    "explain_file",
    "explain_place",
    "export",
    "export_creator",
    "find_sections",
    "history_of",
    "install",
    "lint_text",
    "list_versions",
    "load_skill",
    "matching",
    "new_skill",
    "open_review",
    "pack",
    "parse_skill",
    "provenance_of",
    "provenance_path",
    "read_creator",
    "read_log",
    "read_provenance",
    "read_review",
    "read_sources",
    "read_version",
    "receipt_files",
    "record_version",
    "refuse_ungated",
    "review_form",
    "review_path",
    "review_rows",
    "rollback",
    "rows_of",
    "scripts_of",
    "sections",
    "sources_of",
    "summary",
    "take_decisions",
    "undecided",
    "validate",
    "version_skill",
    "versions_path",
    "write_provenance",
    "write_review",
    "write_skill",
]
