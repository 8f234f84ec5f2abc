"""Hostile run folders and repositories: links to the user's files, settings that name programs."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.core import AgentInfo, BadInput, Step, Trajectory
from harness.evals import records
from harness.learn import LearnSettings, gather
from harness.learn.rebuilding import check_out
from harness.trajectories import TrajectoryStore
from tests.attacks.running import KEY, command, in_time, suite_of
from tests.learn.clients import write_codex
from tests.learn.test_rebuilding import commit, session
from tests.models.http_server import completion, serve, serve_raw
from tests.typed import typed

LINKED = ("writer.lock", "items.seg", "trajectories.seg", "control.jsonl", "calls.sqlite",
          "control", "work", "checkpoints.sqlite", "parts.json", "status.json")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite of two tasks, and a finished run of it."""
    folder = tmp_path_factory.mktemp("made")
    rows = [{"id": name, "prompt": name, "answer": "1"} for name in "ab"]
    suite = suite_of(folder / "suite", rows, max_turns=1)
    with serve(lambda _: completion("1")) as server:
        done = in_time("eval", suite, "--out", folder / "run", "--sandbox", "none",
                       "--model", "openai/m", "--base-url", server.url)  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run, as somebody sends it to us; the suite lies beside it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("suite", "run"):
        shutil.copytree(made / name, tmp_path / name)
    return tmp_path / "run"


def resumed(run: Path) -> subprocess.CompletedProcess[str]:
    return typed("eval", run.parent / "suite", "--resume", run, "--sandbox", "none",
                   "--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1")  # fmt: skip


@pytest.mark.parametrize("name", LINKED)
def test_links(name: str, run: Path, tmp_path: Path) -> None:
    """A run from elsewhere has links in place of its files: resuming it writes where they lead."""
    host = tmp_path / "host"
    host.mkdir()
    (host / "file").write_text("precious " * 100)
    before = {path: path.stat().st_mtime_ns for path in (host, host / "file")}
    place = run / name
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    place.symlink_to(host if name in ("work", "control") else host / "file")
    done = resumed(run)
    assert done.returncode == 2 and "link" in done.stderr[-500:]
    assert "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in (host, host / "file")} == before
    assert (host / "file").read_text() == "precious " * 100


def test_dangling_link(run: Path, tmp_path: Path) -> None:
    """A run from elsewhere has links to files that do not exist yet, such as trusted keys."""
    for name in ("calls.sqlite", "writer.lock"):
        (run / name).unlink()
        (run / name).symlink_to(tmp_path / "authorized_keys")
        assert resumed(run).returncode == 2
        assert not (tmp_path / "authorized_keys").exists()
        (run / name).unlink()
        (run / name).touch()


def test_store_link(tmp_path: Path) -> None:
    """A store of trajectories from elsewhere has a link in place of its records."""
    store, host = tmp_path / "store", tmp_path / "host"
    agent = AgentInfo(name="a", version="1")
    steps = (Step(step_id=1, source="user", message="m"),)
    trajectory = Trajectory(trajectory_id="t", agent=agent, steps=steps)
    with TrajectoryStore(store) as writer:
        writer.append(trajectory)
    host.write_text("precious " * 100)
    for path in [*store.iterdir()]:
        held = path.read_bytes()
        path.unlink()
        path.symlink_to(host)
        with suppress(BadInput, OSError), TrajectoryStore(store) as writer:
            writer.append(trajectory.model_copy(update={"trajectory_id": path.name}))
        assert host.read_text() == "precious " * 100, path
        path.unlink()
        path.write_bytes(held)


def test_prune(run: Path, tmp_path: Path) -> None:
    """Links to folders and files of the user stand where `runs prune` removes something."""
    host = tmp_path / "host"
    (host / "folder").mkdir(parents=True)
    (host / "folder" / "file").write_text("precious")
    (run / "work").rmdir() if (run / "work").is_dir() else None
    (run / "work").symlink_to(host / "folder")
    (run / "checkpoints.sqlite").symlink_to(host / "folder" / "file")
    assert typed("runs", "prune", run, "--yes").returncode == 0
    assert (host / "folder" / "file").read_text() == "precious"
    assert not (run / "work").is_symlink()


@pytest.mark.parametrize("text", ["[]", "null", "{", "\0", "9" * 5000, "[" * 100_000, "\ufeff{}"])
def test_lock_file(text: str, run: Path) -> None:
    """The file that says what a run is made of is a list, half a file, or 100,000 brackets."""
    (run / "run.json").write_text(text)
    assert typed("runs", "list", run.parent).returncode == 0  # other runs are listed all the same
    assert typed("compare", run, run).returncode == 2
    assert resumed(run).returncode == 2


