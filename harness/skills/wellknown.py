"""A folder to serve from a web site's root, so that clients find its skills by the site's address.

Both layouts that installers know: `.well-known/skills/index.json`, which lists the files of every
skill, and `.well-known/agent-skills/index.json` (discovery 0.2.0), which names one artifact a
skill with its SHA-256.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import digest
from harness.skills.archive import pack
from harness.skills.place import Placed, entries_with, place_file, place_skill, read_object, render
from harness.skills.types import SKILL_FILE, Skill

FILES, ARTIFACTS = ".well-known/skills", ".well-known/agent-skills"
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


def place_well_known(skill: Skill, out: Path, *, force: bool, check: bool) -> list[Placed]:
    """Write the skill under both layouts and list it in both indexes.

    Raises:
        BadInput: if the copy there was edited and not `force`, or an index is no JSON.
    """
    listed = {"name": skill.name, "description": skill.description, "files": _files(skill)}
    files = read_object(out / FILES / "index.json")
    files = {**files, "skills": entries_with(files.get("skills"), listed)}
    name, data = _artifact(skill)
    artifact = {
        "name": skill.name,
        "type": "skill-md" if name.endswith(".md") else "archive",
        "description": skill.description,
        "url": f"./{name}",
        "digest": f"sha256:{digest(data)}",
    }
    artifacts = read_object(out / ARTIFACTS / "index.json")
    entries: list[Any] = entries_with(artifacts.get("skills"), artifact)
    artifacts = {"$schema": SCHEMA, "skills": entries}
    return [
        place_skill(skill, out, f"{FILES}/{skill.name}", force=force, check=check),
        place_file(render(files), out, f"{FILES}/index.json", check=check),
        place_file(data, out, f"{ARTIFACTS}/{name}", check=check),
        place_file(render(artifacts), out, f"{ARTIFACTS}/index.json", check=check),
    ]


def _files(skill: Skill) -> list[str]:
    return [SKILL_FILE, *skill.files]


def _artifact(skill: Skill) -> tuple[str, bytes]:
    """(path below the index, content): SKILL.md alone, or a zip of several files."""
    if not skill.files:
        return f"{skill.name}/{SKILL_FILE}", skill.text.encode()
    return f"{skill.name}.zip", pack(skill, folder=False)
