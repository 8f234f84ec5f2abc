"""A release: its files fit each other, and a stranger's machine runs it from an index."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import harness
from tests.packaging.test_extras import UNWANTED
from tests.packaging.test_locks import LOCKS, locked

LARGEST_WHEEL = 4_000_000
"""Bytes, of code, prompts, suites, a recorded demo."""
BIN = Path(sys.executable).parent
RELEASE = ".ci/release"


@pytest.fixture(scope="module")
def dist(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run `make release`, and return its `dist/`."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([repository / RELEASE, sys.executable, out], check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def stranger(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], list[str | Path]]]:
    """Environment of an empty home, and `uvx` with an index that has the wheel."""
    home = tmp_path_factory.mktemp("home")
    page = home / "index" / "agent-skill-harness" / "index.html"
    page.parent.mkdir(parents=True)
    shutil.copy(wheel, page.parent)
    page.write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    cache = home / "cache"
    environment = {**os.environ, "HOME": str(home), "UV_CACHE_DIR": str(cache)}
    for name in ("PYTHONPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        environment.pop(name, None)
    index = page.parents[1].as_uri()
    yield environment, [BIN / "uvx", "--python", sys.executable, "--index", index]
    shutil.rmtree(cache)  # half a gigabyte


def record(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/RECORD"))
        return [row[0] for row in csv.reader(io.StringIO(archive.read(name).decode()))]


def tracked(repository: Path, *folders: str) -> set[str]:
    command = ["git", "ls-files", *folders]
    done = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_record_has_one_top_level_name(wheel: Path) -> None:
    names = {path.split("/")[0] for path in record(wheel)}
    assert {name for name in names if not name.endswith(".dist-info")} == {"harness"}


def test_record_has_every_asset_and_no_rubbish(wheel: Path, repository: Path) -> None:
    found = set(record(wheel))
    assets = tracked(repository, "graphs", "prompts", "skills", "corpora", "evals")
    assert {f"harness/_assets/{path}" for path in assets} <= found
    assert not [path for path in found if "__pycache__" in path or path.endswith(".pyc")]
    assert "harness/py.typed" in found


def test_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_the_sdist_is_what_git_tracks(dist: Path, repository: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == {*tracked(repository), "PKG-INFO"}


def test_every_file_has_its_digest(dist: Path) -> None:
    listed = dict(line.split("  ")[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines())
    files = (path for path in dist.iterdir() if path.name != "SHA256SUMS")
    assert listed == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert len(listed) == 3


def test_the_sbom_lists_the_locked_parts(dist: Path, repository: Path) -> None:
    text = (dist / "sbom.cdx.json").read_text()
    bom: dict[str, Any] = json.loads(text)
    pins = {name: version for lock in LOCKS for name, version in locked(repository, lock).items()}
    torch = locked(repository, "torch")["torch"]
    parts = {part["name"].lower(): part for part in bom["components"]}
    assert {name: part["version"] for name, part in parts.items() if name in pins} == {
        name: pins[name] for name in parts.keys() & pins.keys()
    } | {"torch": torch}
    assert {"langgraph", "openai", "torch", "faiss-cpu", "mcp"} <= parts.keys()
    assert not parts.keys() & (UNWANTED | {"pytest", "pyright"})
    assert all(part["externalReferences"][0]["hashes"] for part in parts.values())
    assert bom["metadata"]["component"]["version"] == harness.__version__
    assert "file:" not in text and str(dist.parent) not in text


def test_one_version(wheel: Path, repository: Path) -> None:
    assert wheel.name.split("-")[1] == harness.__version__
    headings = re.findall(r"^## (\S+) \((.+)\)$", (repository / "CHANGELOG.md").read_text(), re.M)
    assert headings[0][0] == harness.__version__
    assert re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", headings[0][1])


def test_a_tag_of_another_version_is_refused(repository: Path) -> None:
    """As the workflow runs it."""
    path = repository / ".github" / "workflows" / "release.yml"
    jobs = yaml.safe_load(path.read_text())["jobs"]
    (step,) = (step["run"] for step in jobs["build"]["steps"] if "run" in step)
    environment = {**os.environ, "GITHUB_REF_NAME": "v0.0.7", "MAKEFLAGS": f"VENV={sys.prefix}"}
    done = subprocess.run(
        ["bash", "-e", "-c", step], cwd=repository, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode
    assert f"no release: the version is {harness.__version__}, the tag v0.0.7" in done.stderr


@pytest.mark.parametrize(
    ("job", "made"),
    [
        pytest.param(["init", "out"], "out/suite.yaml", id="init"),
        pytest.param(
            ["demo", "--out", "out"],
            "out/recorded/evolved/skill/table-cleaning/SKILL.md",
            marks=pytest.mark.full,
            id="demo",
        ),
    ],
)
def test_it_runs_on_a_strangers_machine(
    stranger: tuple[dict[str, str], list[str | Path]], job: list[str], made: str, tmp_path: Path
) -> None:
    environment, uvx = stranger
    program = "import harness.core.assets as a; print(a.root()); a.load_graph('react')"
    for command in (
        ["agent-skill-harness", *job],
        ["--from", "agent-skill-harness", "python", "-c", program],
    ):
        done = subprocess.run(
            [*uvx, *command], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    root = Path(done.stdout.strip())
    assert (root.name, root.parent.name) == ("_assets", "harness")
    assert environment["UV_CACHE_DIR"] in str(root)
    assert (tmp_path / made).is_file()
    command = [*uvx, "agent-skill-harness", "skill", "validate", root / "skills" / "short-answers"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