def test_two_at_once(tmp_path: Path) -> None:
    """Two processes resume one run at the same time."""
    rows = [{"id": f"t{n}", "prompt": f"p{n}", "answer": "1"} for n in range(12)]
    suite, out = suite_of(tmp_path / "suite", rows, max_turns=1), tmp_path / "run"
    answers, asked = threading.Event(), list[str]()

    async def write(body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        asked.append(str(body))
        while not answers.is_set():  # noqa: ASYNC110  # by another thread
            await asyncio.sleep(0.02)
        content = completion("1")[2]
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
        )
        await writer.drain()
        return True

    done: list[subprocess.CompletedProcess[str]] = []
    with serve_raw(write) as url:
        words = ["eval", suite, "--sandbox", "none", "--model", "openai/m", "--base-url", url]
        answers.set()
        assert in_time(*words, "--out", out, "--budget-calls", "2").returncode == 3
        answers.clear()
        threads = [
            threading.Thread(target=lambda: done.append(command(*words, "--resume", out)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        while not done and all(thread.is_alive() for thread in threads):
            threads[0].join(0.1)
        answers.set()
        for thread in threads:
            thread.join()
    assert [process.returncode for process in done] == [2, 0], [p.stderr for p in done]
    assert "another process is writing" in done[0].stderr
    items = records(out)
    assert len(items) == 12 and {item.outcome for item in items} == {"pass"}
    assert len(set(asked)) == len(asked) == 12


SAYS = "sh -c 'echo {0} >> \"{1}\"; exit 1' --"
PROGRAMS = (
    "filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv",
    "diff.evil.command", "diff.external", "merge.evil.driver", "core.fsmonitor", "core.sshCommand",
    "core.alternateRefsCommand", "core.gitProxy", "core.pager", "core.editor", "core.askPass",
    "gpg.program", "uploadpack.packObjectsHook", "remote.origin.uploadpack", "credential.helper",
    "alias.rev-parse",
)  # fmt: skip
"""Settings of a repository that name a program."""
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc")


def hostile(folder: Path, mark: Path) -> str:
    """A repository every one of whose settings names a program; its commit."""
    folder.mkdir()
    attributes = "* filter=evil diff=evil merge=evil\n"
    commit(folder, {"a.py": "a\n", ".gitattributes": attributes}, "2026-01-01T00:00:00Z")
    commit(folder, {"a.py": "b\n", "test_a.py": "c\n"}, "2026-06-01T00:00:00Z")
    git = ["git", "-C", str(folder)]
    first = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=True)
    for name in HOOKS:
        hook = folder / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n" + SAYS.format(name, mark))
        hook.chmod(0o755)
    settings = {name: SAYS.format(name, mark) for name in PROGRAMS}
    settings |= {
        "core.hooksPath": str(folder / ".git" / "hooks"),
        "log.showSignature": "true",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "core.repositoryformatversion": "1",
        "remote.origin.promisor": "true",
        "include.path": str(folder / "included"),
    }
    included = ["git", "config", "--file", str(folder / "included"), "core.sshCommand"]
    subprocess.run([*included, SAYS.format("included", mark)], check=True)
    for name, value in settings.items():
        subprocess.run([*git, "config", name, value], check=True)
    return first.stdout.split()[-1]


@pytest.mark.parametrize("url", ["ssh://host/path", "ext::sh -c true", "/nowhere", "git://host/x"])
def test_repository(url: str, tmp_path: Path) -> None:
    """A repository that `learn` reads names a program in every setting that git may run."""
    code, mark = tmp_path / "code", tmp_path / "ran"
    first = hostile(code, mark)
    subprocess.run(["git", "-C", str(code), "config", "remote.origin.url", url], check=True)
    (blob,) = subprocess.run(["git", "-C", str(code), "rev-parse", "HEAD:test_a.py"],
                             capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    mark.unlink(missing_ok=True)
    check_out(code, first, tmp_path / "tree")
    assert (tmp_path / "tree" / "a.py").read_text() == "a\n"
    # One log names a commit that is not there, to be fetched; another one's later files are gone.
    (code / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    write_codex(
        tmp_path / ".codex", "gone", session("Mend it."), cwd=str(code), commit="0" * 39 + "1"
    )
    write_codex(tmp_path / ".codex", "late", (("user", "Mend."), ("edit", "a.py"),
                ("sh", "pytest", "1 passed", 0)), cwd=str(code))  # fmt: skip
    gathered = gather(
        LearnSettings(out=tmp_path / "out", sandbox="none"), environment={"HOME": str(tmp_path)}
    )
    assert len(gathered.tasks) == 2 and all(task.why_not for task in gathered.tasks)
    assert not mark.exists(), mark.read_text()
