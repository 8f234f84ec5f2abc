"""One command, and the shell completes: in a real shell, from an empty home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.completion import candidates


def harness(home: Path, *words: str, shell: str = "/bin/bash") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "completion", *words],
        env={**os.environ, "HOME": str(home), "SHELL": shell},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def completed(home: Path, line: str) -> list[str]:
    """List what a bash that reads its start file offers behind `line`."""
    program = home / "bin" / "harness"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    program.chmod(0o755)
    words = line.split(" ")
    script = (
        f". {home}/.bashrc; COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); "
        f"COMP_CWORD={len(words) - 1}; _harness_completion harness; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "HOME": str(home), "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_command_installs_it_and_bash_completes(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    for _ in range(2):
        done = harness(tmp_path, "--install")
        assert done.returncode == 0, done.stderr
    lines = (tmp_path / ".bashrc").read_text().splitlines()
    assert lines[0] == "alias ll='ls -l'"
    assert len(lines) == 2, "it is read once"
    assert completed(tmp_path, "harness ev") == ["eval", "evolve"]
    assert "--min-pass" in completed(tmp_path, "harness eval --m")
    assert completed(tmp_path, "harness skill expl") == ["explain"]
    assert "roster" in completed(tmp_path, "harness eval ro")
    assert "wire" in completed(tmp_path, "harness evolve --suite wi")
    assert "numeric" in completed(tmp_path, "harness eval demo --check nu")


@pytest.mark.wing("engines")
def test_values_that_it_offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".claude/skills/a-skill", "mine"):
        Path(folder).mkdir(parents=True)
        (Path(folder) / "SKILL.md").write_text("")

    def offered(name: str, typed: str) -> list[str]:
        return [item.value for item in candidates(name, typed) if item.type == "plain"]

    assert offered("skill", "") == [".claude/skills/a-skill", "mine"]
    assert offered("skill", "mi") == ["mine"]
    assert "local/smollm2-135m" in offered("models", "local/sm")
    assert "analyst=none" in offered("models", "analyst=no")
    assert offered("suite", "no-such") == []


def test_other_shells(tmp_path: Path) -> None:
    assert harness(tmp_path, "--install", shell="/usr/bin/fish").returncode == 0
    assert "_harness_completion" in (tmp_path / ".config/fish/completions/harness.fish").read_text()
    done = harness(tmp_path, "zsh")
    assert done.returncode == 0 and "compinit" in done.stdout and "compdef" in done.stdout
    done = harness(tmp_path, shell="/bin/tcsh")
    assert done.returncode == 2
    assert "name your shell" in done.stderr
