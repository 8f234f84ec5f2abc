"""The versions of a skill, content-addressed, beside it: `<skill>.versions/`.

`objects/<sha256>` hold file contents, `<digest>.json` says what a version consists of, and
`log.json` in which order versions were recorded or restored. No file there is called SKILL.md, so
no client takes an old version for a skill. Nothing depends on the clock, the user or the machine:
the same evolution leaves the same bytes.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

from harness.core import BadInput, Edit, Value, digest, read_foreign, write_atomic
from harness.skills.provenance import (
    Provenance,
    provenance_path,
    read_provenance,
    read_value,
    write_provenance,
    write_value,
)
from harness.skills.skill import SKILL_FILE, Skill, diff, load_skill, parse_skill, write_skill

SHORTEST = 6  # characters of a digest that a user may type


class Version(Value):
    """One version of a skill.

    Attributes:
        digest: of the skill directory.
        parent: digest of the version it was made from, "" for the first.
        reason: why it was recorded, in a few words.
        edits: what was applied to the parent.
        files: path -> SHA-256 of the content, SKILL.md with them.
        executable: paths with an executable bit.
        provenance: as it lay beside the skill.
    """

    digest: str
    parent: str = ""
    reason: str = ""
    edits: tuple[Edit, ...] = ()
    files: dict[str, str]
    executable: tuple[str, ...] = ()
    provenance: Provenance | None = None


class Entry(Value):
    """One line of the log: a version became the skill."""

    digest: str
    action: Literal["recorded", "restored"]
    reason: str = ""


class _Log(Value):
    version: Literal[1] = 1
    entries: tuple[Entry, ...] = ()


class Rollback(Value):
    """Outcome of a rollback.

    Attributes:
        before: digest of what was there; `harness skill rollback --to` it undoes this.
        after: digest of what is there now.
        kept: whether what was there had to be recorded first (it was edited by hand).
    """

    before: str
    after: str
    kept: bool
    diff: str


def versions_path(skill_dir: Path) -> Path:
    """Return the folder of a skill directory's versions."""
    return skill_dir.parent / f"{skill_dir.name}.versions"


def record_version(
    skill_dir: Path,
    reason: str,
    provenance: Provenance | None = None,
    *,
    parent: Skill | None = None,
    parent_provenance: Provenance | None = None,
    skill: Skill | None = None,
) -> Version:
    """Store what lies in `skill_dir` as a version; doing it again changes nothing.

    Args:
        skill_dir: the skill directory.
        reason: a few words for `harness skill versions`.
        provenance: of this version; its edits behind those of the parent are the version's.
        parent: the skill it was made from, recorded with it; default the version recorded last.
        parent_provenance: of `parent`.
        skill: the value to record, where it does not lie in `skill_dir` yet.

    Raises:
        BadInput: if the skill cannot be read, or the store is damaged or cannot be written.
    """
    value = skill or load_skill(skill_dir)
    log = read_log(skill_dir)
    recorded = {entry.digest for entry in log}
    made_from = log[-1].digest if log else ""
    if parent is not None:
        made_from = parent.digest
        if made_from not in recorded:
            _store(skill_dir, parent, "", "before the edits", parent_provenance)
            log = _append(skill_dir, made_from, "recorded", "before the edits")
    if value.digest in recorded or value.digest == made_from:
        version = read_version(skill_dir, value.digest)
    else:
        version = _store(skill_dir, value, made_from, reason, provenance)
    if not log or log[-1].digest != value.digest:
        _append(skill_dir, value.digest, "recorded", reason)
    return version


def _store(
    skill_dir: Path, skill: Skill, parent: str, reason: str, provenance: Provenance | None
) -> Version:
    earlier = read_version(skill_dir, parent).provenance if parent else None
    edits = provenance.edits if provenance else ()
    if earlier and edits[: len(earlier.edits)] == earlier.edits:
        edits = edits[len(earlier.edits) :]
    root = versions_path(skill_dir)
    for data in skill.all_files.values():
        path = root / "objects" / digest(data)
        if not path.is_file():
            write_atomic(path, data)
    version = Version(
        digest=skill.digest,
        parent=parent,
        reason=reason,
        edits=edits,
        files={path: digest(data) for path, data in skill.all_files.items()},
        executable=tuple(sorted(skill.executable)),
        provenance=provenance,
    )
    write_value(root / f"{version.digest}.json", version)
    return version


