"""Set-up commands install exact versions, each with the digests of its files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS = ("cpu", "torch-cpu", "torch", "pip")
PIN = re.compile(r"([a-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def locked(repository: Path, name: str) -> dict[str, str]:
    """Package -> version of a lock of which every line is a pin with digests."""
    text = (repository / "constraints" / f"{name}.txt").read_text()
    pins = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert PIN.sub("", pins) == "", "a line without a digest"
    return {canonicalize_name(package): version for package, version, _ in PIN.findall(pins)}


def test_every_requirement_has_an_exact_version_with_digests(repository: Path) -> None:
    pins = {name: version for lock in LOCKS for name, version in locked(repository, lock).items()}
    tree = tomllib.loads((repository / "pyproject.toml").read_text())
    extras = tree["project"]["optional-dependencies"]
    needed = [*tree["build-system"]["requires"], *tree["project"]["dependencies"], "editables"]
    needed += [name for extra, names in extras.items() if extra != "gpu" for name in names]
    for requirement in map(Requirement, needed):
        if requirement.name != "agent-skill-harness":
            version = pins[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement


def test_locks_agree_and_torch_stands_apart(repository: Path) -> None:
    most, torch, cpu = (locked(repository, lock) for lock in ("cpu", "torch", "torch-cpu"))
    assert "torch" not in most
    assert {name: torch[name] for name in most.keys() & torch.keys()}.items() <= most.items()
    # In one file pip would take the index's build, whose digest the index names, before this one.
    assert cpu == {"torch": torch["torch"] + "+cpu"}


def test_the_set_up_commands_install_through_the_locks(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    makefile = makefile.replace("\\\n", " ").partition("$(VLLM)/.ready:")
    lines = [line for part in (makefile[0], makefile[2].partition("touch")[2]) for line in
             part.splitlines() if "pip install" in line]  # fmt: skip
    locked_in = re.compile("--no-deps --build-constraint|--require-hashes")
    assert [line for line in lines if not locked_in.search(line)] == []
    assert makefile[2].count("constraints/install $(BIN)/python") == 2
    assert "constraints/install" in (repository / "README.md").read_text()


@pytest.mark.parametrize("right", [True, False])
def test_a_file_with_another_digest_is_not_installed(
    right: bool, repository: Path, tmp_path: Path
) -> None:
    """As the locks are used: as constraints of a requirement that names no version."""
    wheel = tmp_path / "planted-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("planted.py", "")
        archive.writestr("planted-1.0.dist-info/METADATA", "Name: planted\nVersion: 1.0\n")
        archive.writestr("planted-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("planted-1.0.dist-info/RECORD", "")
    digest = subprocess.run(
        [sys.executable, "-m", "pip", "hash", wheel], capture_output=True, text=True, check=True
    ).stdout.rpartition("--hash=")[2]
    if not right:
        digest = digest.replace(digest[-5:-1], "0000")
    (tmp_path / "lock.txt").write_text(f"planted==1.0 \\\n    --hash={digest}")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-index", "--find-links",
         tmp_path, "--target", tmp_path / "site", "--constraint", tmp_path / "lock.txt", "planted"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull},
    )  # fmt: skip
    assert (done.returncode == 0) is right, done.stderr
    assert right or "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
