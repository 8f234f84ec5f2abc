"""Put a skill or a file under an export folder, once, and never over somebody's own edits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast

from harness.core import BadInput, digest, write_atomic
from harness.core.values import Value
from harness.skills.diff import diff
from harness.skills.io import load_skill
from harness.skills.types import Skill
from harness.skills.write import write_skill

LOCK = "harness-skills.lock.json"
Status = Literal["written", "unchanged", "would write"]


class Placed(Value):
    """What happened to one skill directory or file; `path` is relative to the export folder."""

    path: str
    status: Status
    diff: str = ""


def place_skill(
    skill: Skill, out: Path, relative: str, *, force: bool = False, check: bool = False
) -> Placed:
    """Write a skill directory at `out/relative` unless it is there.

    The lock file in `out` holds the digest of what was written, so that a copy which somebody
    edited since is not overwritten.

    Raises:
        BadInput: if the copy there was edited or is not ours, and not `force`.
    """
    path, lock = out / relative, _read_lock(out)
    there = load_skill(path) if (path / "SKILL.md").is_file() else None
    if there is None and path.exists():
        raise BadInput(f"{str(path)!r} exists and is no skill: move it away")
    same = there is not None and there.all_files == skill.all_files
    if same and there is not None and there.executable == skill.executable:
        if not check and lock.get(relative) != skill.digest:
            _write_lock(out, {**lock, relative: skill.digest})
        return Placed(path=relative, status="unchanged")
    if there is not None and there.digest != lock.get(relative) and not force:
        raise BadInput(
            f"{str(path)!r} was edited since it was exported, or is not ours: "
            "compare with `harness skill diff`, then use --force"
        )
    changes = diff(there, skill) if there is not None else ""
    if not check:
        write_skill(skill, path)
        _write_lock(out, {**lock, relative: skill.digest})
    return Placed(path=relative, status="would write" if check else "written", diff=changes)


def place_file(data: bytes | str, out: Path, relative: str, *, check: bool = False) -> Placed:
    """Write a generated file at `out/relative` unless it is there, and note its SHA-256."""
    path = out / relative
    raw = data.encode() if isinstance(data, str) else data
    same = path.is_file() and path.read_bytes() == raw
    if not check:
        if not same:
            write_atomic(path, raw)
        lock = _read_lock(out)
        if lock.get(relative) != digest(raw):
            _write_lock(out, {**lock, relative: digest(raw)})
    if same:
        return Placed(path=relative, status="unchanged")
    return Placed(path=relative, status="would write" if check else "written")


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that others may have written too; {} if there is none.

    Raises:
        BadInput: if the file holds something else.
    """
    if not path.is_file():
        return {}
    try:
        value: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is no JSON: mend it or move it away ({error})") from error
    if not isinstance(value, dict):
        raise BadInput(f"{str(path)!r}: expected a JSON object, found {type(value).__name__}")
    return cast("dict[str, Any]", value)


def entries_with(existing: Any, entry: dict[str, Any]) -> list[Any]:
    """A list of named entries with `entry` in it, in the place of one of the same name."""
    rows = cast("list[Any]", existing) if isinstance(existing, list) else []
    objects = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    named = {str(row.get("name")): row for row in objects} | {str(entry["name"]): entry}
    return [named[name] for name in sorted(named)]


def render(value: Any) -> str:
    """JSON as the files of this room are written: readable, keys in the order given."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _read_lock(out: Path) -> dict[str, str]:
    path = out / LOCK
    if not path.is_file():
        return {}
    try:
        value: Any = json.loads(path.read_bytes())
        return {str(key): str(one) for key, one in value["skills"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{str(path)!r} is damaged: delete it and use --force once") from error


def _write_lock(out: Path, skills: dict[str, str]) -> None:
    write_atomic(out / LOCK, render({"skills": dict(sorted(skills.items())), "version": 1}))
