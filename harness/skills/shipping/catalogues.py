"""Indexes that list skills: a plugin marketplace, a web site; and the zip that they point to."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, digest, read_json
from harness.skills.skill import SKILL_FILE, Skill, strict

MARKETPLACE = ".claude-plugin/marketplace.json"
MARKETPLACE_NAME = "evolved-skills"  # of one that we start; `agent-skills` is reserved
SITE_FILES, SITE_ARTIFACTS = ".well-known/skills", ".well-known/agent-skills"
SITE_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


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


def marketplace_files(skill: Skill, out: Path) -> dict[str, Any]:
    """The manifest of `plugins/<name>/`, and that plugin listed in the marketplace.

    Claude Code reads the folder as a plugin marketplace. Other plugins of a marketplace that is
    there stay as they are.

    Raises:
        BadInput: if the marketplace is no JSON.
    """
    folder = f"plugins/{skill.name}"
    entry = {"name": skill.name, "description": skill.description}
    index = read_object(out / MARKETPLACE)
    name = index.setdefault("name", MARKETPLACE_NAME)
    index.setdefault("owner", {"name": name})
    index["plugins"] = _with_entry(index.get("plugins"), {**entry, "source": f"./{folder}"})
    metadata = skill.frontmatter.get("metadata", "")
    fields: Mapping[str, str] = {} if isinstance(metadata, str) else metadata
    manifest: dict[str, Any] = dict(entry)
    if "version" in fields:  # without one, clients take every commit for a new version
        manifest["version"] = fields["version"]
    if "author" in fields:
        manifest["author"] = {"name": fields["author"]}
    if "license" in skill.frontmatter:
        manifest["license"] = skill.frontmatter["license"]
    return {
        f"{folder}/.claude-plugin/plugin.json": manifest,
        MARKETPLACE: index,
    }


def site_files(skill: Skill, out: Path) -> dict[str, Any]:
    """A skill as a web site offers it, and that skill listed in both indexes.

    `.well-known/skills/index.json` lists the files of every skill;
    `.well-known/agent-skills/index.json` (discovery 0.2.0) names one artifact per skill, SKILL.md
    alone or a zip of several files, with its SHA-256.

    Raises:
        BadInput: if an index is no JSON.
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
    return {
        f"{SITE_FILES}/index.json": files,
        f"{SITE_ARTIFACTS}/{name}": data,
        f"{SITE_ARTIFACTS}/index.json": artifacts,
    }


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that others may have written too; {} if there is none.

    Raises:
        BadInput: if the file holds something else.
    """
    value: Any = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise BadInput(f"{str(path)!r}: expected a JSON object, found {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _with_entry(existing: Any, entry: dict[str, Any]) -> list[Any]:
    """A list of named entries with `entry` in it, in the place of one of the same name."""
    rows = cast("list[Any]", existing) if isinstance(existing, list) else []
    objects = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    by_name = {str(row.get("name")): row for row in objects} | {str(entry["name"]): entry}
    return [by_name[name] for name in sorted(by_name)]
