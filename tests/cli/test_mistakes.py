"""The mistakes of a first day: each ends in a sentence that says what to do, and no traceback."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from tests.backends import fresh_cache

pytestmark = [pytest.mark.wing(name) for name in ("rag", "receipts", "debug", "judge", "synth")]
DOWN = "--model openai/x --base-url http://127.0.0.1:9/v1"
EVAL = "eval tickets.csv --agent py:agent.py:answer --model none"
ASK = "ask 'When are refunds paid?' policy.md"
CHECK = "check --answer answer.txt --documents policy.md"
EVOLVE = "evolve --suite tickets.csv --agent py:agent.py:answer --create a-skill --out evolved"
JUDGE = "judge answers.jsonl --rubric rules.md"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with tickets, an agent, a policy and an answer; no key, no server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE", fresh_cache(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    rows = [f"Ticket {n},{'ab'[n % 2]}" for n in range(12)]
    Path("tickets.csv").write_text("prompt,answer\n" + "\n".join(rows) + "\n")
    Path("agent.py").write_text("def answer(prompt):\n    return 'a'\n")
    Path("policy.md").write_text("Refunds are paid within 14 days.\n")
    Path("answer.txt").write_text("Refunds are paid within 30 days.\n")
    Path("answers.jsonl").write_text('{"id": "a", "question": "q", "answer": "a"}\n')
    Path("rules.md").write_text("# Rubric\n\n- It answers the question.\n")
    Path("flow.py").write_text(FLOW)
    stop = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, stop)


FLOW = """
from langgraph.graph import START, MessagesState, StateGraph

