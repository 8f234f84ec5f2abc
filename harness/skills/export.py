"""Bring a skill to the clients: folders they read, or one reproducible `.skill` file."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput, write_atomic
from harness.core.values import Value
from harness.skills.diff import diff
from harness.skills.read import load_skill
from harness.skills.types import Skill
from harness.skills.validate import validate
from harness.skills.write import strict, write_skill

Target = Literal["agents", "claude", "zip"]
FOLDERS: dict[str, str] = {"agents": ".agents/skills", "claude": ".claude/skills"}
LOCK = "harness-skills.lock.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


class Exported(Value):
    """What an export did, or with `check` would do.

    Attributes:
        status: "written", "unchanged", or with `check` "would write".
        diff: from what was there to the skill, "" where nothing was.
    """

    target: Target
    path: str
    status: Literal["written", "unchanged", "would write"]
    diff: str = ""


def export(
    skill: Skill, target: Target, out: Path, *, force: bool = False, check: bool = False
) -> Exported:
    """Write `skill` under the folder `out` for one kind of client.

    `agents`: `.agents/skills/<name>` (Codex, Cursor, Gemini CLI, Copilot, OpenCode, ...);
    `claude`: `.claude/skills/<name>`; `zip`: `<name>.skill`, the same bytes every time. A lock
    file in `out` holds the digest of what was written, so that a copy which somebody edited
    since is not overwritten.

    Raises:
        BadInput: if the skill does not validate, or the copy there was edited and not `force`.
    """
    ready = _valid(skill)
    if target == "zip":
        return _export_zip(ready, out / f"{ready.name}.skill", check)
    path = out / FOLDERS[target] / ready.name
    relative = f"{FOLDERS[target]}/{ready.name}"
    lock = _read_lock(out)
    there = load_skill(path) if (path / "SKILL.md").is_file() else None
    if there is None and path.exists():
        raise BadInput(f"{str(path)!r} exists and is no skill: move it away")
    same = there is not None and there.all_files == ready.all_files
    if same and there is not None and there.executable == ready.executable:
        if not check and lock.get(relative) != ready.digest:
            _write_lock(out, {**lock, relative: ready.digest})
        return Exported(target=target, path=str(path), status="unchanged")
    if there is not None and there.digest != lock.get(relative) and not force:
        raise BadInput(
            f"{str(path)!r} was edited since it was exported, or is not ours: "
            "compare with `harness skill diff`, then use --force"
        )
    changes = diff(there, ready) if there is not None else ""
    if not check:
        write_skill(ready, path)
        _write_lock(out, {**lock, relative: ready.digest})
    status = "would write" if check else "written"
    return Exported(target=target, path=str(path), status=status, diff=changes)


def install(
    skill: Skill, project: Path, *, force: bool = False, check: bool = False
) -> list[Exported]:
    """Export into a project folder for both kinds of clients; nothing is written if one refuses.

    Raises:
        BadInput: as :func:`export`, or if `project` is no folder.
    """
    if not project.is_dir():
        raise BadInput(f"expected a project folder, found none at {str(project)!r}")
    targets: tuple[Target, ...] = ("agents", "claude")
    planned = [export(skill, target, project, force=force, check=True) for target in targets]
    if check:
        return planned
    return [export(skill, target, project, force=force) for target in targets]


def pack(skill: Skill) -> bytes:
    """The `.skill` zip of a skill: sorted names under `<name>/`, fixed times and modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in strict(skill).all_files.items():
            entry = zipfile.ZipInfo(f"{skill.name}/{path}", _EPOCH)
            entry.create_system = 3  # Unix, so that modes count on every machine
            entry.external_attr = (0o100755 if path in skill.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def _valid(skill: Skill) -> Skill:
    ready = replace(strict(skill), directory=None)  # it gets a directory of its own name
    errors = [one for one in validate(ready) if one.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise BadInput(f"skill {skill.name!r} does not validate: {errors[0]}{more}")
    return ready


def _export_zip(skill: Skill, path: Path, check: bool) -> Exported:
    data = pack(skill)
    if path.is_file() and path.read_bytes() == data:
        return Exported(target="zip", path=str(path), status="unchanged")
    if not check:
        write_atomic(path, data)
    return Exported(target="zip", path=str(path), status="would write" if check else "written")


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
    text = json.dumps({"version": 1, "skills": skills}, indent=2, sort_keys=True)
    write_atomic(out / LOCK, text + "\n")
