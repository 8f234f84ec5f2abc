"""Make an earlier version the skill again."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput
from harness.core.values import Value
from harness.skills.diff import diff
from harness.skills.history import (
    Version,
    log_restored,
    read_log,
    read_version,
    record_version,
    version_skill,
)
from harness.skills.io import load_skill
from harness.skills.provenance import Provenance, provenance_path, read_provenance, write_provenance
from harness.skills.types import Skill
from harness.skills.write import write_skill


class Rollback(Value):
    """What a rollback did.

    Attributes:
        before: digest of what was there; `harness skill rollback --to` it undoes this.
        after: digest of what is there now.
        kept: whether what was there had to be recorded first (it was edited by hand).
    """

    before: str
    after: str
    kept: bool
    diff: str


def rollback(skill_dir: Path, to: str | None = None) -> Rollback:
    """Put a version in place of the skill, with the provenance it had.

    What is there now is recorded first, so that nothing is lost and the way back is open. The
    directory is swapped in one step; a kill before the last write is mended by a second call.

    Args:
        skill_dir: the skill directory.
        to: digest or the start of one; default the parent of what is there now.

    Raises:
        BadInput: if there is no such version, or the skill has no parent.
    """
    current = load_skill(skill_dir)
    target = read_version(skill_dir, to) if to else _parent(skill_dir, current)
    chosen = version_skill(skill_dir, target)
    kept = keep_current(skill_dir, current)
    install_version(skill_dir, target, chosen)
    return Rollback(
        before=current.digest, after=target.digest, kept=kept, diff=diff(current, chosen)
    )


def keep_current(skill_dir: Path, current: Skill) -> bool:
    """Record what is there unless it is recorded; whether it had to be."""
    if current.digest in {entry.digest for entry in read_log(skill_dir)}:
        return False
    record_version(skill_dir, "edited by hand", _provenance(skill_dir), skill=current)
    return True


def install_version(skill_dir: Path, version: Version, skill: Skill) -> None:
    """Write a recorded version where the skill lies: text, provenance, then the log."""
    if load_skill(skill_dir).all_files != skill.all_files:
        write_skill(skill, skill_dir)
    if version.provenance is None:
        provenance_path(skill_dir).unlink(missing_ok=True)
    else:
        write_provenance(version.provenance, skill_dir)
    log_restored(skill_dir, version.digest)


def _parent(skill_dir: Path, current: Skill) -> Version:
    log = read_log(skill_dir)
    if not log:
        raise BadInput(f"no version of {str(skill_dir)!r} was recorded: nothing to go back to")
    if current.digest not in {entry.digest for entry in log}:
        return read_version(skill_dir, log[-1].digest)  # undo what was edited by hand
    parent = read_version(skill_dir, current.digest).parent
    if not parent:
        raise BadInput("this is the first version of the skill: name another one with --to")
    return read_version(skill_dir, parent)


def _provenance(skill_dir: Path) -> Provenance | None:
    try:
        return read_provenance(skill_dir)
    except BadInput:
        return None
