"""Round trips through `npx skills`, the installer that most clients share, offline."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.skills import Skill, Target, export, load_skill

PACKAGE = "skills@1.5.18"
ENVIRONMENT = {**os.environ, "DISABLE_TELEMETRY": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def npx(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    program = shutil.which("npx")
    if program is None:
        pytest.skip("npx is not installed")
    command = [program, "--offline", "--yes", PACKAGE]
    known = subprocess.run(
        [*command, "--version"],
        capture_output=True,
        cwd=tmp_path_factory.mktemp("npx"),
        env=ENVIRONMENT,
        check=False,
    )
    if known.returncode != 0:
        pytest.skip("the npm package skills is not in npm's cache, and tests use no network")
    return command


@pytest.fixture
def skill(repository: Path) -> Skill:
    """A shipped skill, with a reference and a script beside SKILL.md."""
    base = load_skill(repository / "skills/spreadsheet-basics")
    more = {"references/r.md": b"# R\n", "scripts/s.py": b'#!/usr/bin/env python3\nprint("s")\n'}
    body = base.body + "\nRead `references/r.md`, run `scripts/s.py`.\n"
    return replace(
        base,
        body=body,
        files={**base.files, **more},
        executable=base.executable | {"scripts/s.py"},
    )


def add(npx: list[str], source: str, into: Path) -> None:
    into.mkdir()
    subprocess.run(
        [*npx, "add", source, "-y", "--copy", "-a", "claude-code", "codex"],
        cwd=into,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=60,
    )


def assert_installed(skill: Skill, into: Path) -> None:
    for folder in (".agents/skills", ".claude/skills"):
        assert load_skill(into / folder / skill.name).all_files == skill.all_files


@pytest.mark.parametrize("target", ["universal", "plugin"])
def test_a_folder_is_found_and_copied_whole(
    target: Target, npx: list[str], skill: Skill, tmp_path: Path
) -> None:
    export(skill, target, tmp_path / "from")
    add(npx, str(tmp_path / "from"), tmp_path / "to")
    assert_installed(skill, tmp_path / "to")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # the base's name
        pass


@contextlib.contextmanager
def served(folder: Path) -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("layout", ["agent-skills", "skills"])
def test_a_site_is_found_by_its_address(
    layout: str, npx: list[str], skill: Skill, tmp_path: Path
) -> None:
    export(skill, "well-known", tmp_path / "site")
    for other in {"agent-skills", "skills"} - {layout}:
        shutil.rmtree(tmp_path / "site/.well-known" / other)
    with served(tmp_path / "site") as address:
        add(npx, address, tmp_path / "to")
    assert_installed(skill, tmp_path / "to")
