"""Write a skill directory, whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.core.errors import BadInput
from harness.skills.frontmatter import render_header
from harness.skills.types import Skill


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


def write_skill(skill: Skill, path: Path | str, backup: Path | None = None) -> Path | None:
    """Write `skill` to the directory `path`, replacing what was there in one step.

    The new directory is built under a hidden name beside it and swapped in; a skill that
    was there is moved to `backup` (a folder outside the folder of skills) or dropped.
    Nothing is ever left beside the skill.

    Returns:
        Where the old skill was kept, or None.

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
    if backup is not None and backup.resolve().parent == target.parent.resolve():
        raise BadInput(f"backup {str(backup)!r} would lie beside the skill, as a skill")
    try:
        return _swap(ready, target, backup)
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from error


def _swap(skill: Skill, target: Path, backup: Path | None) -> Path | None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".writing-") as folder:
        built, old = Path(folder) / "new", Path(folder) / "old"
        _write_files(skill, built)
        kept: Path | None = None
        if not target.exists():
            built.rename(target)
            return None
        if backup is not None:
            kept = _free_name(backup)
            shutil.copytree(target, kept, symlinks=True)
        if not _exchange(built, target):
            target.rename(old)
            try:
                built.rename(target)
            except OSError:
                old.rename(target)
                raise
        return kept


def _exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step where the kernel can (Linux); False where it cannot.

    Two renames would leave a moment in which a kill finds no skill at all.
    """
    call = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _free_name(backup: Path) -> Path:
    backup.parent.mkdir(parents=True, exist_ok=True)
    candidate, number = backup, 1
    while candidate.exists():
        number += 1
        candidate = backup.with_name(f"{backup.name}-{number}")
    return candidate


def _write_files(skill: Skill, root: Path) -> None:
    for relative, data in skill.all_files.items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        path.chmod(0o755 if relative in skill.executable else 0o644)
    for folder in (root, *(one for one in root.rglob("*") if one.is_dir())):
        folder.chmod(0o755)
