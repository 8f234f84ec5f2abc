"""Export: idempotent, reproducible, and never over somebody's own edits."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.skills import diff, export, install, load_skill, new_skill, pack

SKILL = replace(
    new_skill("a-skill", "Use when testing.", "\n# A\n\nRun `scripts/a.sh`.\n"),
    files={"scripts/a.sh": b"#!/bin/sh\n"},
    executable=frozenset({"scripts/a.sh"}),
)


def test_install_serves_both_clients_and_skills_ref_agrees(tmp_path: Path) -> None:
    assert [one.status for one in install(SKILL, tmp_path)] == ["written", "written"]
    for folder in (".agents/skills/a-skill", ".claude/skills/a-skill"):
        command = [sys.executable, "-m", "skills_ref.cli", "validate", str(tmp_path / folder)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert os.access(tmp_path / folder / "scripts/a.sh", os.X_OK)
    assert [one.status for one in install(SKILL, tmp_path)] == ["unchanged", "unchanged"]


def test_check_writes_nothing_and_shows_the_difference(tmp_path: Path) -> None:
    assert export(SKILL, "agents", tmp_path, check=True).status == "would write"
    assert list(tmp_path.iterdir()) == []
    assert export(SKILL, "agents", tmp_path).lock == str(tmp_path / "harness-skills.lock.json")
    before = digest_tree(tmp_path)
    newer = replace(SKILL, body=SKILL.body + "\nMore.\n")
    planned = export(newer, "agents", tmp_path, check=True)
    assert "+More." in planned.diff
    assert digest_tree(tmp_path) == before


def test_a_hand_edited_copy_is_kept_unless_forced(tmp_path: Path) -> None:
    install(SKILL, tmp_path)
    edited = tmp_path / ".claude/skills/a-skill/SKILL.md"
    edited.write_text(edited.read_text("utf-8") + "\nmine\n", "utf-8")
    before = digest_tree(tmp_path)
    newer = replace(SKILL, body=SKILL.body + "\nMore.\n")
    with pytest.raises(BadInput, match="--force"):
        install(newer, tmp_path)
    assert digest_tree(tmp_path) == before
    install(newer, tmp_path, force=True)
    assert load_skill(edited.parent).all_files == newer.all_files
    install(SKILL, tmp_path)  # ours again: no force needed


def test_somebody_elses_skill_is_not_overwritten(tmp_path: Path) -> None:
    other = tmp_path / ".agents/skills/a-skill"
    other.mkdir(parents=True)
    (other / "SKILL.md").write_text("---\nname: a-skill\ndescription: x\n---\nmine\n")
    with pytest.raises(BadInput, match="not ours"):
        export(SKILL, "agents", tmp_path)


def test_the_zip_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    more = {"scripts/a.sh": b"#!/bin/sh\n", "assets/z.txt": b"z", "assets/b.txt": b"b"}
    shuffled = {path: more[path] for path in sorted(more, reverse=True)}
    assert pack(replace(SKILL, files=more)) == pack(replace(SKILL, files=shuffled))
    assert export(SKILL, "zip", tmp_path).status == "written"
    assert export(SKILL, "zip", tmp_path).status == "unchanged"
    with zipfile.ZipFile(io.BytesIO((tmp_path / "a-skill.skill").read_bytes())) as archive:
        assert archive.namelist() == ["a-skill/SKILL.md", "a-skill/scripts/a.sh"]
        assert archive.infolist()[1].external_attr >> 16 == 0o100755


def test_an_invalid_skill_is_not_exported(tmp_path: Path) -> None:
    broken = replace(SKILL, body="\n# A\n\n[x](references/no.md)\n")
    with pytest.raises(BadInput, match="does not validate"):
        export(broken, "zip", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_lock_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "harness-skills.lock.json").write_text("[]")
    with pytest.raises(BadInput, match="damaged"):
        export(SKILL, "agents", tmp_path)


def test_diff_covers_all_files() -> None:
    other = replace(SKILL, files={"assets/x.bin": b"\xff\x00"}, executable=frozenset[str]())
    text = diff(SKILL, other)
    assert "--- a/scripts/a.sh\n+++ /dev/null" in text
    assert "binary assets/x.bin: absent -> " in text
    assert diff(SKILL, SKILL) == ""
