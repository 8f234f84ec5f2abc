"""Bar 8: a clear error, the right exit code, nothing lost or half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.rundir import RunReader
from harness.core.segments import read_segment
from tests.acceptance.conftest import ChatServer, Harness


def check(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_missing_suite(harness: Harness) -> None:
    check(harness("eval", "nowhere.yaml"), 2, "nowhere.yaml", "expected")


def test_a_malformed_task_line_is_named(harness: Harness, suite: Path) -> None:
    with (suite / "tasks.jsonl").open("a") as handle:
        handle.write('{"id": "broken"\n')
    check(harness("eval", suite, "--model", "openai/x"), 2, "tasks.jsonl:31")


def test_an_unknown_model_spec(harness: Harness, suite: Path) -> None:
    check(harness("eval", suite, "--model", "gpt9"), 2, "gpt9", "openai/")


def test_an_unknown_setting_in_a_suite(harness: Harness, suite: Path) -> None:
    with (suite / "suite.yaml").open("a") as handle:
        handle.write("temprature: 1\n")
    check(harness("eval", suite), 2, "temprature")


def test_a_skill_that_is_none(harness: Harness, suite: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = harness("eval", suite, "--model", "openai/x", "--skill", tmp_path / "empty")
    check(done, 2, "SKILL.md")


def test_an_unreachable_endpoint(
    harness: Harness, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    done = harness(
        "eval", suite, "--model", "openai/x", "--base-url", "http://127.0.0.1:9/v1",
        "--limit", "2", "--sandbox", "none",
    )  # fmt: skip
    check(done, 4, "127.0.0.1:9")


def test_a_wrong_key(
    harness: Harness, suite: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    chat_server.status = 401
    done = harness(
        "eval", suite, "--model", "openai/x", "--base-url", chat_server.url,
        "--limit", "2", "--sandbox", "none",
    )  # fmt: skip
    check(done, 4, "OPENAI_API_KEY")


def test_a_spent_budget_keeps_what_was_done(
    harness: Harness,
    suite: Path,
    chat_server: ChatServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    done = harness(
        "eval", suite, "--model", "openai/x", "--base-url", chat_server.url,
        "--budget-calls", "7", "--sandbox", "none", "--out", tmp_path / "run",
    )  # fmt: skip
    check(done, 3, "--resume")
    assert len(chat_server.requests) == 7
    assert len(list(RunReader(tmp_path / "run").items())) == 7


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A mounted file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_keeps_whole_records(
    harness: Harness,
    suite: Path,
    chat_server: ChatServer,
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    (small_disk / "ballast").write_bytes(os.urandom(120_000))
    done = harness(
        "eval", suite, "--model", "openai/x", "--base-url", chat_server.url,
        "--sandbox", "none", "--out", small_disk / "run", "--epochs", "30",
    )  # fmt: skip
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of ours" not in done.stderr
    kept = [row["id"] for row in read_segment(small_disk / "run" / "items.seg")]
    (small_disk / "ballast").unlink()
    assert len(kept) == len(set(kept))
    resumed = harness(
        "eval", suite, "--model", "openai/x", "--base-url", chat_server.url,
        "--sandbox", "none", "--resume", small_disk / "run", "--epochs", "30",
    )  # fmt: skip
    # The disk stays small: it may fill again, but it must say so and keep what it had.
    assert resumed.returncode in (0, 2, 3), resumed.stderr
    again = [row["id"] for row in read_segment(small_disk / "run" / "items.seg")]
    assert again[: len(kept)] == kept


def test_a_process_with_few_open_files_says_so_and_keeps_what_it_has(
    suite: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    chat_server.delay_s = 0.2
    words = ["harness", "eval", suite, "--model", "openai/x", "--base-url", chat_server.url,
             "--sandbox", "none", "--concurrency", "90", "--epochs", "3"]  # fmt: skip

    def run(files: int, *further: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["prlimit", f"--nofile={files}:{files}", sys.executable, "-m", *words, *further],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    done = run(64, "--out", "run", "--json")
    assert "fault of ours" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "64 open files: raise `ulimit -n`" in done.stderr
    report = json.loads(done.stdout)
    assert report["invalid"] > 0 and report["items"] == 90
    resumed = run(1024, "--resume", "run", "--json")
    assert resumed.returncode == 0 and json.loads(resumed.stdout)["invalid"] == 0
