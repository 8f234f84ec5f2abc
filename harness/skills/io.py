"""Read a skill directory into a value; forgiving, and saying what it forgave."""

from __future__ import annotations

import os
from pathlib import Path

from harness.core.errors import BadInput
from harness.skills.frontmatter import parse_header, render_header, split_header
from harness.skills.types import SKILL_FILE, Problem, Skill

JUNK = {"__pycache__", "node_modules", ".git", ".DS_Store"}
MAX_BYTES = 50_000_000


def load_skill(path: Path | str) -> Skill:
    """Read the skill directory `path` (or the folder of a given SKILL.md).

    Byte-order mark, CRLF line ends, a lower-case `skill.md` and frontmatter that is no YAML are
    read and reported in `warnings`; links that leave the directory are not followed.

    Raises:
        BadInput: if there is no SKILL.md, it is not UTF-8, or the directory is larger than 50 MB.
    """
    root = Path(path)
    if root.is_file() and root.name.lower() == "skill.md":
        root = root.parent
    names = {entry.name for entry in root.iterdir()} if root.is_dir() else set[str]()
    found = next((name for name in (SKILL_FILE, "skill.md") if name in names), None)
    if found is None:
        raise BadInput(f"expected a skill directory with SKILL.md, found none at {str(root)!r}")
    warnings: list[Problem] = []
    if found != SKILL_FILE:
        warnings.append(_warning("the file must be called SKILL.md: many clients miss skill.md"))
    files, executable = _read_files(root, found, warnings)
    try:
        text = (root / found).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{str(root / found)!r} is not UTF-8 (byte {error.start})") from error
    return parse_skill(
        text,
        files=files,
        executable=executable,
        warnings=tuple(warnings),
        directory=root.resolve().name,
    )


def parse_skill(
    text: str,
    *,
    files: dict[str, bytes] | None = None,
    executable: frozenset[str] = frozenset(),
    warnings: tuple[Problem, ...] = (),
    directory: str | None = None,
) -> Skill:
    """A skill from the text of its SKILL.md."""
    found = list(warnings)
    if text.startswith("\ufeff"):
        found.append(_warning("starts with a byte-order mark, which clients refuse", 1))
        text = text.removeprefix("\ufeff")
    if "\r" in text:
        found.append(_warning("has CRLF line ends; read as LF"))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    header, body = split_header(text)
    values, complaint = parse_header(header) if header else ({}, "")
    if complaint:
        found.append(_warning(complaint, 1))
    name, description = values.get("name", ""), values.get("description", "")
    return Skill(
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
        frontmatter=values,
        header=header,
        body=body,
        files=files or {},
        executable=executable,
        warnings=tuple(found),
        directory=directory,
    )


def new_skill(name: str, description: str, body: str = "", **frontmatter: str) -> Skill:
    """A skill built in memory, with strict frontmatter."""
    values: dict[str, str] = {"name": name, "description": description, **frontmatter}
    return Skill(
        name=name,
        description=description,
        frontmatter=values,
        header=render_header(values),
        body=body or f"\n# {name.replace('-', ' ').capitalize()}\n",
    )


def _read_files(
    root: Path, skill_file: str, warnings: list[Problem]
) -> tuple[dict[str, bytes], frozenset[str]]:
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    total = 0
    inside = root.resolve()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one not in JUNK)
        for name in sorted(names):
            path = Path(folder) / name
            relative = path.relative_to(root).as_posix()
            if relative == skill_file or name in JUNK or name.endswith(".pyc"):
                continue
            if not path.resolve().is_relative_to(inside) or not path.is_file():
                warnings.append(_warning("link out of the skill, not read", file=relative))
                continue
            total += path.stat().st_size
            if total > MAX_BYTES:
                raise BadInput(f"{str(root)!r} holds more than {MAX_BYTES:,} bytes: is it a skill?")
            files[relative] = path.read_bytes()
            if path.stat().st_mode & 0o100:
                executable.add(relative)
    return files, frozenset(executable)


def _warning(message: str, line: int | None = None, file: str = SKILL_FILE) -> Problem:
    return Problem(level="warning", file=file, line=line, message=message)
