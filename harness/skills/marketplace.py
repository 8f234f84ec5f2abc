"""A folder that Claude Code reads as a plugin marketplace, each skill a plugin of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.skills.place import Placed, entries_with, place_file, place_skill, read_object, render
from harness.skills.types import Skill

MARKETPLACE = ".claude-plugin/marketplace.json"
NAME = "evolved-skills"  # of a marketplace that we start; `agent-skills` is reserved


def place_plugin(skill: Skill, out: Path, *, force: bool, check: bool) -> list[Placed]:
    """Write `plugins/<name>/` and list it in `.claude-plugin/marketplace.json`.

    Other plugins of a marketplace that is there stay as they are.

    Raises:
        BadInput: if the copy there was edited and not `force`, or the marketplace is no JSON.
    """
    folder = f"plugins/{skill.name}"
    index = _with_plugin(read_object(out / MARKETPLACE), skill, f"./{folder}")
    manifest = render(_manifest(skill))
    return [
        place_skill(skill, out, f"{folder}/skills/{skill.name}", force=force, check=check),
        place_file(manifest, out, f"{folder}/.claude-plugin/plugin.json", check=check),
        place_file(render(index), out, MARKETPLACE, check=check),
    ]


def _manifest(skill: Skill) -> dict[str, Any]:
    """`plugin.json`; without a version, clients take every commit for a new one."""
    metadata = skill.frontmatter.get("metadata", "")
    facts: Mapping[str, str] = {} if isinstance(metadata, str) else metadata
    manifest: dict[str, Any] = {"name": skill.name, "description": skill.description}
    if "version" in facts:
        manifest["version"] = facts["version"]
    if "author" in facts:
        manifest["author"] = {"name": facts["author"]}
    if "license" in skill.frontmatter:
        manifest["license"] = skill.frontmatter["license"]
    return manifest


def _with_plugin(index: dict[str, Any], skill: Skill, source: str) -> dict[str, Any]:
    entry = {"name": skill.name, "description": skill.description, "source": source}
    index.setdefault("name", NAME)
    index.setdefault("owner", {"name": index["name"]})
    return {**index, "plugins": entries_with(index.get("plugins"), entry)}
