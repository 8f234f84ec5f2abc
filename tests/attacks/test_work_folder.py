"""Hostile work folders: races between check and use, and files that wait for the host to load."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from harness.core import UnfitFile, files, read_work_file, remove_tree, work_files
from harness.evals import records
from harness.sandbox import preferred, probe_backends
from tests.attacks.running import command, in_time, suite_of
from tests.models.http_server import completion, serve

SECRET = b"SECRET OF THE HOST"
TIMES = 3000


@contextmanager
def racing(swap: Callable[[], None]) -> Generator[None]:
    """A thread that swaps until the block ends."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            swap()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)


@pytest.mark.parametrize("kind", ["link", "link as folder", "pipe"])
def test_read_race(kind: str, tmp_path: Path) -> None:
    """While the host reads the answer, its name goes back and forth between a file and a trap."""
    work, host = tmp_path / "work", tmp_path / "host"
    for folder in (work / "sub", host):
        folder.mkdir(parents=True)
    (host / "answer.txt").write_bytes(SECRET)
    (work / "sub" / "answer.txt").write_bytes(b"mine")
    name = work / "sub" if kind == "link as folder" else work / "sub" / "answer.txt"
    trap, aside = work / "trap", work / "aside"
    plant: dict[str, Callable[[], object]] = {
        "link": lambda: trap.symlink_to(host / "answer.txt"),
        "link as folder": lambda: trap.symlink_to(host),
        "pipe": lambda: os.mkfifo(trap),
    }

    def swap() -> None:
        plant[kind]()
        name.rename(aside)
        trap.rename(name)
        name.unlink()
        aside.rename(name)

    outcomes = {"mine": 0, "refused": 0, "absent": 0}

    def is_seen() -> bool:
        return bool(outcomes["mine"] and outcomes["refused"] + outcomes["absent"])

    with racing(swap):
        # On a loaded machine the other thread may stand still for thousands of reads.
        for number in range(100 * TIMES):
            if number >= TIMES and is_seen():
                break
            if number % TIMES == TIMES - 1:
                time.sleep(0.01)
            try:
                data = read_work_file(work, "sub/answer.txt")
                assert data == b"mine"
                outcomes["mine"] += 1
            except FileNotFoundError:
                outcomes["absent"] += 1
            except UnfitFile:
                outcomes["refused"] += 1
    assert is_seen(), outcomes
    assert (host / "answer.txt").read_bytes() == SECRET


