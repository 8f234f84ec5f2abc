"""A suite against results that lie in the repository: in pytest, and as the action runs it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from harness.cli import cli
from harness.evals import read_report

TESTS = """
ROWS = [{"id": f"t{n}", "question": str(n), "expected": str(2 * n)} for n in range(8)]
NONE = {"model": "none", "sandbox": "none", "trust_checks": True}

def test_doubling(against_baseline):
    def double(prompt):
        return str(int(prompt) * FACTOR)

    against_baseline(ROWS, "double.xml", agent=double, epochs=EPOCHS, **NONE)
"""


def typed(factor: int, *options: str, epochs: int = 1) -> tuple[int, str]:
    """The user's test, in the current folder, with an agent that multiplies by `factor`."""
    text = TESTS.replace("FACTOR", str(factor)).replace("EPOCHS", str(epochs))
    Path("test_it.py").write_text(text)
    sys.modules.pop("test_it", None)
    words = ["-q", "-s", "-p", "no:cacheprovider", "-p", "harness.pytest_plugin", *options]
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main([*words, "--rootdir", ".", "test_it.py"])
    return int(code), said.getvalue()


def test_a_worse_agent_fails_the_test_and_the_noise_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the file changes within a second
    code, text = typed(2)
    assert code and "pytest --harness-baseline writes it" in text
    assert typed(2, "--harness-baseline")[0] == 0
    assert (tmp_path / "double.xml").is_file()
    assert typed(2)[0] == 0
    code, text = typed(3)
    assert code and "worse by 87.5%, margin 5.0%" in text
    assert "unknown: a single run" in text
    assert typed(2, "--harness-baseline", epochs=2)[0] == 0
    assert "+0.0% between attempts of the first" in typed(3, epochs=2)[1]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"t{n},{n},{2 * n}\n" for n in range(8))
    (tmp_path / "tasks.csv").write_text(f"id,prompt,answer\n{rows}")
    (tmp_path / "agent.py").write_text(
        "def right(prompt):\n    return str(int(prompt) * 2)\n\n\n"
        "def wrong(prompt):\n    return str(int(prompt) * 3)\n"
    )
    return tmp_path


