"""The values of this room: a skill, a problem of a skill, the result of a patch, a difference."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from harness.core import Edit, Value, digest

SKILL_FILE = "SKILL.md"
Frontmatter = Mapping[str, str | Mapping[str, str]]
Level = Literal["error", "warning"]


class Problem(Value):
    """Something a client of the skill would refuse (error) or a reader should know (warning).

    Attributes:
        line: line in `file` from 1, or None where no line applies.
    """

    level: Level
    file: str
    line: int | None = None
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{self.level}: {where}: {self.message}"


def error(message: str, line: int | None = None, file: str = SKILL_FILE) -> Problem:
    """A problem for which some client refuses the skill."""
    return Problem(level="error", file=file, line=line, message=message)


def warning(message: str, line: int | None = None, file: str = SKILL_FILE) -> Problem:
    """A problem that a reader should know of."""
    return Problem(level="warning", file=file, line=line, message=message)


class Limits(Value):
    """Sizes that a skill may not reach (lines, tokens) or pass (references).

    The lines and tokens are those of the agentskills specification and of the paper's
    guardrails; the official prompt allows five references, we allow twenty by default.
    """

    skill_lines: int = 500
    skill_tokens: int = 5000
    reference_lines: int = 300
    references: int = 20


@dataclass(frozen=True)
class Skill:
    """A skill directory as a value: every file in memory, nothing tied to a disk.

    Attributes:
        name: from the frontmatter, "" if it has none.
        description: when and for what a client should load the skill.
        frontmatter: all keys of the frontmatter as text; `metadata` is a map of text.
        header: the frontmatter of SKILL.md with both `---` lines, as it was read.
        body: SKILL.md after the header; LF line ends.
        files: every file but SKILL.md: POSIX path relative to the skill -> bytes.
        executable: paths in `files` that carry an executable bit.
        warnings: what the lenient reader forgave.
        directory: name of the folder it was read from, None if it was built in memory.
    """

    name: str
    description: str
    frontmatter: Frontmatter
    header: str
    body: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    executable: frozenset[str] = frozenset()
    warnings: tuple[Problem, ...] = ()
    directory: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "frontmatter", MappingProxyType(dict(self.frontmatter)))
        object.__setattr__(self, "files", MappingProxyType(dict(sorted(self.files.items()))))

    @property
    def text(self) -> str:
        """SKILL.md as a whole."""
        return self.header + self.body

    @property
    def all_files(self) -> dict[str, bytes]:
        """Every file with SKILL.md, sorted by path."""
        return dict(sorted({**self.files, SKILL_FILE: self.text.encode()}.items()))

    @property
    def digest(self) -> str:
        """Equal to :func:`harness.core.digest_tree` of the directory once it is written."""
        return digest({path: digest(data) for path, data in self.all_files.items()})

    def file_text(self, path: str) -> str | None:
        """A text file's content, None if it is absent or not UTF-8."""
        if path == SKILL_FILE:
            return self.text
        try:
            return self.files[path].decode() if path in self.files else None
        except UnicodeDecodeError:
            return None


class AppliedEdit(Value):
    """An edit that is in the result.

    Attributes:
        index: position in the patch, from 0.
        changed: False if the skill already said this (a re-run).
        note: how the edit was adapted (headings demoted, merged into an existing section, ...).
    """

    edit: Edit
    index: int
    changed: bool
    note: str = ""


@dataclass(frozen=True)
class ApplyResult:
    """The result of :func:`harness.skills.apply_patch`.

    Attributes:
        skill: the new skill; the old one, untouched, if `rolled_back`.
        applied: edits in the result, in patch order.
        withheld: (edit, reason) of the others, in patch order.
        rolled_back: why the whole application was undone, "" if it stands.
        lines: file -> index of the edit (or None) that each line comes from; 1 entry per line.
    """

    skill: Skill
    applied: tuple[AppliedEdit, ...]
    withheld: tuple[tuple[Edit, str], ...]
    rolled_back: str = ""
    lines: Mapping[str, tuple[int | None, ...]] = field(
        default_factory=dict[str, tuple[int | None, ...]]
    )


def diff(a: Skill, b: Skill) -> str:
    """Unified diff from `a` to `b`; "" if they are equal. Binary files are named with digests."""
    before, after = a.all_files, b.all_files
    parts: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            if (path in a.executable) != (path in b.executable):
                parts.append(f"mode of {path} changed\n")
            continue
        try:
            lines = [(data or b"").decode().splitlines(keepends=True) for data in (old, new)]
        except UnicodeDecodeError:
            digests = ["absent" if data is None else digest(data)[:12] for data in (old, new)]
            parts.append(f"binary {path}: {' -> '.join(digests)}\n")
            continue
        names = ["/dev/null" if old is None else f"a/{path}"]
        names.append("/dev/null" if new is None else f"b/{path}")
        rows = difflib.unified_diff(lines[0], lines[1], names[0], names[1])
        no_end = "\n\\ No newline at end of file\n"
        parts += [row if row.endswith("\n") else row + no_end for row in rows]
    return "".join(parts)
