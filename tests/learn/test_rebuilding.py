"""Tasks made again from sessions: what is odd about one is its own reason, and ends no other."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.learn import Gathered, LearnSettings, gather
from harness.learn.rebuilding import NotRebuilt
from harness.learn.rebuilding import tests_of as command_of
from harness.trajectories import open_trajectories
from tests.learn.clients import Event, write_claude, write_codex

FAILS = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        {}\n"


def commit(folder: Path, files: dict[str, str], when: str) -> None:
    """One commit with these files; a text that begins with `-> ` is a link."""
    who = {
        f"GIT_{one}_{kind}": "a@b.c"
        for one in ("AUTHOR", "COMMITTER")
        for kind in ("NAME", "EMAIL")
    }
    who |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(folder)}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", when]):
        subprocess.run(
            ["git", *words], cwd=folder, check=True, capture_output=True,
            env={**who, "PATH": os.environ["PATH"]},
        )  # fmt: skip


def repository(folder: Path, later: dict[str, str]) -> Path:
    """A repository with one commit before the sessions, and one behind them."""
    folder.mkdir(parents=True)
    commit(folder, {"prices.py": "def add(a, b):\n    return 0\n"}, "2026-01-01T00:00:00Z")
    mended = {"prices.py": "def add(a, b):\n    return a + b\n"}
    commit(folder, {**mended, **later}, "2026-06-01T00:00:00Z")
    return folder


def session(prompt: str, command: str = "python -m unittest") -> tuple[Event, ...]:
    return (("user", prompt), ("edit", "prices.py"), ("sh", command, "Ran 1 test\n\nOK", 0))


def learned(tmp_path: Path, sandbox: str) -> Gathered:
    settings = LearnSettings(out=tmp_path / "out", sandbox=sandbox)
    return gather(settings, environment={"HOME": str(tmp_path)})


def test_what_is_odd_about_one_session_ends_no_other(tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("a key of this machine")
    brought = {
        "tests/test_ä.py": FAILS.format("pass"),
        "tests/link.py": f"-> {secret}",
        "tests/folder": f"-> {tmp_path}",
    }
    code = repository(tmp_path / "code", brought)
    (code / "deep; er").mkdir()
    log = tmp_path / ".claude"
    write_claude(log, "named", session("Mend add()."), cwd=str(code))
    write_codex(tmp_path / ".codex", "gone", session("Mend it."), cwd="/" + "a" * 5000)
    write_claude(log, "loop", session("Mend this.", 'cd "deep; er" && pytest'), cwd=str(code))
    found = learned(tmp_path, "none")
    reasons = {one.session: one.why_not for one in found.tasks}
    assert "need a sandbox" in reasons["named"]
    assert "cannot be made again" in reasons["gone"]
    assert "need a sandbox" in reasons["loop"]
    suite = tmp_path / "out" / "suite"
    put = {path.relative_to(suite).parts[2:] for path in suite.glob("tests/**/*") if path.is_file()}
    assert put == {("tests", "test_ä.py")}
    assert list(suite.rglob(".*")) == []


def test_a_check_that_the_finished_work_fails_makes_no_task(tmp_path: Path) -> None:
    broken = repository(tmp_path / "broken", {"test_p.py": FAILS.format("self.fail('always')")})
    whole = repository(tmp_path / "whole", {"test_p.py": FAILS.format("pass")})
    for name, code in (("broken", broken), ("whole", whole)):
        write_claude(tmp_path / ".claude", name, session("Mend add()."), cwd=str(code))
    away = session("Mend it.", "cd nowhere && python -m unittest")
    write_claude(tmp_path / ".claude", "away", away, cwd=str(whole))
    found = {one.session: one for one in learned(tmp_path, "auto").tasks}
    assert found["broken"].why_not == "its tests fail on the finished work too"
    assert "cannot be run here" in found["away"].why_not
    assert "pass before any work" in found["whole"].why_not


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("pytest -q", "."),
        ('cd "My; Dir" && pytest -q', "My; Dir"),
        ("cd a && cd b && pytest -q | tail", "a/b"),
        ("cd a\npytest -q", "a"),
        ("cd /home/ada/calc/sub; pytest -q; cd ..", "sub"),
        ("cd ~/p/sub && pytest -q", None),
        ("cd $ROOT && pytest -q", None),
        ('cd "$(git rev-parse --show-toplevel)" && pytest -q', None),
        ("npm ci && cd web && pytest -q", "web"),
        ("cd My\\ Dir && pytest -q", "My Dir"),
        ("cd /srv/other && pytest -q", None),
    ],
)
def test_the_folder_that_tests_ran_in(command: str, folder: str | None, tmp_path: Path) -> None:
    (found,) = open_trajectories(write_claude(tmp_path, "s", session("Mend add().", command)))
    if folder is None:
        with pytest.raises(NotRebuilt, match=r"cannot be told|outside of its folder"):
            command_of(found)
    else:
        assert command_of(found) == ("pytest -q", Path(folder), [])


TYPED: list[tuple[str, str, list[str]]] = [
    ("go test -run 'TestA|TestB' ./...", "go test -run 'TestA|TestB' ./...", []),
    ("TOKEN=x PYTHONPATH=src uv run pytest", "PYTHONPATH=src pytest", []),
    ("pytest -q 2>&1 | tail -3", "pytest -q", []),
    (
        "mkdir b && cd b && cmake .. && make -j$(nproc) && make install && ctest",
        "ctest",
        ["mkdir -p b && (cd b && cmake ..)", "mkdir -p b && (cd b && make -j$(nproc))"],
    ),
]


@pytest.mark.parametrize(("command", "expected", "built"), TYPED)
def test_commands_are_as_they_were_typed(
    command: str, expected: str, built: list[str], tmp_path: Path
) -> None:
    (found,) = open_trajectories(write_claude(tmp_path, "s", session("Mend add().", command)))
    tests, _, builds = command_of(found)
    assert (tests, builds) == (expected, built)