def test_removal_race(tmp_path: Path) -> None:
    """While the host removes a work folder, folders in it turn into links to the host's files."""
    host = tmp_path / "host"
    (host / "inner").mkdir(parents=True)
    (host / "inner" / "key").write_bytes(SECRET)
    host.chmod(0o755)
    turn = threading.Event()

    def swap() -> None:
        for number in range(8):
            folder = tmp_path / "work" / f"d{number}"
            with suppress(OSError):  # it is gone already
                folder.rename(folder.with_name(f"x{number}"))
                turn.set()
                folder.symlink_to(host)
                folder.with_name(f"x{number}").rename(folder.with_name(f"y{number}"))

    with racing(swap):
        for _ in range(TIMES // 60):
            for number in range(8):
                with suppress(OSError):  # it was renamed between
                    (tmp_path / "work" / f"d{number}" / "inner").mkdir(parents=True)
            work_files(tmp_path / "work")
            remove_tree(tmp_path / "work")
    assert turn.is_set(), "the race was never close"
    assert (host / "inner" / "key").read_bytes() == SECRET
    assert host.stat().st_mode & 0o777 == 0o755


def test_locked_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permissions becomes a link just when the host is about to open it up."""
    host, work = tmp_path / "key", tmp_path / "work"
    host.write_bytes(SECRET)
    host.chmod(0o600)
    work.mkdir()
    (work / "locked").mkdir()
    opening = os.open

    def late(path: object, *arguments: object, **options: object) -> int:
        if path == "locked" and not (work / "locked").is_symlink():
            (work / "locked").rmdir()
            (work / "locked").symlink_to(host)
            raise PermissionError(13, "as for a user who is not root")
        return opening(path, *arguments, **options)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(files.os, "open", late)
    remove_tree(work)
    assert host.stat().st_mode & 0o777 == 0o600
    assert host.read_bytes() == SECRET


LEFT = """
import os
for name in (b"new\\nline", b"esc\\x1b[2J\\x1b]0;x\\x07", b"\\xff\\xfe", b"n" * 255, b"-rf",
             b"--help", b"~", b"$(id)", b"a;b", "\\u202egnp.exe".encode(), b".git"):
    os.mkdir(name)
    os.chdir(name)
    open(b"-" + name[:250], "wb").close()
    os.chdir("..")
os.mkdir(".agents"); os.mkfifo("workbook.xlsx"); os.symlink("/", "root"); os.symlink(".", "loop")
print(1)
"""
PLANTED = ("sitecustomize.py", "usercustomize.py", "json.py", "conftest.py", "harness.py", "pip.py",
           "encodings.py", "openai.py", "antigravity.pth")  # fmt: skip
SETTINGS = {
    "pytest.ini": "[pytest]\naddopts = -p json\n",
    ".env": "OPENAI_BASE_URL=http://127.0.0.1:1/v1\nHARNESS_CACHE=planted\n",
    "pyvenv.cfg": "home = .\n",
    "langgraph.json": '{"env": ".env"}',
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:1/\n",
}


def _suite(folder: Path, code: str) -> Path:
    """One task for an agent that came with the suite."""
    if preferred(probe_backends()) is None:
        pytest.skip("no sandbox here")
    agent = "cmd:python3 -I -S {suite}/agent.py"
    suite = suite_of(folder, [{"id": "t", "prompt": "p", "answer": "1"}], agent=agent)
    (suite / "agent.py").write_text(code)
    return suite


def test_names_left_behind(tmp_path: Path) -> None:
    """An attempt leaves names that are options, escapes, no UTF-8, 255 bytes or right to left."""
    suite, out = _suite(tmp_path / "suite", LEFT), tmp_path / "run"
    done = in_time("eval", suite, "--out", out, "--model", "openai/x",
                   "--base-url", "http://127.0.0.1:9/v1", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    assert json.loads(done.stdout)["passed"] == 1
    assert list((out / "work").iterdir()) == []
    done = in_time("runs", "prune", out, "--yes")
    assert done.returncode == 0 and not (out / "work").exists()


def test_planted_modules(tmp_path: Path) -> None:
    """Modules and settings wait to be loaded in the folders of command, suite and work."""
    mark = tmp_path / "loaded"
    body = f"open({str(mark)!r}, 'a').write(__file__ + '\\n')\n"
    write = "for name, text in __import__('ast').literal_eval({!r}): open(name, 'w').write(text)\n"
    traps = [(name, body) for name in PLANTED] + list(SETTINGS.items())
    suite = _suite(tmp_path / "suite", write.format(repr(traps)) + "print(1)\n")
    for name, text in traps:
        (suite / name).write_text(text)
    (suite / "check.py").write_text("def judge(task, workdir, answer):\n    return answer == '1'\n")
    tasks = [
        {"id": "t", "prompt": "p", "answer": "1"},
        {"id": "f", "prompt": "p", "check": "check.py:judge"},
        {"id": "m", "prompt": "p", "answer": "1", "check": "math"},
    ]
    (suite / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tasks))
    with serve(lambda _: completion("1")) as server:
        for number, more in enumerate(([], ["--executor", "local", "--workers", "1"])):
            agent = ["--agent", "graph:react"] if number else []
            out = tmp_path / f"run{number}"
            done = command("eval", suite, "--out", out, "--model", "openai/x", *agent, *more,
                           "--base-url", server.url, "--json", cwd=suite)  # fmt: skip
            assert done.returncode == 0, done.stderr[-500:]
            assert {item.id: item.outcome for item in records(out)} == dict.fromkeys("tfm", "pass")
    assert not mark.exists(), mark.read_text()
    assert not (suite / "planted").exists()
