"""Every command that ours prints: those written in the source exist with their options, and those
that a first session prints run.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import harness
from harness.cli import cli
from tests.backends import fresh_cache

QUOTED = re.compile(r"`harness ([^`]+)`")
LINE = re.compile(r"^\s*(?:-> |next: )?harness (\S.*)$")
WRITTEN = re.compile(r"`[\s\"'f]*harness\b|Example: |\bcommand_line\b")
HOLE = "X"
PARSED = {"view", "debug", "models", "record", "demo", "learn", "skill audit"}
"""Commands that wait for somebody, fetch a model or take minutes: these are parsed alone."""


def literals() -> Iterator[tuple[str, str]]:
    """Yield where a command is written in the source, and its words; a hole stands for a value."""
    for path in sorted(Path(harness.__file__).parent.rglob("*.py")):
        source = path.read_text("utf-8")
        if not WRITTEN.search(source):  # to parse every file takes seconds
            continue
        tree = ast.parse(source)
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                 for part in ast.walk(node) if part is not node}  # fmt: skip
        for node in ast.walk(tree):
            if id(node) in inner:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else HOLE
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            lines = [match[1] for match in QUOTED.finditer(text)]
            lines += [match[1] for match in re.finditer(r"Example: harness (.+)", text)]
            for line in lines:
                yield f"{path.name}:{node.lineno}: harness {line}", " ".join(line.split())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "command_line":
                words = [
                    str(word.value) if isinstance(word, ast.Constant) else HOLE
                    for word in node.args
                    if not isinstance(word, ast.Starred)
                ]
                yield f"{path.name}:{node.lineno}: {words}", shlex.join(words)


def command_of(words: list[str]) -> tuple[click.Command, list[str], str]:
    """Return the command that words name, the words behind its name, and the name."""
    command: click.Command = cli
    name: list[str] = []
    while isinstance(command, click.Group):
        context = click.Context(command)
        first = words[0] if words else ""
        inner = (
            command.get_command(context, first) if first in command.list_commands(context) else None
        )
        if inner is None:
            default = getattr(command, "default", "")
            assert default or not words or words == [HOLE], (
                f"no command {' '.join([*name, first])!r}"
            )
            if not default:
                break
            command = command.get_command(context, default) or command
            continue
        command, words = inner, words[1:]
        name.append(first)
    return command, words, " ".join(name)


HINTS = dict(literals())


@pytest.mark.parametrize("place", sorted(HINTS))
def test_a_command_in_the_source_exists_with_its_options(place: str) -> None:
    words = [word.strip(".,:;") for word in shlex.split(re.sub(r"\{.*?\}", HOLE, HINTS[place]))]
    if not words[0].isidentifier() or words[0].isupper():
        return
    command, words, _ = command_of(words)
    if not isinstance(command, click.Group):
        parameters = command.get_params(click.Context(command))
        names = {option for each in parameters for option in (*each.opts, *each.secondary_opts)}
        typed = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        if "--" in words:
            typed = typed[: words.index("--")]
        assert [word for word in typed if word not in names | {"--help", "--yes"}] == []


class Session:
    """Commands that are typed, and those that they print."""

    def __init__(self) -> None:
        self.printed: dict[str, str] = {}
        self.ran: dict[str, Result] = {}

    def type(self, line: str) -> Result:
        """Run a command, and keep what it printed for later."""
        ended = CliRunner().invoke(cli, shlex.split(line), input="quit\n", terminal_width=10_000)
        self.ran[line] = ended
        text = f"{ended.output}\n{ended.exception or ''}"
        for row in text.splitlines():
            found = [*QUOTED.findall(row), *LINE.findall(row)]
            for hint in found:
                if not re.search(r"\b[A-Z]{3,}\b", hint):  # a place for a value
                    self.printed.setdefault(hint.strip(), line)
        return ended

    def run_all(self, most: int = 80) -> list[str]:
        """Run what was printed, and what that prints; return those that do not run."""
        broken: list[str] = []
        while waiting := [hint for hint in self.printed if hint not in self.ran]:
            assert len(self.ran) < most
            hint = waiting[-1]  # the newest, as a person would
            command, words, name = command_of(shlex.split(hint))
            no_weights = " local/" in hint
            if no_weights or any(f"{name} ".startswith(f"{each} ") for each in PARSED):
                with command.make_context(name, words):
                    self.ran[hint] = Result(CliRunner(), b"", b"", b"", None, 0, None)
                continue
            ended = self.type(hint)
            code = getattr(ended.exception, "exit_code", ended.exit_code)
            if code not in (0, 5):
                broken.append(f"{self.printed[hint]!r} printed {hint!r}, which ended with {code}: "
                              f"{ended.exception} {ended.output[-300:]}")  # fmt: skip
        return broken


AGENT = """
def answer(prompt, workdir, skill):
    return "refund" if "refund" in prompt and skill else "shipping"
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a space in its name, with tickets, an agent, policies, and answers."""
    folder = tmp_path / "Ann's desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HARNESS_CACHE", fresh_cache(tmp_path / "cache"))
    kinds = ("refund", "shipping")
    rows = [f"Ticket {n} wants a {kinds[n % 3 == 0]},{kinds[n % 3 == 0]}" for n in range(40)]
    (folder / "my tickets.csv").write_text("Ticket,Label\n" + "\n".join(rows) + "\n")
    (folder / "agent.py").write_text(AGENT)
    (folder / "policy.md").write_text("Refunds are paid within 14 days.\n")
    (folder / "answer.txt").write_text("Refunds are paid within 30 days.\n")
    return folder


SEEDS = (
    "init my-suite",
    "try 'my tickets.csv' --agent py:agent.py:answer --limit 3",
    "eval 'my tickets.csv?Ticket=prompt' --agent py:agent.py:answer --model none --out runs/a",
    "eval 'my tickets.csv' --agent py:agent.py:answer --model none",
    "eval my-suit",
    "eval regrade runs/a",
    "runs list",
    "compare runs/a runs/b",
    "trajectories list runs/a",
    "trajectories stats runs/a",
    "ask 'When are refunds paid?' policy.md --extract",
    "ask 'When are refunds paid?' --index nowhere",
    "check --answer answer.txt --documents policy.md",
    "compress -q refunds --budget 50 policy.md",
    "index build policy.md --index idx",
    "index search refunds --index idx",
    "corpora list",
    "corpora generate ledger --out ledger --split train --limit 1",
    "models list",
    "skill show evolved/skill/my-tickets",
    "skill verify evolved/skill/my-tickets",
    "skill install evolved/skill/my-tickets",
    "debug nothing.py:graph",
)


@pytest.mark.wing("rag")
@pytest.mark.wing("receipts")
@pytest.mark.wing("engines")
@pytest.mark.wing("debug")
def test_what_a_first_session_prints_runs(desk: Path) -> None:
    session = Session()
    for line in SEEDS:
        session.type(line)
    broken = session.run_all()
    assert not broken, "\n".join(broken)
    assert len(session.printed) >= 5, json.dumps(session.printed, indent=1)
