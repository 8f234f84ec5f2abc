"""Text of others never drives the terminal: every command, on files that a hostile hand wrote."""

from __future__ import annotations

import ast
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from harness.cli import echo, emit, main
from harness.core import hyperlink, printable, shown
from tests.house.measure import sources
from tests.house.one_of_each import dotted

ATTACK = (
    "\x1b]0;title\x07 \x1b[2J\x1b[31mred \x9b31m \x9d8;;x\x9c \x1bP+q\x1b\\ over\rwritten "
    "back\x08 \x7f \u202eturned \u2066 \x00 \x0e end"
)
CONTROL = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The program in this process, in an empty folder: exit code, and both outputs, checked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        texts = "".join(capfd.readouterr())
        lines = [line for line in texts.split("\n") if CONTROL.search(line)]
        assert lines == [], (arguments, lines[:3])
        assert "No such option" not in texts or "--no-such" in arguments, texts
        assert "Missing argument" not in texts, texts
        return int(ended.value.code or 0), texts

    return run


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    rows = [
        {"id": f"t{n}", "prompt": f"Say {n} {ATTACK}", "answer": f"x {ATTACK}", "check": "em"}
        for n in range(3)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (folder / "suite.yaml").write_text("name: hostile\ntasks: tasks.jsonl\nmax_turns: 1\n")
    replies = [{"text": f"reply {ATTACK}"}]
    (folder / "script.json").write_text(json.dumps(replies))
    return folder


def skill(folder: Path) -> Path:
    """A skill whose text and whose files' names attack."""
    folder.mkdir(parents=True)
    text = f"---\nname: {folder.name}\ndescription: Adds numbers.\n---\n\n# Use\n\n- Add {ATTACK}\n"
    (folder / "SKILL.md").write_text(text)
    return folder


@pytest.mark.wing("debug")
def test_a_run_of_hostile_answers(run: Run, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ("--model", f"scripted/{suite / 'script.json'}")
    code, text = run("eval", suite, "--out", "run", *model, "--sandbox", "none")
    assert code in (0, 5), text
    run("eval", suite, "--out", "run2", *model, "--sandbox", "none", "--json")
    seen = "".join(
        text
        for words in (
            ("runs", "list", "."),
            ("runs", "list", ".", "--json"),
            ("compare", "run", "run2"),
            ("trajectories", "list", "run"),
            ("trajectories", "list", "run", "--json"),
            ("trajectories", "stats", "run"),
            ("trajectories", "show", "run", "none of it"),
            ("view", "run", "--html", "run.html"),
            ("eval", "regrade", "run", "--out", "again"),
        )
        for text in [run(*words)[1]]
    )
    assert "hostile" in seen
    listed = json.loads(run("trajectories", "list", "run", "--json")[1])
    names = [row.get("id") or row.get("trajectory_id") for row in listed]
    code, text = run("trajectories", "show", "run", str(names[0]))
    assert "\\x1b]0;title\\x07" in text
    monkeypatch.setattr(sys, "stdin", StringIO("steps\nprint messages\nusage\nstep\nquit\n"))
    code, text = run("debug", "--run", "run", "--item", "t0", "--terminal")
    assert (code, "\\u001b]0;title" in text) == (0, True), text


@pytest.mark.wing("learn")
def test_logs_of_others(run: Run, tmp_path: Path) -> None:
    from tests.learn.clients import write_claude

    hostile = ("sh", f"cat {ATTACK}", f"out {ATTACK}\n1 failed, 2 passed {ATTACK}", 1)
    green = ("sh", "pytest -q", f"{ATTACK}\n4 passed in 0.10s", 0)
    session = (("user", f"Fix {ATTACK}"), hostile, ("edit", "a.py"), green)
    log = write_claude(tmp_path / ".claude", "s1", session)
    (tmp_path / ".claude" / "projects" / "x").mkdir(parents=True, exist_ok=True)
    code, _ = run("trajectories", "import", log, "--out", "store")
    assert code == 0
    for words in (("list", "store"), ("show", "store", "s1"), ("stats", "store", "--json")):
        run("trajectories", *words)
    code, text = run("learn", log, "--out", "learned", "--dry-run", "--no-rebuild")
    assert (code, "pass by tests" in text) == (0, True)
    run("learn", log, "--out", "learned", "--dry-run", "--no-rebuild", "--json")
    broken = tmp_path / f"{ATTACK.replace(chr(0), '')}.jsonl"
    broken.write_text('{"type": "user"\n')
    assert run("trajectories", "import", broken, "--out", "other")[0] == 2


def test_skills_of_others(run: Run, tmp_path: Path) -> None:
    folder, other = skill(tmp_path / "adding"), skill(tmp_path / "b" / "adding")
    (other / "SKILL.md").write_text((other / "SKILL.md").read_text() + f"\n- More {ATTACK}\n")
    for words in (
        ("validate", folder),
        ("validate", folder, "--json"),
        ("show", folder),
        ("show", folder, "--json"),
        ("diff", folder, other),
        ("explain", folder),
        ("versions", folder),
        ("verify", folder),
        ("export", folder, "--target", "claude"),
        ("install", folder, "--into", tmp_path / "project"),
    ):
        run("skill", *words)


@pytest.mark.wing("rag")
def test_documents_of_others(run: Run, tmp_path: Path) -> None:
    attack = ATTACK.replace("\0", "")
    (tmp_path / "a.txt").write_text(f"The warranty ends in May. {attack}\n\nIt is long.\n")
    (tmp_path / "answer.txt").write_text(f"The warranty ends in June {attack}.\n")
    (tmp_path / "script.json").write_text(json.dumps([{"text": f"In May [1] {ATTACK}."}]))
    lexical = ("--encoder", "lexical")
    for words in (
        ("compress", "--query", f"warranty {ATTACK[:9]}", "a.txt", "--critic", "lexical"),
        ("compress", "--query", "warranty", "a.txt", "--critic", "lexical", "--json"),
        ("index", "build", "a.txt", "--index", "i", *lexical),
        ("index", "search", "warranty", "--index", "i"),
        ("index", "search", "warranty", "--index", "i", "--json"),
        ("index", "info", "--index", "i"),
        ("check", "--answer", "answer.txt", "a.txt"),
        ("ask", "When does the warranty end?", "a.txt", "--model", "scripted/script.json"),
    ):
        code, text = run(*words)
        assert code in (0, 5), text


def test_errors_quote_printable_text(run: Run, tmp_path: Path) -> None:
    name = ATTACK.replace("\0", "")
    assert run("eval", f"no {name}")[0] == 2
    assert run("eval", "--no-such", name)[0] == 2
    assert run(name)[0] == 2
    assert run("skill", "show", name, "--json")[0] == 2
    bad = tmp_path / "tasks.jsonl"
    bad.write_text(json.dumps({"id": name, "prompt": 3}) + "\n")
    assert run("eval", bad)[0] == 2
    code, text = run("--debug", "trajectories", "show", name, "t1")
    assert (code, "Traceback" in text) == (2, True)


def test_warnings_of_libraries_are_printable(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    run("--version")
    logger = logging.getLogger("a.library.of.others")
    handlers, logging.root.handlers = logging.root.handlers, []
    try:
        logger.warning("found %s", ATTACK)
    finally:
        logging.root.handlers = handlers
    assert "\\x1b]0;title" in warnings.formatwarning(ATTACK, UserWarning, "a.py", 1)
    written = capfd.readouterr().err
    assert "found \\x1b]0" in written
    assert not CONTROL.search(written.replace("\n", ""))


def test_what_is_ours_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    link = hyperlink(f"a{ATTACK[:1]}", "file:///a.txt")
    emit({}, False, shown(["one", link]))
    echo("50 %", end="\r")
    text = capsys.readouterr().out
    assert text == "one\n\x1b]8;;file:///a.txt\x1b\\a\\x1b\x1b]8;;\x1b\\\n50 %\r"
    emit({"text": ATTACK}, True, "")
    written = capsys.readouterr().out
    assert json.loads(written) == {"text": ATTACK}
    assert not CONTROL.search(written)
    assert printable("a\r\nb\tc\n") == "a\r\nb\tc\n"
    assert printable("\udc80 é 漢 👩\u200d🚀") == "\\udc80 é 漢 👩\u200d🚀"


def test_commands_print_through_the_filter_and_rich_draws_behind_it_in_one_place() -> None:
    prints, draws = set[str](), set[str]()
    for path, nodes in sources("harness"):
        for node in nodes:
            if isinstance(node, ast.Attribute) and dotted(node) in ("click.echo", "click.secho"):
                prints.add(str(path))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rich":
                draws.add(str(path))
    assert prints == {"harness/cli/commands.py"}
    assert draws == {"harness/cli/terminal.py"}
