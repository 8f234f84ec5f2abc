"""Each command that writes a folder, run twice and with faults of the endpoint: one result.

Run again after it ended, a command reports what it reported, and overwrites nothing. With one bad
reply in twenty, at random places, it ends as it does without: the bad ones are asked for again.
"""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core.errors import BadInput, HarnessError
from tests.acceptance import conftest
from tests.acceptance.test_kill_evolution import Teacher

FAULTS: tuple[tuple[int, Callable[[bytes], bytes]], ...] = (
    (200, lambda data: data[: len(data) // 2]),
    (200, lambda data: b'{"error": {"code": 503, "message": "overloaded"}}'),
    (200, lambda data: b""),
    (503, lambda data: b'{"error": {"message": "overloaded"}}'),
    (429, lambda data: b'{"error": {"message": "slow down"}}'),
)
SHARE = 1 / 20


@dataclass
class Flaky(Teacher):
    """An agent, its analysts and a judge on loopback; a share of their replies is bad."""

    share: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    faults: int = 0


def _handler(server: Flaky) -> type[Any]:
    base: Any = conftest._handler(server)  # pyright: ignore[reportPrivateUsage]  # of these tests

    class Handler(base):
        def _send(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            with server.lock:
                if server.rng.random() < server.share:
                    server.faults += 1
                    status, spoilt = server.rng.choice(FAULTS)
                    data = spoilt(data)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


@pytest.fixture
def flaky() -> Iterator[Flaky]:
    """A running server."""
    server = Flaky()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield server
    http.shutdown()
    http.server_close()


class Command(NamedTuple):
    """A command as it is typed, below a folder that :func:`world` fills.

    Attributes:
        words: `MODEL` and `URL` stand for the options that name the server.
        same: fields of its JSON document that are the same each time.
        again: as it is resumed, where another run may not go into the folder of one.
        out: folder that it writes.
    """

    words: str
    same: tuple[str, ...] = ()
    again: str = ""
    out: str = "out"


EVOLVED = ("skill", "accepted", "edits", "discarded", "gate", "records", "losses", "unsolved")
ASKING = {
    "eval run": Command(
        "eval suite --out out MODEL --json",
        ("passed", "failed", "invalid", "score", "ci95"),
        "eval suite --resume out MODEL --json",
    ),
    "evolve": Command(
        "evolve --suite suite --create doubling --analyst exemplar --epochs 1 --out out MODEL"
        " --json",
        EVOLVED,
    ),
    "evolve by analysts": Command(
        "evolve --suite suite --create doubling --analyst single --epochs 1 --out out MODEL --json",
        EVOLVED,
    ),
}
PLAIN = {
    "init": Command("init out"),
    "trajectories import": Command("trajectories import run --out out"),
    "trajectories export": Command("trajectories export run --format openai --out out"),
    "skill export": Command("skill export short --out out --target claude"),
    "skill install": Command("skill install short --into project", out="project"),
    "index build": Command("index build notes.txt --out out"),
}
ELSEWHERE = {
    "ask": "writes one page",
    "eval matrix": "tests/evals/matrix",
    "compress train": "trains a model",
    "corpora convert": "needs the file of a public data set",
    "corpora generate": "the same bytes every time: tests/corpora",
    "corpora pull": "fetches; it refuses a folder that holds anything",
    "demo": "tests/acceptance/test_demo.py runs it twice",
    "eval regrade": "refuses a folder that holds a run",
    "eval import": "needs a log of inspect: tests/evals/formats",
    "index add": "adds to the index that `index build` makes",
    "index ablate": "only reads an index",
    "index delete": "changes an index",
    "index info": "only reads an index",
    "index questions": "writes one file",
    "index search": "only reads an index",
    "judge": "tests/judge",
    "learn": "tests/learn",
    "record": "runs a program once more whenever it is typed: tests/record",
    "skill audit": "tests/receipts",
    "skill ladder": "tests/receipts",
    "skill trigger": "tests/receipts",
    "skill update": "fetches",
    "speak": "writes one file",
    "synth": "tests/synth",
    "transcribe": "writes one file",
}  # fmt: skip


def world(folder: Path, server: Flaky) -> None:
    """A suite, a skill, a note and a matrix in a folder."""
    rows = [
        {"id": f"t{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n), "check": "em"}
        for n in range(1, 25)
    ]
    (folder / "suite").mkdir(parents=True)
    (folder / "project").mkdir()
    (folder / "suite" / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "suite" / "suite.yaml").write_text(
        "name: doubling\ntasks: tasks.jsonl\nmax_turns: 1\n"
        "sampling: {temperature: 0.0, max_tokens: 32}\n"
    )
    (folder / "short").mkdir()
    (folder / "short" / "SKILL.md").write_text(
        '---\nname: "short"\ndescription: "Use for doubling of numbers."\n---\n\n# Short\n\n'
        "- Answer with the bare number.\n- Double it twice in your head.\n"
    )
    (folder / "notes.txt").write_text("The lantern weighs 4 kilograms.\n")


def typed(command: Command, server: Flaky, *, again: bool = False) -> tuple[int, dict[str, Any]]:
    """The exit code of a command in this process, and the fields that stay the same."""
    words = command.again if again and command.again else command.words
    model = f"--model openai/test --base-url {server.url} --concurrency 4 --sandbox none"
    done = CliRunner().invoke(cli, words.replace("MODEL", model).split())
    error = done.exception
    if error is not None and not isinstance(error, HarnessError | SystemExit):
        raise error
    code = error.exit_code if isinstance(error, HarnessError) else done.exit_code
    said = done.stdout if code == 0 and command.same else "{}"
    document = json.loads(said[said.index("{") :])
    return code, {name: document[name] for name in command.same if name in document}


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without the lock and the store of calls: opening changes its bytes."""
    passed = {"writer.lock", "calls.sqlite"}
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in passed)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def folder(tmp_path: Path, flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world, as the folder in which commands are typed."""
    world(tmp_path / "w", flaky)
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    return tmp_path / "w"


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command, with its words."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (child := command.get_command(context, name)) is not None:
                yield from walk(child, (*path, name))
    else:
        yield " ".join(path), command


def test_every_command_that_writes_a_folder_is_run_twice_somewhere() -> None:
    writing = {
        name
        for name, command in walk(cli)
        if any(
            {"--out", "--into"} & set(option.opts)
            for option in command.get_params(click.Context(command))
        )
    }
    assert writing <= {*ASKING, *PLAIN, *ELSEWHERE}
    assert {*ELSEWHERE} <= writing


@pytest.mark.parametrize("name", [*ASKING, *PLAIN])
def test_a_command_that_ended_says_the_same_again_and_overwrites_nothing(
    name: str, folder: Path, flaky: Flaky
) -> None:
    command = (ASKING | PLAIN)[name]
    if " run " in f" {command.words} ":
        assert typed(Command("eval suite --out run MODEL"), flaky)[0] == 0
    first = typed(command, flaky)
    assert first[0] == 0 and (first[1] or not command.same)
    written, asked = contents(folder / command.out), len(flaky.requests)
    assert written
    if command.again:  # it refuses, and names the command that resumes
        assert typed(command, flaky)[0] == BadInput.exit_code
    assert typed(command, flaky, again=True) == first
    again = contents(folder / command.out)
    assert [path for path in written if again.get(path) != written[path]] == []
    assert len(flaky.requests) == asked


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("eval run", 1),
        *(
            pytest.param(name, seed, marks=pytest.mark.full)
            for name in ASKING
            for seed in range(2, 52)
        ),
    ],
)
def test_one_bad_reply_in_twenty_changes_no_result(
    name: str, seed: int, folder: Path, flaky: Flaky
) -> None:
    command = ASKING[name]
    whole = typed(command, flaky)
    shutil.rmtree(folder / command.out)
    flaky.share, flaky.rng = SHARE, random.Random(seed)
    assert typed(command, flaky) == whole
    flaky.share = 0.0
    written = contents(folder / command.out)
    assert typed(command, flaky, again=True) == whole
    again = contents(folder / command.out)
    assert [path for path in written if again.get(path) != written[path]] == []
