"""Commands that are printed can be pasted into a shell, however files and columns are named."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

import harness
from harness.cli import cli
from harness.core import command_line

FOLDER = "Ann's $HOME & (new); `id`"
OUR_NAMES = {"name", "weights.name", "command", "EMBEDDED"}
"""Expressions that hold a name of ours, which needs no quotes."""


def pasted(line: str, tmp_path: Path) -> list[str]:
    """The words that a program named `harness` is given when a shell runs `line`."""
    program = tmp_path / "bin" / "harness"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout.split("\0")[:-1]


def printed(words: list[str], start: str = "harness") -> str:
    """The last command that a command of ours prints."""
    ended = CliRunner().invoke(cli, words, terminal_width=10_000)
    lines = [line.strip() for line in ended.output.splitlines()]
    return [line[line.index(start) :] for line in lines if start in line][-1]


def test_every_word_is_quoted(tmp_path: Path) -> None:
    words = ["eval", "tickets.csv?ticket=prompt&label=answer", "a b", "'", "$(id)", "", "ü"]
    assert pasted(command_line(*words), tmp_path) == words


def test_what_eval_prints_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("my tickets.csv").write_text("Ticket;Label\n" + "".join(f"t{n};a\n" for n in range(8)))
    Path("replies.json").write_text(json.dumps([{"text": "b"}]))
    suite = "my tickets.csv?Ticket=prompt&Label=answer"
    line = printed(["eval", suite, "--model", "scripted/replies.json", "--out", "a run"])
    words = pasted(line, tmp_path)
    assert words[:5] == ["evolve", "--suite", suite, "--from", "a run"]


def test_a_resumed_run_prints_the_command_of_the_run_that_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tickets.csv").write_text("Ticket;Label\n" + "".join(f"t{n};a\n" for n in range(20)))
    Path("replies.json").write_text(json.dumps([{"text": "b"}]))
    begun = printed([
        "eval", "tickets.csv", "--map", "Ticket=prompt", "--map", "Label=answer", "--limit", "18",
        "--model", "scripted/replies.json", "--base-url", "http://me:pw@127.0.0.1:9/v1", "--seed",
        "5", "--out", "run",
    ])  # fmt: skip
    for option in ("--model scripted/replies.json", "--base-url http://127.0.0.1:9/v1", "--seed 5"):
        assert option in begun
    assert printed(["eval", "--resume", "run"]) == begun
    with Path("run", "items.seg").open("ab") as records:
        records.truncate(0)  # as after a kill: there is something to do
    Path("run", "finished.json").unlink()
    typed = ["eval", "--resume", "run", "--base-url", "http://127.0.0.1:9/v1"]
    assert printed(typed) == begun


def test_what_init_prints_can_be_pasted(tmp_path: Path) -> None:
    folder = str(tmp_path / FOLDER)
    assert pasted(printed(["init", folder]), tmp_path)[:2] == ["eval", folder]


def test_what_import_prints_can_be_pasted(tmp_path: Path) -> None:
    table, run = tmp_path / "results.csv", str(tmp_path / FOLDER)
    table.write_text("id,passed\na,1\nb,0\n")
    line = printed(["eval", "import", str(table), "--out", run])
    assert pasted(line, tmp_path) == ["view", run]


def test_a_suite_that_init_refuses_is_named_as_it_is_typed(tmp_path: Path) -> None:
    suite = tmp_path / f"{FOLDER}.yaml"
    suite.write_text("name: x\n")
    ended = CliRunner().invoke(cli, ["init", str(tmp_path / "new"), "--tasks", str(suite)])
    assert command_line("eval", suite) in str(ended.exception)


def test_no_message_puts_a_value_into_a_command_by_itself() -> None:
    command, unquoted = re.compile(r"\bharness [a-z][a-z -]*$"), list[str]()
    for path in Path(harness.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for before, value in pairwise(node.values):
                if not (isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue)):
                    continue
                if command.search(str(before.value)) and ast.unparse(value.value) not in OUR_NAMES:
                    unquoted.append(f"{path}:{node.lineno}")
    assert unquoted == []
