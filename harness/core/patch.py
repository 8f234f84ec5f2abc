"""A patch: edits to a skill directory proposed from one record or merged from many.

The JSON is that of Trace2Skill (arXiv 2603.25158, official repository), plus `sources` and
`support` on every edit.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from harness.core.values import Value

EditOp = Literal[
    "insert_after",
    "insert_before",
    "append_to_section",
    "replace_in_section",
    "add_section",
    "delete_section",
    "create",
    "delete_file",
]

OP_ALIASES = {
    "create_file": "create",
    "createFile": "create",
    "deleteFile": "delete_file",
    "append_section": "append_to_section",
}


class Edit(Value):
    """One edit of one file.

    Attributes:
        file: path relative to the skill directory.
        op: one of the eight operations.
        target_section: heading (with or without `#` marks) that the edit belongs to.
        target_text: anchor of insert_after and insert_before.
        content: new text.
        old_text: text that replace_in_section replaces.
        after_section: heading that add_section follows.
        sources: ids of the trajectories that this edit was learned from, sorted.
        support: number of distinct tasks among the sources.
    """

    file: str
    op: EditOp
    target_section: str = ""
    target_text: str = ""
    content: str = ""
    old_text: str = ""
    after_section: str = ""
    sources: tuple[str, ...] = ()
    support: int = Field(default=0, ge=0)

    @field_validator("op", mode="before")
    @classmethod
    def _alias(cls, value: Any) -> Any:
        return OP_ALIASES.get(value, value) if isinstance(value, str) else value


class Patch(Value):
    """A set of edits with the reasoning behind them; `batch_index` is -1 for merged patches."""

    reasoning: str = ""
    edits: tuple[Edit, ...] = ()
    changelog_entries: tuple[str, ...] = ()
    batch_index: int = -1