def _append(
    skill_dir: Path, name: str, action: Literal["recorded", "restored"], reason: str = ""
) -> tuple[Entry, ...]:
    entries = (*read_log(skill_dir), Entry(digest=name, action=action, reason=reason))
    write_value(versions_path(skill_dir) / "log.json", _Log(entries=entries))
    return entries


def read_log(skill_dir: Path) -> tuple[Entry, ...]:
    """Read a skill's history, oldest first; () if no version was recorded.

    Raises:
        BadInput: if the log is damaged.
    """
    path = versions_path(skill_dir) / "log.json"
    return read_value(path, _Log, "is damaged").entries if path.is_file() else ()


def _digests(skill_dir: Path) -> list[str]:
    return list(dict.fromkeys(entry.digest for entry in read_log(skill_dir)))


def list_versions(skill_dir: Path) -> list[Version]:
    """Every version once, in the order of their first recording."""
    return [read_version(skill_dir, name) for name in _digests(skill_dir)]


def read_version(skill_dir: Path, name: str) -> Version:
    """The version of a digest or of at least its first six characters.

    Raises:
        BadInput: if there is none, or several, or it is damaged.
    """
    recorded = _digests(skill_dir)
    matches = [row for row in recorded if row.startswith(name)] if len(name) >= SHORTEST else []
    if len(matches) != 1:
        listed = ", ".join(row[:12] for row in recorded) or "none was recorded"
        many = f"{len(matches)} versions" if matches else "no version"
        raise BadInput(f"{many} {name!r} of {str(skill_dir)!r}: expected one of {listed}")
    path = versions_path(skill_dir) / f"{matches[0]}.json"
    return read_value(path, Version, "is missing or damaged")


def version_skill(skill_dir: Path, version: Version) -> Skill:
    """The skill of a version, checked against its digest.

    Raises:
        BadInput: if a file is missing or damaged.
    """
    files: dict[str, bytes] = {}
    for path, sha in version.files.items():
        stored = versions_path(skill_dir) / "objects" / sha
        files[path] = read_foreign(stored) if stored.is_file() else b""
        if digest(files[path]) != sha:
            raise BadInput(f"version {version.digest[:12]}: {path!r} is missing or damaged")
    text = files.pop(SKILL_FILE).decode()
    return parse_skill(text, files=files, executable=frozenset(version.executable))


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
    recorded = _digests(skill_dir)
    by_hand = current.digest not in recorded
    if not to and not recorded:
        raise BadInput(f"no version of {str(skill_dir)!r} was recorded: nothing to go back to")
    if not to and by_hand:
        to = read_log(skill_dir)[-1].digest  # undo what was edited by hand
    elif not to:
        to = read_version(skill_dir, current.digest).parent
        if not to:
            raise BadInput("this is the first version of the skill: name another one with --to")
    target = read_version(skill_dir, to)
    restored = version_skill(skill_dir, target)
    if by_hand:
        provenance = None
        with suppress(BadInput):
            provenance = read_provenance(skill_dir)
        record_version(skill_dir, "edited by hand", provenance, skill=current)
    install_version(skill_dir, target, restored)
    return Rollback(
        before=current.digest, after=target.digest, kept=by_hand, diff=diff(current, restored)
    )


def install_version(skill_dir: Path, version: Version, skill: Skill) -> None:
    """Write a recorded version where the skill lies: text, provenance, then the log."""
    if load_skill(skill_dir).all_files != skill.all_files:
        write_skill(skill, skill_dir)
    if version.provenance is None:
        provenance_path(skill_dir).unlink(missing_ok=True)
    else:
        write_provenance(version.provenance, skill_dir)
    if read_log(skill_dir)[-1].digest != version.digest:
        _append(skill_dir, version.digest, "restored")
