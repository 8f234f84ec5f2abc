"""Output for people: bars, tables and colour on a terminal of ours, plain lines in a pipe."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.eval import event_line
from harness.cli.terminal import fact_lines, table, tinted
from harness.core import printable

MARKUP = "[bold red]x[/] [link=file:///etc/passwd]y[/link] :skull: \x1b[2J"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_terminal(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """The program with a terminal of 100 columns as both outputs: exit code, and what it wrote."""
    leader, follower = pty.openpty()
    screen = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", "HOME": str(folder)}
    environment = {**os.environ, **screen, **variables}
    if "NO_COLOR" not in variables:
        environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower,
    ) as process:  # fmt: skip
        os.close(follower)
        written = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        code = process.wait()
    os.close(leader)
    return code, written.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite whose ids, replies and model's name try to be markup."""
    folder = tmp_path_factory.mktemp("markup")
    rows = [{"id": f"{n} {MARKUP}", "prompt": "Say x", "answer": "x", "check": "em"} for n in "123"]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(f"name: '{MARKUP[:-4]}'\ntasks: tasks.jsonl\nmax_turns: 1\n")
    (folder / "script.json").write_text(json.dumps([{"text": f"no {MARKUP}"}]))
    return folder


EVAL = ("eval", ".", "--model", "scripted/script.json", "--sandbox", "none", "--out")


def test_a_terminal_gets_a_bar_colour_and_a_table(suite: Path) -> None:
    code, text = in_terminal(suite, *EVAL, "[red]run")
    assert code == 0, text
    assert "━" in text and re.search(r"3/3 .*0 passed", text), "a bar"
    assert "\x1b[31mfailed 3\x1b[0m" in text, "colour"
    assert "\x1b[?25h" in text, "the cursor is there again"
    assert "[red]run" in ESCAPES.sub("", text), "the label of the bar"
    code, text = in_terminal(suite, "runs", "list", ".")
    shown = ESCAPES.sub("", text)
    assert "─" in shown and "0.0%" in shown
    assert "[red]run" in shown
    assert "[bold red]x[/]" in shown and "[link=file:///" in shown and ":skull:" in shown
    assert "\x1b]8;" not in text, "no link was made of it"
    code, text = in_terminal(suite, "trajectories", "list", "[red]run")
    assert "\x1b[2J" not in text and "\\x1b[2J" in "".join(text.split())


def test_an_imported_run_is_reported_in_colour(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("id,passed\na,1\nb,0\n")
    code, text = in_terminal(tmp_path, "eval", "import", "results.csv", "--out", "run")
    assert code == 0, text
    assert "\x1b[31mfailed 1\x1b[0m" in text and "\\x1b" not in text


def test_no_color_is_respected(suite: Path) -> None:
    code, text = in_terminal(suite, *EVAL, "grey", NO_COLOR="1")
    assert code == 0, text
    assert "3/3" in text
    assert not re.search(r"\x1b\[(3[0-7]|9[0-7]|38;)", text)


def test_a_pipe_and_a_dumb_terminal_get_plain_lines(suite: Path) -> None:
    code, text = in_terminal(suite, *EVAL, "dumb", TERM="dumb")
    assert code == 0 and "━" not in text, text
    assert re.search(r"dumb 3/3 +passed 0 +invalid 0", text)
    done = subprocess.run(
        [sys.executable, "-m", "harness", "runs", "list", "."],
        cwd=suite, capture_output=True, text=True, check=True,
    )  # fmt: skip
    head, *rows = done.stdout.splitlines()
    assert head.split()[-3:] == ["samples", "invalid", "changed"]
    assert "\x1b" not in done.stdout and "─" not in done.stdout
    assert any(re.search(r"0\.0%\s+3\s+20\d\d-", row) for row in rows)


def test_an_error_stands_below_the_bars(suite: Path) -> None:
    code, text = in_terminal(suite, *EVAL, "poor", "--min-pass", "50%")
    assert code == 5, text
    assert text.rstrip().splitlines()[-1].startswith("\x1b[31mharness:\x1b[0m poor: 0 of 3 passed")


def test_tables_align_and_markup_stays_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = table(("name", "count#"), [("[b]a[/b]", "7"), ("b\nc\x1b", "1,234")])
    assert text.splitlines() == ["name      count", "[b]a[/b]      7", "b c\\x1b   1,234"]
    assert str(tinted(MARKUP, "red")) == f"\x1b[31m{printable(MARKUP)}\x1b[0m"


def test_facts_are_words_and_what_is_not_there_is_left_out() -> None:
    facts = {
        "calls_at_most": 6000, "split": None, "outcomes": {"fail": 6, "pass": 1200}, "tools": {},
        "steps_median": 3.0, "verified": False, "notes": ["few tasks", "no gate"],
    }  # fmt: skip
    assert fact_lines(facts.items()) == [
        "calls at most: 6,000",
        "outcomes: fail 6, pass 1,200",
        "steps median: 3",
        "verified: no",
        "notes: \n  few tasks\n  no gate",
    ]


def test_events_of_an_attempt_are_read_not_decoded() -> None:
    tool = {"type": "tool", "sample": "t1", "id": "1", "name": "python", "arguments": {"code": "2"}}
    assert event_line(tool) == 't1 tool: python {"code": "2"}'
    assert event_line({"type": "final", "sample": "t1", "answer": None}) == "t1 final:"
