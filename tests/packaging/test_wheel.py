"""A wheel built from the tree installs one top-level name and works outside the tree."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

LARGEST_WHEEL = 29_000_000
"""Bytes: 25 million for the token critic, 4 for code, prompts, suites, lexicon, a recorded demo."""


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, repository],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel],
        check=True,
        capture_output=True,
    )
    return target


def record(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/RECORD"))
        return [row[0] for row in csv.reader(io.StringIO(archive.read(name).decode()))]


def test_record_has_one_top_level_name(wheel: Path) -> None:
    names = {path.split("/")[0] for path in record(wheel)}
    assert {name for name in names if not name.endswith(".dist-info")} == {"harness"}


def test_record_has_every_asset_and_no_rubbish(wheel: Path, repository: Path) -> None:
    found = set(record(wheel))
    tracked = subprocess.run(
        ["git", "ls-files", "graphs", "prompts", "skills", "corpora", "evals"],
        cwd=repository, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert {f"harness/_assets/{path}" for path in tracked} <= found
    assert not [path for path in found if "__pycache__" in path or path.endswith(".pyc")]
    assert "harness/py.typed" in found


def test_wheel_stays_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL


def run(installed: Path, cwd: Path, *arguments: str) -> str:
    # -P and PYTHONPATH: the installed copy must win over the checkout and the working folder.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_assets_come_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = "import harness.core.assets as a; print(a.root()); a.load_graph('react')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == installed / "harness" / "_assets"


def test_the_main_job_runs_outside_the_tree(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "demo", "--out", "out")
    skills = list((tmp_path / "out").rglob("SKILL.md"))
    assert skills, sorted(path.name for path in (tmp_path / "out").rglob("*"))
    run(installed, tmp_path, "skill", "validate", str(skills[0].parent))
