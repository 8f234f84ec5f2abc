"""The versions of a skill, content-addressed, beside it: `<skill>.versions/`.

`objects/<sha256>` hold file contents, `<digest>.json` says what a version consists of, and
`log.json` in which order versions were recorded or restored. No file there is called SKILL.md, so
no client takes an old version for a skill. Nothing depends on the clock, the user or the machine:
the same evolution leaves the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from harness.core import BadInput, Edit, write_atomic
from harness.core.values import Value
from harness.skills.io import load_skill, parse_skill
from harness.skills.provenance import Provenance
from harness.skills.types import SKILL_FILE, Skill

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


def versions_path(skill_dir: Path) -> Path:
    """Where the versions of a skill directory lie."""
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
    """Keep what lies in `skill_dir` as a version; doing it again changes nothing.

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
    known = {entry.digest for entry in log}
    made_from = log[-1].digest if log else ""
    if parent is not None:
        made_from = parent.digest
        if made_from not in known:
            _keep(skill_dir, parent, "", "before the edits", parent_provenance)
            log = _log(
                skill_dir, Entry(digest=made_from, action="recorded", reason="before the edits")
            )
    if value.digest in known or value.digest == made_from:
        version = read_version(skill_dir, value.digest)
    else:
        version = _keep(skill_dir, value, made_from, reason, provenance)
    if not log or log[-1].digest != value.digest:
        _log(skill_dir, Entry(digest=value.digest, action="recorded", reason=reason))
    return version


def _keep(
    skill_dir: Path, value: Skill, parent: str, reason: str, provenance: Provenance | None
) -> Version:
    root = versions_path(skill_dir)
    earlier = read_version(skill_dir, parent) if parent else None
    version = Version(
        digest=value.digest,
        parent=parent,
        reason=reason,
        edits=_new_edits(provenance, earlier),
        files={path: _store(root, data) for path, data in value.all_files.items()},
        executable=tuple(sorted(value.executable)),
        provenance=provenance,
    )
    _write(root / f"{version.digest}.json", version)
    return version


def log_restored(skill_dir: Path, digest: str) -> None:
    """Note that a recorded version became the skill again, unless it is the last one anyway."""
    if read_log(skill_dir)[-1].digest != digest:
        _log(skill_dir, Entry(digest=digest, action="restored"))


def _log(skill_dir: Path, entry: Entry) -> tuple[Entry, ...]:
    entries = (*read_log(skill_dir), entry)
    _write(versions_path(skill_dir) / "log.json", _Log(entries=entries))
    return entries


def read_log(skill_dir: Path) -> tuple[Entry, ...]:
    """What happened to a skill, oldest first; () if no version was recorded.

    Raises:
        BadInput: if the log is damaged.
    """
    path = versions_path(skill_dir) / "log.json"
    if not path.is_file():
        return ()
    try:
        return _Log.model_validate_json(path.read_bytes()).entries
    except ValidationError as error:
        raise BadInput(f"{str(path)!r} is damaged: {error.errors()[0]['msg']}") from error


def list_versions(skill_dir: Path) -> list[Version]:
    """Every version once, in the order of their first recording."""
    digests = dict.fromkeys(entry.digest for entry in read_log(skill_dir))
    return [read_version(skill_dir, digest) for digest in digests]


def read_version(skill_dir: Path, name: str) -> Version:
    """The version of a digest or of at least its first six characters.

    Raises:
        BadInput: if there is none, or several, or it is damaged.
    """
    known = list(dict.fromkeys(entry.digest for entry in read_log(skill_dir)))
    found = [one for one in known if one.startswith(name)] if len(name) >= SHORTEST else []
    if len(found) != 1:
        shown = ", ".join(one[:12] for one in known) or "none was recorded"
        many = f"{len(found)} versions" if found else "no version"
        raise BadInput(f"{many} {name!r} of {str(skill_dir)!r}: expected one of {shown}")
    path = versions_path(skill_dir) / f"{found[0]}.json"
    try:
        return Version.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(f"{str(path)!r} is missing or damaged") from error


def version_skill(skill_dir: Path, version: Version) -> Skill:
    """The skill of a version, checked against its digest.

    Raises:
        BadInput: if a file is missing or damaged.
    """
    files: dict[str, bytes] = {}
    for path, sha in version.files.items():
        stored = versions_path(skill_dir) / "objects" / sha
        data = stored.read_bytes() if stored.is_file() else b""
        if hashlib.sha256(data).hexdigest() != sha:
            raise BadInput(f"version {version.digest[:12]}: {path!r} is missing or damaged")
        files[path] = data
    text = files.pop(SKILL_FILE).decode()
    return parse_skill(text, files=files, executable=frozenset(version.executable))


def _new_edits(provenance: Provenance | None, earlier: Version | None) -> tuple[Edit, ...]:
    """The edits behind those that the parent's provenance has already."""
    if provenance is None:
        return ()
    old = earlier.provenance.edits if earlier and earlier.provenance else ()
    carried = provenance.edits[: len(old)] == old
    return provenance.edits[len(old) if carried else 0 :]


def _store(root: Path, data: bytes) -> str:
    sha = hashlib.sha256(data).hexdigest()
    path = root / "objects" / sha
    if not path.is_file():
        write_atomic(path, data)
    return sha


def _write(path: Path, value: Value) -> None:
    plain = value.model_dump(mode="json")
    write_atomic(path, json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
