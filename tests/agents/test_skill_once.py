"""A skill is read once, and again when one of its files is another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.agents import skill_at
from harness.core import BadInput, digest_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "a-skill"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: a-skill\ndescription: x\n---\nBody.\n")
    (skill / "references" / "one.md").write_text("one")
    return skill


def test_what_has_not_changed_is_not_read_again(folder: Path) -> None:
    first = skill_at(folder)
    assert first.digest == digest_tree(folder)
    assert skill_at(folder).skill is first.skill


@pytest.mark.parametrize("name", ["SKILL.md", "references/one.md", "references/two.md"])
def test_a_file_that_changes_or_comes_is_seen(folder: Path, name: str) -> None:
    before = skill_at(folder)
    path = folder / name
    old = path.read_text() if path.exists() else ""
    path.write_text(old.replace("one", "two").replace("Body", "Head") or "new")
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
    after = skill_at(folder)
    assert after.digest == digest_tree(folder) != before.digest
    assert after.skill is not before.skill


def test_a_folder_without_a_skill_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"SKILL\.md"):
        skill_at(tmp_path)
