"""Every export target: valid where the client looks, repeated without a change, in the lock."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from harness.cli.skill.export import TARGETS as OFFERED
from harness.core import BadInput, digest_tree
from harness.skills import Skill, Target, export, load_skill, new_skill
from harness.skills.shipping.export import ALIASES, LOCK

SKILL = replace(
    new_skill("a-skill", "Use when testing.", "\n# A\n\nRun `scripts/a.sh`.\n", license="MIT"),
    files={"scripts/a.sh": b"#!/bin/sh\n"},
    executable=frozenset({"scripts/a.sh"}),
)
OTHER = new_skill("b-skill", "Use when testing b.")
TARGETS: tuple[Target, ...] = tuple(one for one in get_args(Target) if one not in ALIASES)


def test_the_command_offers_every_target() -> None:
    assert get_args(Target) == OFFERED


def locked(out: Path) -> dict[str, str]:
    return json.loads((out / LOCK).read_text())["skills"]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_export_changes_nothing_and_the_lock_covers_all(
    target: Target, tmp_path: Path
) -> None:
    planned = export(SKILL, target, tmp_path, check=True)
    assert planned.status == "would write"
    assert list(tmp_path.iterdir()) == []
    assert export(SKILL, target, tmp_path).status == "written"
    before = digest_tree(tmp_path)
    assert export(SKILL, target, tmp_path).status == "unchanged"
    assert digest_tree(tmp_path) == before
    lock = locked(tmp_path)
    for path in tmp_path.rglob("*"):
        relative = path.relative_to(tmp_path).as_posix()
        if path.is_file() and relative != LOCK:
            inside = [one for one in lock if relative == one or relative.startswith(f"{one}/")]
            assert len(inside) == 1
            if inside[0] == relative:
                assert lock[relative] == hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                assert lock[inside[0]] == digest_tree(tmp_path / inside[0])


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("universal", ".agents/skills"),
        ("agents", ".agents/skills"),
        ("claude", ".claude/skills"),
        ("codex", ".agents/skills"),
        ("cursor", ".cursor/skills"),
        ("gemini", ".gemini/skills"),
        ("copilot", ".github/skills"),
        ("plugin", "plugins/a-skill/skills"),
        ("well-known", ".well-known/skills"),
    ],
)
def test_the_reference_validator_accepts_each_copy(
    target: Target, folder: str, tmp_path: Path
) -> None:
    done = export(SKILL, target, tmp_path)
    path = tmp_path / folder / "a-skill"
    assert (done.target, done.path) == (ALIASES.get(target, target), str(path))
    command = [sys.executable, "-m", "skills_ref.cli", "validate", str(path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    copy = load_skill(path)
    assert SKILL.all_files.items() <= copy.all_files.items()
    assert copy.executable == SKILL.executable


@pytest.mark.parametrize("target", ["claude", "plugin", "well-known"])
def test_an_edited_copy_is_kept_unless_forced(target: Target, tmp_path: Path) -> None:
    path = Path(export(SKILL, target, tmp_path).path) / "SKILL.md"
    path.write_text(path.read_text() + "\nmine\n")
    newer = replace(SKILL, body=SKILL.body + "\nMore.\n")
    before = digest_tree(tmp_path)
    with pytest.raises(BadInput, match="--force"):
        export(newer, target, tmp_path)
    assert digest_tree(tmp_path) == before
    assert "+More." in export(newer, target, tmp_path, force=True).diff


def test_codex_gets_a_name_and_a_short_text_to_show(tmp_path: Path) -> None:
    long = new_skill("a-skill", 'Use when "quoting": ' + "many words " * 20)
    file = Path(export(long, "codex", tmp_path).path) / "agents/openai.yaml"
    shown = yaml.safe_load(file.read_text())["interface"]
    assert shown["display_name"] == "A skill"
    assert shown["short_description"].startswith('Use when "quoting": many')
    assert len(shown["short_description"]) <= 64
    own = replace(SKILL, files={**SKILL.files, "agents/openai.yaml": b"policy: {}\n"})
    path = Path(export(own, "codex", tmp_path, force=True).path)
    assert (path / "agents/openai.yaml").read_bytes() == b"policy: {}\n"


def with_metadata(**metadata: str) -> Skill:
    from harness.skills import parse_skill

    lines = "".join(f'  {key}: "{value}"\n' for key, value in metadata.items())
    return parse_skill(SKILL.text.replace("\n---\n", f"\nmetadata:\n{lines}---\n", 1))


def test_a_marketplace_keeps_its_other_plugins(tmp_path: Path) -> None:
    index = tmp_path / ".claude-plugin/marketplace.json"
    index.parent.mkdir()
    foreign = {"name": "zeta", "source": {"source": "github", "repo": "o/r"}}
    text = json.dumps({"name": "mine", "owner": {"name": "me"}, "plugins": [foreign]})
    index.write_text(text, encoding="utf-8-sig")  # as editors of Windows write it
    rich = with_metadata(version="1.2.0", author="someone")
    export(replace(rich, files=SKILL.files, executable=SKILL.executable), "plugin", tmp_path)
    export(OTHER, "plugin", tmp_path)
    found = read(index)
    assert (found["name"], found["owner"]) == ("mine", {"name": "me"})
    assert [one["name"] for one in found["plugins"]] == ["a-skill", "b-skill", "zeta"]
    assert found["plugins"][0]["source"] == "./plugins/a-skill"
    assert found["plugins"][2] == foreign
    manifest = read(tmp_path / "plugins/a-skill/.claude-plugin/plugin.json")
    assert manifest == {
        "name": "a-skill",
        "description": "Use when testing.",
        "version": "1.2.0",
        "author": {"name": "someone"},
        "license": "MIT",
    }
    index.write_text("[]")
    before = digest_tree(tmp_path)
    with pytest.raises(BadInput, match="expected a JSON object"):
        export(replace(OTHER, body="\n# New\n"), "plugin", tmp_path)
    assert digest_tree(tmp_path) == before


def test_both_indexes_of_a_site_describe_what_lies_there(tmp_path: Path) -> None:
    export(SKILL, "well-known", tmp_path)
    export(OTHER, "well-known", tmp_path)
    root = tmp_path / ".well-known"
    files = read(root / "skills/index.json")["skills"]
    assert [one["name"] for one in files] == ["a-skill", "b-skill"]
    assert files[0]["files"] == ["SKILL.md", "scripts/a.sh"]
    for one in files:
        assert all((root / "skills" / one["name"] / file).is_file() for file in one["files"])
    index = read(root / "agent-skills/index.json")
    assert index["$schema"].endswith("/discovery/0.2.0/schema.json")
    assert [one["type"] for one in index["skills"]] == ["archive", "skill-md"]
    for one in index["skills"]:
        data = (root / "agent-skills" / one["url"]).read_bytes()
        assert one["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    archive = zipfile.ZipFile(io.BytesIO((root / "agent-skills/a-skill.zip").read_bytes()))
    assert archive.namelist() == ["SKILL.md", "scripts/a.sh"]
