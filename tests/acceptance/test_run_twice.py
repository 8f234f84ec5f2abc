"""Each command that writes a folder, run twice and with faults of the endpoint: one result.

Run again after it ended, a command reports what it reported, calls no model and writes nothing.
With one bad reply in twenty, at random places, it ends as it does without: the bad ones are asked
for again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import digest_tree
from harness.core.errors import BadInput, HarnessError, LimitReached
from harness.evals import records
from harness.models import transport
from tests.acceptance.flaky import Flaky, flaky_server

SHARE = 1 / 20
AGENT = """
import json
import os
import urllib.request


def answer(prompt, workdir, skill):
    body = {"model": "test", "messages": [{"role": "user", "content": prompt}], "stream": True}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
         "Content-Type": "application/json"},
    )
    text = ""
    with urllib.request.urlopen(request) as events:
        for line in events:
            if line.startswith(b"data: {"):
                for choice in json.loads(line[6:]).get("choices") or []:
                    text += choice["delta"].get("content") or ""
    return text
"""


class Command(NamedTuple):
    """A command as it is typed, below a folder that :func:`world` fills.

    Attributes:
        words: `MODEL` stands for the options that name the server.
        out: folder that it writes, or the file.
        before: commands that it needs.
    """

    words: str
    out: str = "out"
    before: tuple[str, ...] = ()


EVAL = "eval suite --out run MODEL"
EVOLVE = "evolve --suite suite --create doubling --epochs 1 --out out MODEL"
TABLE = {
    "corpora generate": Command("corpora generate ledger --out out --split train --limit 8"),
    "eval import": Command("eval import results.csv --out out"),
    "eval matrix": Command("eval matrix matrix.yaml --out out MODEL"),
    "eval regrade": Command("eval regrade run --out out", before=(EVAL,)),
    "eval run": Command("eval suite --out out MODEL"),
    "eval run, streams": Command("eval suite --agent py:agent.py:answer --out out MODEL"),
    "eval run, baseline": Command("eval suite --skill short --baseline --out out MODEL"),
    "evolve": Command(f"{EVOLVE} --analyst exemplar"),
    "evolve, prose": Command(f"{EVOLVE} --analyst single"),
    "evolve, merged by a model": Command(f"{EVOLVE} --analyst single --merge model"),
    "index add": Command(
        "index add more.txt --index out", before=("index build notes.txt --out out",)
    ),
    "index build": Command("index build notes.txt --out out"),
    "init": Command("init out"),
    "judge": Command("judge answers.jsonl --rubric rules.md --out out MODEL"),
    "learn": Command("learn sessions --out out --yes --create doubling MODEL", before=(
        EVAL, "trajectories export run --format atif --out sessions")),
    "skill audit": Command("skill audit short --suite suite --rollouts 20 --out out MODEL"),
    "skill export": Command("skill export short --out out --target claude"),
    "skill install": Command("skill install short --into project", out="project"),
    "skill ladder": Command(
        "skill ladder short --suite held.yaml --examples none --rungs none,repeat --out out MODEL"
    ),
    "skill trigger": Command("skill trigger short --agent choose --out out MODEL"),
    "synth": Command("synth --from players.csv --kind table --n 2 --out out MODEL"),
    "trajectories export": Command(
        "trajectories export run --format openai --out out", before=(EVAL,)
    ),
    "trajectories import": Command("trajectories import run --out out", before=(EVAL,)),
    "view": Command("view run --html out/view.html", before=(EVAL,)),
}  # fmt: skip
ELSEWHERE = {
    "ask": "writes one page",
    "check": "writes one page",
    "corpora convert": "needs the file of a public data set",
    "corpora pull": "tests/corpora/test_pull.py",
    "debug": "serves a page",
    "demo": "tests/acceptance/test_demo.py runs it twice",
    "index ablate": "only reads an index",
    "index delete": "says that there is no such document: the second time nothing is meant",
    "index info": "only reads an index",
    "index questions": "writes one file",
    "index search": "only reads an index",
    "record": "runs a program once more whenever it is typed: tests/record",
    "skill update": "fetches",
    "speak": "writes one file",
    "transcribe": "writes one file",
    "try": "tests/cli/test_try.py runs it twice",
}


def world(folder: Path) -> None:
    """A suite, a skill, notes, a matrix and so on in a folder."""
    rows = [
        {"id": f"t{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n), "check": "em"}
        for n in range(1, 25)
    ]
    for name in ("suite", "project", "short", "out"):
        (folder / name).mkdir(parents=True)
    (folder / "out").rmdir()
    (folder / "suite" / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "suite" / "suite.yaml").write_text(
        "name: doubling\ntasks: tasks.jsonl\nmax_turns: 1\n"
        "sampling: {temperature: 0.0, max_tokens: 32}\n"
    )
    (folder / "short" / "SKILL.md").write_text(
        '---\nname: "short"\ndescription: "Use for doubling of numbers."\n---\n\n# Short\n\n'
        "- Answer with the bare number.\n- Double it twice in your head.\n"
    )
    players = ["name,team,points", *(f"Player {n},{'RGB'[n % 3]},{3 * n % 17}" for n in range(40))]
    answers = [{"id": f"r{n}", "prompt": f"Name {n}.", "answer": f"It is {n}."} for n in range(4)]
    for name, text in {
        "agent.py": AGENT,
        "answers.jsonl": "\n".join(map(json.dumps, answers)),
        "matrix.yaml": "name: two\nsuites: [suite]\nmodels: [openai/test]\n"
        "skills: [none, short]\nbase: {skill: none}\nlimit: 6\n",
        "held.yaml": "name: held\ntasks: {test: suite/tasks.jsonl}\nmax_turns: 1\n",
        "more.txt": "The rope is 30 metres long.\n",
        "notes.txt": "The lantern weighs 4 kilograms.\n",
        "players.csv": "\n".join(players) + "\n",
        "results.csv": "id,passed\na,1\nb,0\nc,1\n",
        "rules.md": "- Is it short?\n",
    }.items():
        (folder / name).write_text(text)


def typed(words: str, server: Flaky) -> tuple[int, str]:
    """The exit code and the output of a command in this process."""
    model = f"--model openai/test --base-url {server.url} --concurrency 4 --sandbox none"
    if words.startswith("eval matrix"):  # whose file names the model
        model = "--concurrency 4 --sandbox none"
    elif words.startswith("skill trigger"):  # which runs no code
        model = model.removesuffix("--sandbox none")
    done = CliRunner().invoke(cli, words.replace("MODEL", model).split())
    error = done.exception
    if error is not None and not isinstance(error, HarnessError | SystemExit):
        raise error
    if isinstance(error, HarnessError):
        return error.exit_code, str(error)
    return done.exit_code, done.stdout


def result(words: str, server: Flaky) -> tuple[int, Any]:
    """The exit code of a command, and what it prints as JSON but for its time and its bill."""
    code, said = typed(f"{words} --json", server)
    document: dict[str, Any] = json.loads(said[said.index("{") :]) if code == 0 else {}
    unequal = ("seconds", "identity", "request", "calls", "tokens")
    return code, {name: document[name] for name in document if name not in unequal}


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without the lock and the store of calls: opening changes its bytes."""
    passed = {"writer.lock", "calls.sqlite", "calls.sqlite-wal", "calls.sqlite-shm"}
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in passed)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def flaky() -> Iterator[Flaky]:
    """A running server."""
    with flaky_server() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world, as the folder in which commands are typed."""
    world(tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", flaky.url)
    monkeypatch.setattr(transport, "BASE_S", 0.01)
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
        if name == "init"
        or any(
            {"--out", "--into", "--html"} & set(option.opts)
            for option in command.get_params(click.Context(command))
        )
    }
    named = {name.partition(",")[0] for name in (*TABLE, *ELSEWHERE)}
    assert writing <= named


@pytest.mark.parametrize("name", TABLE)
def test_a_command_that_ended_says_the_same_again_and_writes_nothing(
    name: str, folder: Path, flaky: Flaky
) -> None:
    command = TABLE[name]
    for words in command.before:
        assert typed(words, flaky)[0] == 0
    assert (first := typed(command.words, flaky))[0] == 0, first
    written, asked = contents(folder), len(flaky.requests)
    assert any(path.startswith(command.out) for path in written)
    again = typed(command.words, flaky)
    assert again[0] == 0, again
    assert contents(folder) == written
    assert len(flaky.requests) == asked
    if name.startswith(("eval", "evolve", "judge", "skill a", "skill l", "skill t", "synth")):
        assert again[1] == first[1]


REFUSED = ("eval run", "judge", "skill audit", "skill ladder", "skill trigger", "synth")


@pytest.mark.parametrize("name", REFUSED)
def test_other_settings_and_an_unfinished_run_are_refused_and_write_nothing(
    name: str, folder: Path, flaky: Flaky
) -> None:
    words = TABLE[name].words
    if name != "synth":  # its tasks are made by programs
        code, _ = typed(f"{words} --budget-calls 3", flaky)
        assert code == LimitReached.exit_code
        written = contents(folder)
        assert typed(words, flaky)[0] == BadInput.exit_code
        assert contents(folder) == written
        words = words.replace("--out", "--resume")
    assert typed(words, flaky)[0] == 0
    written, asked = contents(folder), len(flaky.requests)
    refused = CliRunner().invoke(cli, f"{TABLE[name].words} --seed 7".replace("MODEL", "").split())
    assert isinstance(refused.exception, BadInput)
    assert all(word in str(refused.exception) for word in ("--resume out", "another --out", "seed"))
    assert contents(folder) == written and len(flaky.requests) == asked
    assert typed(TABLE[name].words, flaky)[0] == 0
    assert contents(folder) == written and len(flaky.requests) == asked


SEEDS = 50
FAULTY = {"eval run": 3, "eval run, streams": 3, "evolve, prose": 1, "evolve, merged by a model": 0}
"""Command -> how many of the seeds `make test` takes; `make full` takes all."""
EXPECTED: dict[str, Any] = {}
"""Command -> what it comes to without faults."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[pytest.mark.full] if seed >= few else [])
        for name, few in FAULTY.items()
        for seed in range(SEEDS)
    ],
)
def test_one_bad_reply_in_twenty_changes_no_result(
    name: str, seed: int, folder: Path, flaky: Flaky
) -> None:
    words = TABLE[name].words

    def outcome() -> Any:
        said = result(words, flaky)
        if name.startswith("evolve"):
            return said, digest_tree(folder / "out" / "skill")
        items = sorted(records(folder / "out"), key=lambda item: item.id)
        return said, [(item.id, item.outcome, item.answer) for item in items]

    if name not in EXPECTED:
        EXPECTED[name] = outcome()
        (folder / "out").rename(folder / "whole")
    flaky.share, flaky.rng = SHARE, random.Random(seed)
    assert outcome() == EXPECTED[name], flaky.faults
    flaky.share = 0.0
    written, asked = contents(folder / "out"), len(flaky.requests)
    assert outcome() == EXPECTED[name]
    assert contents(folder / "out") == written and len(flaky.requests) == asked