def test_compare_says_how_much_a_run_changes_by_itself(suite: Path) -> None:
    own = ["--agent", "py:agent.py:right", "--model", "none", "--sandbox", "none"]
    for name, epochs in (("once", "1"), ("twice", "2")):
        done = CliRunner().invoke(
            cli, ["eval", "tasks.csv", *own, "--trust-checks", "--epochs", epochs, "--out", name,
                  "--junit", f"{name}.xml"],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    said = {name: CliRunner().invoke(cli, ["compare", name, "once"]).stdout
            for name in ("once.xml", "twice", "twice.xml")}  # fmt: skip
    assert "single run: no task of the first was tried again" in said["once.xml"]
    assert "(8 paired tasks)" in said["twice.xml"]
    differs = said["once.xml"].splitlines()[-1]
    assert differs.startswith("differs in: nothing; not known, as not every file says it: agent, ")
    assert " model, " in differs
    assert "answers or checks differ" not in said["once.xml"]
    assert said["twice"].splitlines()[-1] == "differs in: epochs"
    for name in ("twice", "twice.xml"):
        expected = f"{name} against itself, later attempts to first ones: +0.0%, 0% of its tasks"
        assert expected in said[name]


def test_a_task_of_the_baseline_without_a_valid_attempt_counts_as_failed(suite: Path) -> None:
    own = ["--model", "none", "--sandbox", "none", "--trust-checks"]
    (suite / "crash.py").write_text(
        "def agent(prompt):\n    return str(int(prompt) * 2) if int(prompt) < 6 else 1 / 0\n"
    )
    for name, agent in (("base", "py:agent.py:right"), ("crash", "py:crash.py:agent")):
        command = ["eval", "tasks.csv", "--agent", agent, *own, "--out", name]
        assert CliRunner().invoke(cli, command).exit_code == 0
    same = ["compare", "base", "crash"]
    assert "difference +0.0%" in CliRunner().invoke(cli, same).stdout
    ended = CliRunner().invoke(cli, [*same, "--fail-if-worse", "5%"])
    assert "worse by 25.0%, margin 5.0%, where 2 tasks of the first run" in str(ended.exception)
    assert str(ended.exception).endswith("count as failed: t6, t7")
    assert CliRunner().invoke(cli, [*same, "--fail-if-worse", "30%"]).exit_code == 0
    more = ["compare", "crash", "base", "--fail-if-worse", "0%"]
    assert CliRunner().invoke(cli, more).exit_code == 0


def test_lost_tasks_that_had_failed_hide_no_loss(suite: Path) -> None:
    results = {"base": "pppfffff", "now": "pfp"}
    for name, outcomes in results.items():
        cases = "".join(
            f'<testcase classname="r" name="t{n}">{"<failure/>" * (outcome == "f")}</testcase>'
            for n, outcome in enumerate(outcomes)
        )
        (suite / f"{name}.xml").write_text(f'<testsuite name="r">{cases}</testsuite>')
    command = ["compare", "base.xml", "now.xml", "--fail-if-worse"]
    ended = CliRunner().invoke(cli, [*command, "30%"])
    assert str(ended.exception).endswith("is worse by 33.3%, margin 30.0%")
    assert CliRunner().invoke(cli, [*command, "34%"]).exit_code == 0


def test_fractions_of_a_check_are_shown_beside_the_pass_rate(suite: Path) -> None:
    (suite / "check.py").write_text(
        "def judge(task, answer):\n    return 1.0 if answer == task['answer'] else 0.5\n"
    )
    own = ["--model", "none", "--sandbox", "none", "--trust-checks", "--check", "check.py:judge"]
    (suite / "agent.py").write_text(
        "def half(prompt):\n    return str(int(prompt) * (2 + int(prompt) % 2))\n\n\n"
        "def right(prompt):\n    return str(int(prompt) * 2)\n"
    )
    said: dict[str, str] = {}
    for name in ("half", "right"):
        words = ["eval", "tasks.csv", "--agent", f"py:agent.py:{name}", *own, "--out", name]
        said[name] = CliRunner().invoke(cli, words).stdout
    assert "skill none: 50.0%" in said["half"]
    assert "mean score 75.0% [" in said["half"]
    assert "mean score" not in said["right"]
    report = read_report(Path("half"))
    assert report.pass_rate == report.score == 0.5
    assert report.mean_score == 0.75
    compared = CliRunner().invoke(cli, ["compare", "half", "right"]).stdout
    assert "pass rate 50.0% -> 100.0%" in compared
    assert "mean score 75.0% -> 100.0%, difference +25.0% [" in compared


@pytest.mark.parametrize(("agent", "code"), [("right", 0), ("wrong", 5)])
def test_the_action_compares_with_the_baseline(
    suite: Path, repository: Path, agent: str, code: int
) -> None:
    cases = "".join(f'<testcase classname="r" name="t{n}"/>' for n in range(8))
    (suite / "base.xml").write_text(f'<testsuite name="r">{cases}</testsuite>')
    step = yaml.safe_load((repository / "action.yml").read_text())["runs"]["steps"][2]
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(repository), "GITHUB_STEP_SUMMARY": str(suite / "summary.md"),
        "SUITE": "tasks.csv", "BASELINE": "base.xml", "MARGIN": "5%",
        "ARGUMENTS": f"--agent 'py:agent.py:{agent}' --model none --sandbox none --trust-checks",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=suite, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    summary = (suite / "summary.md").read_text()
    assert "single run" in summary
    assert ("worse by 87.5%" in summary) is (code == 5)  # 3 * 0 is right
    assert (suite / "harness-report" / "results.xml").is_file()
    assert (suite / "harness-report" / "run.html").is_file()
