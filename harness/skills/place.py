"""Put a skill under an export folder, once, and never over somebody's own edits.

As a directory, as one zip, as a plugin of a marketplace, or on a web site that lists its skills.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

from harness.core import BadInput, Value, digest, write_atomic
from harness.skills.io import load_skill, strict, write_skill
from harness.skills.types import SKILL_FILE, Skill, diff

LOCK = "harness-skills.lock.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
MARKETPLACE_NAME = "evolved-skills"  # of one that we start; `agent-skills` is reserved
SITE_FILES, SITE_ARTIFACTS = ".well-known/skills", ".well-known/agent-skills"
SITE_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
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
    copy = load_skill(path) if (path / SKILL_FILE).is_file() else None
    if copy is None and path.exists():
        raise BadInput(f"{str(path)!r} exists and is no skill: move it away")
    changes = ""
    if copy is not None:
        if copy.all_files == skill.all_files and copy.executable == skill.executable:
            if not check:
                _lock(out, relative, skill.digest)
            return Placed(path=relative, status="unchanged")
        if copy.digest != lock.get(relative) and not force:
            raise BadInput(
                f"{str(path)!r} was edited since it was exported, or is not ours: "
                "compare with `harness skill diff`, then use --force"
            )
        changes = diff(copy, skill)
    if not check:
        write_skill(skill, path)
        _lock(out, relative, skill.digest)
    return Placed(path=relative, status="would write" if check else "written", diff=changes)


def place_file(data: bytes | str, out: Path, relative: str, *, check: bool = False) -> Placed:
    """Write a generated file at `out/relative` unless it is there, and note its SHA-256."""
    path = out / relative
    raw = data.encode() if isinstance(data, str) else data
    same = path.is_file() and path.read_bytes() == raw
    if not check:
        if not same:
            write_atomic(path, raw)
        _lock(out, relative, digest(raw))
    return Placed(
        path=relative, status="unchanged" if same else "would write" if check else "written"
    )


def _read_lock(out: Path) -> dict[str, str]:
    path = out / LOCK
    if not path.is_file():
        return {}
    try:
        value: Any = json.loads(path.read_bytes())
        return {str(name): str(sha) for name, sha in value["skills"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{str(path)!r} is damaged: delete it and use --force once") from error


def _lock(out: Path, relative: str, sha: str) -> None:
    lock = _read_lock(out)
    if lock.get(relative) != sha:
        skills = dict(sorted({**lock, relative: sha}.items()))
        write_atomic(out / LOCK, render({"skills": skills, "version": 1}))


def pack(skill: Skill, folder: bool = True) -> bytes:
    """The zip of a skill, the same bytes every time: sorted names, fixed times and modes.

    Args:
        skill: the skill.
        folder: names lie under `<name>/`, as `.skill` files have them; else at the root.
    """
    prefix = f"{skill.name}/" if folder else ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in strict(skill).all_files.items():
            entry = zipfile.ZipInfo(f"{prefix}{path}", _EPOCH)
            entry.create_system = 3  # Unix, so that modes count on every machine
            entry.external_attr = (0o100755 if path in skill.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def place_plugin(skill: Skill, out: Path, *, force: bool, check: bool) -> list[Placed]:
    """Write `plugins/<name>/` and list it in `.claude-plugin/marketplace.json`.

    Claude Code reads the folder as a plugin marketplace. Other plugins of a marketplace that is
    there stay as they are.

    Raises:
        BadInput: if the copy there was edited and not `force`, or the marketplace is no JSON.
    """
    folder = f"plugins/{skill.name}"
    entry = {"name": skill.name, "description": skill.description}
    index = read_object(out / MARKETPLACE)
    name = index.setdefault("name", MARKETPLACE_NAME)
    index.setdefault("owner", {"name": name})
    index["plugins"] = _with_entry(index.get("plugins"), {**entry, "source": f"./{folder}"})
    metadata = skill.frontmatter.get("metadata", "")
    facts: Mapping[str, str] = {} if isinstance(metadata, str) else metadata
    manifest: dict[str, Any] = dict(entry)
    if "version" in facts:  # without one, clients take every commit for a new version
        manifest["version"] = facts["version"]
    if "author" in facts:
        manifest["author"] = {"name": facts["author"]}
    if "license" in skill.frontmatter:
        manifest["license"] = skill.frontmatter["license"]
    return [
        place_skill(skill, out, f"{folder}/skills/{skill.name}", force=force, check=check),
        place_file(render(manifest), out, f"{folder}/.claude-plugin/plugin.json", check=check),
        place_file(render(index), out, MARKETPLACE, check=check),
    ]


def place_well_known(skill: Skill, out: Path, *, force: bool, check: bool) -> list[Placed]:
    """Write a skill into a folder to serve from a web site's root, and list it in both indexes.

    `.well-known/skills/index.json` lists the files of every skill;
    `.well-known/agent-skills/index.json` (discovery 0.2.0) names one artifact a skill, SKILL.md
    alone or a zip of several files, with its SHA-256.

    Raises:
        BadInput: if the copy there was edited and not `force`, or an index is no JSON.
    """
    name, data = f"{skill.name}.zip", pack(skill, folder=False)
    if not skill.files:
        name, data = f"{skill.name}/{SKILL_FILE}", skill.text.encode()
    artifact = {
        "name": skill.name,
        "type": "archive" if skill.files else "skill-md",
        "description": skill.description,
        "url": f"./{name}",
        "digest": f"sha256:{digest(data)}",
    }
    paths = [SKILL_FILE, *skill.files]
    listed = {"name": skill.name, "description": skill.description, "files": paths}
    files = read_object(out / SITE_FILES / "index.json")
    files = {**files, "skills": _with_entry(files.get("skills"), listed)}
    artifacts = read_object(out / SITE_ARTIFACTS / "index.json")
    artifacts = {"$schema": SITE_SCHEMA, "skills": _with_entry(artifacts.get("skills"), artifact)}
    return [
        place_skill(skill, out, f"{SITE_FILES}/{skill.name}", force=force, check=check),
        place_file(render(files), out, f"{SITE_FILES}/index.json", check=check),
        place_file(data, out, f"{SITE_ARTIFACTS}/{name}", check=check),
        place_file(render(artifacts), out, f"{SITE_ARTIFACTS}/index.json", check=check),
    ]


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


def _with_entry(existing: Any, entry: dict[str, Any]) -> list[Any]:
    """A list of named entries with `entry` in it, in the place of one of the same name."""
    rows = cast("list[Any]", existing) if isinstance(existing, list) else []
    objects = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    named = {str(row.get("name")): row for row in objects} | {str(entry["name"]): entry}
    return [named[name] for name in sorted(named)]


def render(value: Any) -> str:
    """JSON as exported files are written: readable, keys in the order given."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
