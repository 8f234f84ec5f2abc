"""A skill directory as a value: read leniently, saying what was forgiven; written strictly.

Strict means what every known client accepts: block YAML, double-quoted values, no `---` inside.
Writing replaces a whole directory in one step.
"""

from __future__ import annotations

import ctypes
import difflib
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from harness.core import BadInput, Value, digest, inside, read_foreign, string, write_work_file
from harness.skills.markdown import Frontmatter, parse_header, render_header

SKILL_FILE = "SKILL.md"
JUNK = {"__pycache__", "node_modules", ".git", ".DS_Store"}
MAX_BYTES = 50_000_000
SKILL_FILE_BYTES = 1_000_000
_HEADER = re.compile(r"---[^\S\n]*\n(?:.*\n)*?---[^\S\n]*(?:\n|\Z)")


class Problem(Value):
    """Something a client of the skill would refuse (error) or a reader should know (warning).

    Attributes:
        line: line in `file` from 1, or None where no line applies.
    """

    level: Literal["error", "warning"]
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


@dataclass(frozen=True)
class Skill:
    """A skill directory as a value: every file in memory, nothing tied to a disk.

    Attributes:
        frontmatter: all keys of the frontmatter as text; `metadata` is a map of text.
        header: the frontmatter of SKILL.md with both `---` lines, as it was read.
        body: SKILL.md after the header; LF line ends.
        files: every file but SKILL.md: POSIX path relative to the skill -> bytes.
        executable: paths in `files` that carry an executable bit.
        warnings: what the lenient reader forgave.
        directory: name of the folder it was read from, None if it was built in memory.
    """

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
    def name(self) -> str:
        """From the frontmatter; "" if it has none."""
        return self._plain("name")

    @property
    def description(self) -> str:
        """Description by which a client decides to load the skill; "" if the header has none."""
        return self._plain("description")

    def _plain(self, key: str) -> str:
        return string(self.frontmatter.get(key))

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

    @property
    def scripts(self) -> list[str]:
        """Files that a client may run: under `scripts/`, executable, or starting with `#!`."""
        return [
            path
            for path, data in self.files.items()
            if path.startswith("scripts/") or path in self.executable or data.startswith(b"#!")
        ]

    def file_text(self, path: str) -> str | None:
        """A text file's content, None if it is absent or not UTF-8."""
        if path == SKILL_FILE:
            return self.text
        try:
            return self.files[path].decode() if path in self.files else None
        except UnicodeDecodeError:
            return None


def load_skill(path: Path | str) -> Skill:
    """Read the skill directory `path` (or the folder of a given SKILL.md).

    Byte-order mark, CRLF line ends, a lower-case `skill.md` and frontmatter that is no YAML are
    read and reported in `warnings`, as errors where clients refuse them; links that leave the
    directory are not followed.

    Raises:
        BadInput: if there is no SKILL.md, it leads out of the directory, is not UTF-8 or larger
            than 1 MB, or the directory is larger than 50 MB.
    """
    root = Path(path)
    if root.is_file() and root.name.lower() == "skill.md":
        root = root.parent
    paths, warnings = skill_paths(root)
    skill_file = next(name for name in (SKILL_FILE, "skill.md") if name in paths)
    if skill_file != SKILL_FILE:
        warnings.append(warning("the file must be called SKILL.md: many clients miss skill.md"))
    try:
        text = read_foreign(paths.pop(skill_file)).decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{str(root / skill_file)!r} is not UTF-8 (byte {error.start})") from error
    return parse_skill(
        text,
        files={relative: read_foreign(file) for relative, file in paths.items()},
        executable=frozenset(name for name, file in paths.items() if file.stat().st_mode & 0o100),
        warnings=tuple(warnings),
        directory=root.resolve().name,
    )


def skill_paths(root: Path) -> tuple[dict[str, Path], list[Problem]]:
    """The files that belong to a skill directory, by their paths in it, and what was passed over.

    Passed over are links that leave the directory, linked folders, what is no ordinary file, and
    names that no text can hold.

    Raises:
        BadInput: as :func:`load_skill`.
    """
    entries = {entry.name for entry in root.iterdir()} if root.is_dir() else set[str]()
    if not entries & {SKILL_FILE, "skill.md"}:
        raise BadInput(f"expected a skill directory with SKILL.md, found none at {str(root)!r}")
    skill_file = SKILL_FILE if SKILL_FILE in entries else "skill.md"
    paths: dict[str, Path] = {}
    passed_over: list[Problem] = []
    total = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - JUNK)
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        for name in sorted([*names, *linked]):
            file = Path(folder) / name
            relative = file.relative_to(root).as_posix()
            if name in JUNK or file.suffix == ".pyc":
                continue
            if not relative.isprintable():
                passed_over.append(warning(f"a name that is no text, not read: {relative!r}"))
                continue
            if inside(root, file) is None or not file.is_file():
                why = "link out of the skill or no ordinary file, not read"
                passed_over.append(warning(why, file=relative))
                continue
            size = file.stat().st_size
            total += size
            if total > MAX_BYTES:
                raise BadInput(f"{str(root)!r} holds more than {MAX_BYTES:,} bytes: is it a skill?")
            if relative == skill_file and size > SKILL_FILE_BYTES:
                raise BadInput(f"{str(file)!r} has more than {SKILL_FILE_BYTES:,} bytes")
            paths[relative] = file
    if skill_file not in paths:
        raise BadInput(f"{str(root / skill_file)!r} is no file of this skill: it leads out of it")
    return paths, passed_over


