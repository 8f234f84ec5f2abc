"""Skills installed from folders, archives and git repositories, and updated from there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput
from harness.skills import export, install_from, load_skill, update_installed
from harness.skills.shipping.export import LOCK
from harness.skills.shipping.sources import parse_source
from harness.skills.skill import strict

TEXT = "---\nname: {0}\ndescription: Sums. Use when numbers are added.\n---\n\n# Sums\n\n- {1}\n"
COPY = ".agents/skills/{}/SKILL.md"


def write(folder: Path, name: str, rule: str = "Add.") -> Path:
    (folder / name / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(TEXT.format(name, rule))
    (folder / name / "scripts" / "add.py").write_text("print(1)\n")
    (folder / name / "scripts" / "add.py").chmod(0o755)
    return folder / name


def git(repository: Path, *words: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *who, "-C", str(repository), *words], check=True, capture_output=True, text=True,
        env=env,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder / "skills", "sums")
    write(folder / "skills", "tables")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_a_skill_of_a_repository_is_installed_and_updated(repository: Path, project: Path) -> None:
    source = f"file://{repository}"
    with pytest.raises(BadInput, match="2 skills: name some with --skill: sums, tables"):
        install_from(source, project)
    install_from(source, project, ["sums"])
    copy = project / COPY.format("sums")
    assert "Add." in copy.read_text()
    assert (copy.parent / "scripts" / "add.py").stat().st_mode & 0o100
    origin = json.loads((project / LOCK).read_text())["sources"]["sums"]
    digest = load_skill(copy.parent).digest
    first = git(repository, "rev-parse", "HEAD")
    assert origin == {"source": source, "skill": "sums", "commit": first, "digest": digest}
    write(repository / "skills", "sums", "Add twice.")
    git(repository, "commit", "-aqm", "two")
    planned = update_installed(project, check=True)
    assert ["+- Add twice." in part.diff for part in planned] == [True, True]
    assert "twice" not in copy.read_text()
    update_installed(project)
    assert "Add twice." in copy.read_text()
    assert [part.status for part in update_installed(project)] == ["unchanged", "unchanged"]


@pytest.mark.parametrize("reference", ["v1", "commit"])
def test_a_tag_or_commit_stays_what_it_was(reference: str, repository: Path, project: Path) -> None:
    ref = git(repository, "rev-parse", "HEAD") if reference == "commit" else reference
    write(repository / "skills", "sums", "Add twice.")
    git(repository, "commit", "-aqm", "two")
    install_from(f"file://{repository}@{ref}", project, ["sums"])
    assert "- Add.\n" in (project / COPY.format("sums")).read_text()
    assert {part.status for part in update_installed(project)} == {"unchanged"}


def test_an_edited_copy_is_not_overwritten_by_an_update(repository: Path, project: Path) -> None:
    install_from(f"file://{repository}", project, ["sums"])
    copy = project / COPY.format("sums")
    copy.write_text(copy.read_text() + "- Mine.\n")
    write(repository / "skills", "sums", "Add twice.")
    git(repository, "commit", "-aqm", "two")
    with pytest.raises(BadInput, match="was edited since"):
        update_installed(project)
    assert "Mine." in copy.read_text()
    update_installed(project, force=True)
    assert "Mine." not in copy.read_text()


def test_what_we_pack_can_be_installed_again(tmp_path: Path, project: Path) -> None:
    skill = load_skill(write(tmp_path, "sums"))
    export(skill, "skill", tmp_path / "dist")
    words = ["skill", "install", str(tmp_path / "dist" / "sums.skill"), "--into", str(project)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    copy = load_skill(project / ".claude/skills/sums")
    assert (copy.digest, copy.executable) == (strict(skill).digest, skill.executable)


def archive(path: Path, name: str, data: bytes, mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("sums/SKILL.md", TEXT.format("sums", "Add."))
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        opened.writestr(entry, data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "mode", "message"),
    [
        ("../out.txt", b"x", 0o100644, "leads out"),
        ("/etc/out.txt", b"x", 0o100644, "leads out"),
        ("sums/link", b"/etc/passwd", stat.S_IFLNK | 0o777, "leads out"),
        ("sums/bomb", bytes(65 * 2**20), 0o100644, "unpacked"),
    ],
)
def test_hostile_archives(
    name: str, data: bytes, mode: int, message: str, tmp_path: Path, project: Path
) -> None:
    path = archive(tmp_path / "a.zip", name, data, mode)
    with pytest.raises(BadInput, match=message):
        install_from(str(path), project)
    assert list(project.iterdir()) == []


def test_a_repository_runs_no_program(repository: Path, project: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    (repository / ".gitattributes").write_text("* filter=x\n")
    hook = repository / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
    hook.chmod(0o755)
    (repository / "skills" / "sums" / "secret").symlink_to("/etc/hostname")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "evil")
    with pytest.raises(BadInput, match="no skill at"):
        install_from(f"ssh://-oProxyCommand=touch%20{trace}/x", project)
    install_from(f"file://{repository}", project, ["sums"])
    assert not trace.exists()
    assert not (project / ".agents/skills/sums/secret").exists()


@pytest.mark.parametrize(
    ("text", "address", "ref"),
    [
        ("owner/repo", "https://github.com/owner/repo", ""),
        ("owner/repo@v1.2", "https://github.com/owner/repo", "v1.2"),
        ("git@host.org:owner/repo", "git@host.org:owner/repo", ""),
        ("git@host.org:owner/repo@feature/x", "git@host.org:owner/repo", "feature/x"),
        ("https://me@host.org/x.git@main", "https://me@host.org/x.git", "main"),
    ],
)
def test_addresses(text: str, address: str, ref: str) -> None:
    source = parse_source(text)
    assert (source.address, source.ref) == (address, ref)


@pytest.mark.parametrize(
    "text",
    [
        "nowhere",
        "ext::sh -c touch% x",
        "http://host/x",
        "--upload-pack=x",
        "-x/y",
        "a/b@-x",
        "a/b c",
    ],
)
def test_what_is_no_source(text: str) -> None:
    with pytest.raises(BadInput, match="no skill at"):
        parse_source(text)


def test_nothing_to_update(project: Path) -> None:
    with pytest.raises(BadInput, match="nothing was installed"):
        update_installed(project)
