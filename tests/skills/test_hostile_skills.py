"""A stranger's skill brings its own files and no others, and costs little to read."""

from __future__ import annotations

import json
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agents.foreign import SKILL_FOLDERS, install_skill
from harness.core import BadInput, digest_tree
from harness.skills import (
    RECORDS,
    beside,
    export,
    install,
    load_skill,
    new_skill,
    receipt_files,
    validate,
)
from harness.skills.skill import SKILL_FILE_BYTES

TEXT = "---\nname: gift\ndescription: Use it.\n---\n\n# Gift\n"


@pytest.fixture
def gift(tmp_path: Path) -> Path:
    """A skill with links to a secret beside it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "id_key").write_text("SECRET")
    folder = tmp_path / "gift"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(TEXT)
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "scripts" / "run.sh").chmod(0o700)
    (folder / "near.md").symlink_to("SKILL.md")
    (folder / "file.md").symlink_to(tmp_path / "secret" / "id_key")
    (folder / "folder").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to("loop")
    (folder / "two\nlines").write_text("SECRET")
    os.mkfifo(folder / "pipe")
    return folder


OWN = {"SKILL.md", "near.md", "scripts/run.sh"}


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_what_the_loader_admits_is_installed_and_nothing_else(gift: Path, tmp_path: Path) -> None:
    workdir = tmp_path / "work"
    workdir.mkdir()
    first = Path(install_skill(gift, workdir))
    for folder in (workdir / name / "gift" for name in SKILL_FOLDERS):
        assert files_of(folder) == OWN
        assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert (first / "scripts" / "run.sh").stat().st_mode & 0o100
    assert not (first / "near.md").stat().st_mode & 0o100
    skill = load_skill(gift)
    assert set(skill.all_files) == OWN
    assert {problem.file for problem in skill.warnings} >= {"file.md", "folder", "loop", "pipe"}
    export(skill, "claude", tmp_path / "out")
    assert files_of(tmp_path / "out" / ".claude/skills/gift") == OWN


@pytest.mark.parametrize("start", [".", "secret", "gift/scripts"])
def test_a_skill_is_the_same_from_wherever_it_is_named(
    gift: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    """A relative path leads nowhere else than an absolute one: not out of it, nor further in."""
    whole = load_skill(gift)
    monkeypatch.chdir(tmp_path / start)
    named = Path(os.path.relpath(gift))
    assert load_skill(named).all_files == whole.all_files
    assert load_skill(named).warnings == whole.warnings
    assert digest_tree(named) == digest_tree(gift)


def test_a_copy_is_byte_for_byte(gift: Path, tmp_path: Path) -> None:
    """A client is measured with the skill as it was written, faults included."""
    data = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    (gift / "SKILL.md").unlink()
    (gift / "skill.md").write_bytes(data)
    (gift / "near.md").unlink()
    (tmp_path / "work").mkdir()
    assert Path(install_skill(gift, tmp_path / "work"), "skill.md").read_bytes() == data


@pytest.mark.parametrize("target", ["../secret/id_key", "/etc/passwd", "SKILL.md", "pipe", "none"])
def test_skill_md_is_no_link_out_of_the_skill(gift: Path, tmp_path: Path, target: str) -> None:
    (gift / "SKILL.md").unlink()
    (gift / "SKILL.md").symlink_to(target)
    with pytest.raises(BadInput, match=r"SKILL\.md"):
        load_skill(gift)
    with pytest.raises(BadInput, match=r"SKILL\.md"):
        install_skill(gift, tmp_path)


def test_the_digest_of_a_skill_is_blind_to_the_host(gift: Path, tmp_path: Path) -> None:
    before = digest_tree(gift)
    (tmp_path / "secret" / "id_key").write_text("ANOTHER")
    assert digest_tree(gift) == before


def test_links_among_receipts_are_not_exported(gift: Path, tmp_path: Path) -> None:
    skill = load_skill(gift)
    receipt = json.dumps({"digests": {"skill": skill.digest}})
    beside(gift, "receipt.json").write_text(receipt)
    beside(gift, RECORDS).symlink_to(tmp_path / "secret" / "id_key")
    assert [*receipt_files(gift, skill).values()] == [receipt.encode()]


BOMBS = {
    "alias": "a0: &a0 [lol]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    ),
    "merge": "a0: &a0 {k: v}\n" + "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
    ),
    "deep": "a: " + "[" * 100_000 + "\n",
    "long": "a: 1\n" + " b\n" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_frontmatter_that_swells_is_read_line_by_line(tmp_path: Path, bomb: str) -> None:
    folder = tmp_path / "gift"
    folder.mkdir()
    (folder / "SKILL.md").write_text(TEXT.replace("---\n\n", f"{BOMBS[bomb]}---\n\n"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    skill = load_skill(folder)
    problems = validate(skill)
    assert (skill.name, skill.description) == ("gift", "Use it.")
    assert any("read line by line" in problem.message for problem in problems)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_skill_md_is_limited(gift: Path) -> None:
    (gift / "SKILL.md").write_text(TEXT + "a" * SKILL_FILE_BYTES)
    with pytest.raises(BadInput, match="more than 1,000,000 bytes"):
        load_skill(gift)


def test_a_project_whose_folder_of_skills_is_a_link_is_refused(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / ".claude").symlink_to(outside)
    skill = new_skill("gift", "Use it for gifts.", "\n# Gift\n\n- Wrap it.\n")
    with pytest.raises(BadInput, match="leads out of the project"):
        install(skill, project)
    assert not list(outside.iterdir())
    assert [path.name for path in project.iterdir()] == [".claude"]


def test_two_names_that_differ_in_case_alone_are_no_valid_skill() -> None:
    skill = new_skill("gift", "Use it for gifts.", "\n# Gift\n\n- Wrap it.\n")
    assert not [row for row in validate(skill) if row.level == "error"]
    for name in ("skill.md", "references/A.md"):
        doubled = replace(skill, files={**skill.files, name: b"# x\n", name.lower(): b"# y\n"})
        assert any("but for its case" in row.message for row in validate(doubled))