def copy_skill(root: Path, into: Path, name: str) -> None:
    """Copy what belongs to a skill directory below a work folder, byte for byte.

    Args:
        root: the skill directory.
        into: the work folder.
        name: of the copy in it.

    Raises:
        BadInput: as :func:`load_skill`.
    """
    for relative, file in skill_paths(root)[0].items():
        write_work_file(into, f"{name}/{relative}", read_foreign(file))
        Path(into, name, relative).chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


def parse_skill(
    text: str,
    *,
    files: dict[str, bytes] | None = None,
    executable: frozenset[str] = frozenset(),
    warnings: tuple[Problem, ...] = (),
    directory: str | None = None,
) -> Skill:
    """A skill from the text of its SKILL.md."""
    problems = list(warnings)
    if text.startswith("\ufeff"):
        problems.append(error("starts with a byte-order mark, which clients refuse", 1))
        text = text.removeprefix("\ufeff")
    if "\r" in text:
        problems.append(warning("has CRLF line ends; read as LF"))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    match = _HEADER.match(text)
    header = match.group() if match else ""
    values, complaint, readable = parse_header(header) if header else ({}, "", True)
    if complaint:
        problems.append((warning if readable else error)(complaint, 1))
    return Skill(
        frontmatter=values,
        header=header if header.endswith("\n") or not header else header + "\n",
        body=text[len(header) :],
        files=files or {},
        executable=executable,
        warnings=tuple(problems),
        directory=directory,
    )


def new_skill(name: str, description: str, body: str = "", **frontmatter: str) -> Skill:
    """A skill built in memory, with strict frontmatter."""
    values: dict[str, str] = {"name": name, "description": description, **frontmatter}
    title = name.replace("-", " ").capitalize()
    return Skill(frontmatter=values, header=render_header(values), body=body or f"\n# {title}\n")


def strict(skill: Skill) -> Skill:
    """The skill with its frontmatter in the strict form and one line end at the end.

    Raises:
        BadInput: if the frontmatter lacks name or description or has no strict form.
    """
    if not skill.name or not skill.description.strip():
        raise BadInput("a skill needs a name and a description in its frontmatter")
    if "<" in skill.description or ">" in skill.description:
        raise BadInput("the description holds '<' or '>', which some clients refuse: reword it")
    body = skill.body if skill.body.endswith("\n") else skill.body + "\n"
    return replace(skill, header=render_header(skill.frontmatter), body=body, warnings=())


def write_skill(skill: Skill, path: Path | str) -> None:
    """Write `skill` to the directory `path`, replacing what was there in one step.

    The new directory is built under a hidden name beside it and swapped in. Nothing is ever left
    beside the skill.

    Raises:
        BadInput: if `path` is a link or no directory, its name is not the skill's, or the disk
            refuses; the old skill is then untouched.
    """
    target = Path(path)
    ready = strict(skill)
    if target.name != ready.name:
        raise BadInput(f"skill {ready.name!r} must lie in a directory of that name, not {target}")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BadInput(f"{str(target)!r} is a link or a file: expected a directory or nothing")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".writing-") as folder:
            built, old = Path(folder) / "new", Path(folder) / "old"
            for relative, data in ready.all_files.items():
                file = built / relative
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as handle:
                    handle.write(data)
                    handle.flush()
                    os.fsync(handle.fileno())
                file.chmod(0o755 if relative in ready.executable else 0o644)
            for part in (built, *(path for path in built.rglob("*") if path.is_dir())):
                part.chmod(0o755)
            if not target.exists():
                built.rename(target)
            elif not _exchange(built, target):
                target.rename(old)
                try:
                    built.rename(target)
                except OSError:
                    old.rename(target)
                    raise
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from error


def _exchange(a: Path, b: Path) -> bool:
    """Swap two directories in one step where the kernel can (Linux); False where it cannot.

    Two renames would leave a moment in which a kill finds no skill at all.
    """
    call = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    current_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    arguments = (current_folder, os.fsencode(a), current_folder, os.fsencode(b), exchange)
    return call is not None and call(*arguments) == 0


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