builder = StateGraph(MessagesState)
builder.add_node("reply", lambda state: {"messages": [("ai", "hello")]})
builder.add_edge(START, "reply")
graph = builder.compile()
"""


def typed(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Return the exit code of a command, and its last words."""
    monkeypatch.setattr(sys, "argv", ["harness", *shlex.split(line)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert "Traceback" not in told and "fault of ours" not in told, told
    code = ended.value.code
    return (code if isinstance(code, int) else 0), told


MISTAKES = [
    *(("wrong path", line, words) for line, words in (
        ("eval nowhere.csv", "expected a .yaml file"),
        ("eval tickets.csv --agent py:nowhere.py:f --model none", "nowhere.py"),
        ("eval tickets.csv --check nowhere.py:f --model none", "put it there"),
        ("eval tickets.csv --skill nowhere --model none", "SKILL.md"),
        ("eval regrade nowhere", "expected a folder with run.json"),
        ("eval matrix nowhere.yaml", "nowhere.yaml"),
        ("compare nowhere elsewhere", "expected"),
        ("evolve --suite nowhere.csv --create a --out e", "expected a .yaml file"),
        ("ask q nowhere.md", "expected a file or folder"),
        ("ask q --index nowhere", "harness index build PATH --index nowhere"),
        ("check --answer nowhere.txt --documents policy.md", "nowhere.txt"),
        ("check --answer answer.txt --documents nowhere.md", "expected a file or folder"),
        ("compress -q x --budget 20 nowhere.md", "expected a file or folder"),
        ("index build nowhere", "expected a file or folder"),
        ("index search x --index nowhere", "harness index build PATH --index nowhere"),
        ("debug nowhere.py:graph", "nowhere.py"),
        ("view nowhere --html x.html", "expected"),
        ("skill show nowhere", "SKILL.md"),
        ("skill export nowhere --target zip", "SKILL.md"),
        ("trajectories list nowhere", "expected"),
        ("init new --tasks nowhere.csv", "expected a task file"),
        ("try nowhere.csv --agent py:agent.py:answer", "expected a task file"),
        ("judge nowhere.jsonl --rubric rules.md --model openai/x", "nowhere.jsonl"),
        ("synth --from nowhere --kind fact --model none --n 2 --out s", "nowhere"),
    )),
    *(("wrong model", line.replace("--model none", "") + " --model gpt9", "openai/") for line in (
        EVAL, EVOLVE, ASK, CHECK, JUDGE,
    )),
    *(("no key", f"{line.replace('--model none', '')} --model openai/x", "OPENAI_API_KEY")
      for line in ("eval tickets.csv", ASK, CHECK, JUDGE)),
    *(("server down", f"{line} {DOWN}", "127.0.0.1:9") for line in (
        "eval tickets.csv --limit 1", ASK, CHECK, JUDGE,
        EVOLVE.replace("py:agent.py:answer", "graph:react"),
    )),
    *(("wrong column", line, "among 'prompt', 'answer'") for line in (
        f"{EVAL} --map Ticket=prompt", f"{EVOLVE} --model none --map Ticket=prompt",
        "init new --tasks tickets.csv --map Ticket=prompt",
    )),
    ("wrong column", f"{EVAL} --group-by colour", "colour"),
    *(("typo", line, words) for line, words in (
        ("evl tickets.csv", "Did you mean 'eval'"),
        ("skill exprot x", "Did you mean 'export'"),
        ("eval tickets.csv --modle x", "--model"),
        ("eval tickets.csv --check exakt --model none", "did you mean 'exact'"),
        ("eval demmo", "did you mean 'demo'"),
        ("ask q policy.md --budgt 9", "--budget"),
        ("check --anser answer.txt", "--answer"),
        ("compare", "Missing argument"),
        ("eval tickets.csv --limit 0", "x>=1"),
    )),
    ("extra", f"{EVAL} --executor ray", "ray"),
    ("extra", "index build policy.md --index i", "faiss"),
    ("relative paths", f"{EVAL} --check sub/check.py:judge", "put it there"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("mistake", "line", "words"), MISTAKES, ids=[f"{row[0]}: {row[1][:60]}" for row in MISTAKES]
)
def test_a_mistake_is_answered_with_what_to_do(
    mistake: str,
    line: str,
    words: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if mistake == "extra":
        for module in ("faiss", "ray", "numpy"):
            monkeypatch.setitem(sys.modules, module, None)
    code, told = typed(line, monkeypatch, capsys)
    assert code == (4 if mistake == "server down" else 2), told
    last = told.strip().splitlines()[-1]
    assert words in told, told
    assert len(last) < 700, "one sentence"


TWICE = (
    ("init my-suite", "init my-suite --template json", "name a new folder"),
    (f"{EVAL} --out r", f"{EVAL} --out r --limit 3", "--out"),
    ("index build policy.md --index i", "index build answer.txt --index i --chunk-tokens 99",
     "--reindex"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second", "words"), TWICE, ids=[row[0][:20] for row in TWICE])
def test_twice_with_other_words(
    first: str,
    second: str,
    words: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert typed(first, monkeypatch, capsys)[0] == 0
    code, told = typed(second, monkeypatch, capsys)
    assert code == 2 and words in told, told
    assert typed(first, monkeypatch, capsys)[0] == 0, "the same again is no mistake"


@pytest.mark.parametrize("line", [EVAL, ASK, CHECK, "init new --tasks tickets.csv"])
def test_letters_that_are_not_utf_8(
    line: str, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tickets.csv", "policy.md", "answer.txt"):
        content = Path(name).read_bytes()
        Path(name).write_bytes(content + "Grüße,b\n".encode("latin-1"))
    code, told = typed(line, monkeypatch, capsys)
    assert code in (0, 2, 4, 5), told
    assert code in (0, 5) or "UTF-8" in told or "weights" in told, told


SAVING = (
    f"{EVAL} --out new", "init new", "index build policy.md --index i",
    f"{CHECK} --html page.html", "skill install skill --into .",
)  # fmt: skip


@pytest.mark.parametrize(("number", "words"), [(28, "make room"), (13, "name another folder")])
@pytest.mark.parametrize("line", SAVING)
def test_a_folder_that_takes_no_file(
    line: str,
    number: int,
    words: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("skill").mkdir()
    Path("skill/SKILL.md").write_text("---\nname: skill\ndescription: Use it.\n---\n\nBe brief.\n")

    def refuse(source: Any, target: Any = "", *_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number), str(target or source))

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr("shutil.copyfile", refuse)
    code, told = typed(line, monkeypatch, capsys)
    assert code in (2, 3), told
    assert words in told, told


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (f"{EVAL} --out new", "harness.evals.run_evaluation"),
        (ASK, "harness.rag.ask.ask"),
        (CHECK, "harness.rag.check.check"),
    ],
)
def test_ctrl_c(
    line: str,
    place: str,
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupt)
    code, told = typed(line, monkeypatch, capsys)
    assert code == 130 and "harness: stopped" in told
    if line.startswith("eval"):
        assert "--resume new" in told


def test_an_old_python_and_a_misspelt_extra(tmp_path: Path, repository: Path) -> None:
    old = tmp_path / "python3"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = (3, 10, 1); "
        "exec(sys.stdin.read())'\n"
    )
    old.chmod(0o755)
    install = str(repository / "constraints" / "install")
    for python, extra, words in (
        (str(old), "local", "Python 3.11 or newer is needed"),
        (sys.executable, "locl", "no extra 'locl': did you mean 'local'?"),
    ):
        done = subprocess.run([install, python, extra], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert not re.search("Traceback|Error", done.stderr)
