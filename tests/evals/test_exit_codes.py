"""Exit codes of `harness eval` where no attempt says anything of the agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, HarnessError, Refused, Unreachable, last_words
from harness.evals import records
from tests.models.http_server import completion, serve

NOWHERE = "http://127.0.0.1:9/v1"


def suite(folder: Path) -> Path:
    path = folder / "tasks.jsonl"
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_model_that_no_attempt_reaches_is_exit_code_4(tmp_path: Path) -> None:
    command = ["eval", str(suite(tmp_path)), "--out", str(tmp_path / "run"), "--sandbox", "none",
               "--model", "openai/x", "--base-url", NOWHERE, "--json"]  # fmt: skip
    ended = CliRunner().invoke(cli, command)
    assert isinstance(ended.exception, Unreachable)
    assert ended.exception.exit_code == 4
    # What was tried is kept, so that a resumed run tries it again.
    assert [item.outcome for item in records(tmp_path / "run")] == ["invalid"] * 2


@pytest.mark.parametrize(
    ("task", "says"),
    [
        ({"answer": {"a": 1}, "check": "em"}, "check 'em' expected 'answer' to be a text"),
        ({"answer": "4", "check": "fuzy"}, "no check 'fuzy'"),
        ({"answer": 5, "check": "json_schema"}, "the JSON schema in 'answer' cannot be used"),
    ],
)
def test_what_is_refused_is_refused_dry_and_leaves_no_folder(
    task: dict[str, object], says: str, tmp_path: Path
) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "run"
    tasks.write_text(json.dumps({"id": "t", "prompt": "task", **task}))
    command = ["eval", str(tasks), "--out", str(out), "--sandbox", "none"]
    for more in (["--dry-run"], []):
        ended = CliRunner().invoke(cli, [*command, "--model", "openai/x", "--base-url", NOWHERE,
                                         *more])  # fmt: skip
        assert isinstance(ended.exception, BadInput)
        assert says in str(ended.exception)
        assert not out.exists()
    ended = CliRunner().invoke(cli, [*command, "--model", "replay/none.jsonl"])
    assert isinstance(ended.exception, BadInput)
    assert not out.exists(), "nor does a model that cannot be opened"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--min-pass", "50%"], ""),
        (["--min-pass", "0.501"], "1 of 2 passed, expected 50.1 %"),
        (["--fail-on-invalid"], "1 of 3 attempts were invalid"),
    ],
)
def test_a_build_fails_below_its_threshold(options: list[str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("prompt,answer\n4,4\n5,4\n6,4\n")
    agent = "cmd:sh -c 'test $0 = 6 && exit 3; echo $0' {prompt}"
    command = ["eval", str(path), "--out", str(tmp_path / "run"), "--sandbox", "none", "--agent",
               agent, "--model", "openai/x", "--base-url", NOWHERE, *options]  # fmt: skip
    ended = CliRunner().invoke(cli, command)
    assert "passed 1  failed 1  invalid 1" in ended.output
    assert isinstance(ended.exception, Refused) is bool(says)
    assert says in str(ended.exception)


DEEP = """
import sys

def descend(depth):
    if depth:
        descend(depth - 1)
    raise ValueError(f"the key of {sys.argv[1]} is not set")

descend(30)
"""


def test_the_last_line_of_a_failed_program_is_the_reason_and_like_reasons_are_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "agent.py").write_text(DEEP)
    agent = f"cmd:{sys.executable} {tmp_path / 'agent.py'} {{prompt}}"
    command = ["eval", str(suite(tmp_path)), "--out", str(tmp_path / "run"), "--sandbox", "none",
               "--agent", agent, "--model", "openai/x", "--base-url", NOWHERE]  # fmt: skip
    ended = CliRunner().invoke(cli, command)
    assert isinstance(ended.exception, BadInput)
    assert str(ended.exception).endswith("exit code 1: ValueError: the key of task 0 is not set")
    assert "  2 of them: the agent ended with exit code 1: ValueError: the key" in ended.stderr
    reason = records(tmp_path / "run")[0].reason
    assert reason.splitlines()[1].startswith("  File") or "in descend" in reason
    assert "next:" not in ended.stdout


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", ""),
        ("one\n\n two \n", "two\none"),
        ("a" * 320 + "\n" + "b" * 90 + "\nlast\n", "last\n" + "b" * 90),
        ("x" * 999, "x" * 400),
    ],
)
def test_what_a_program_said_last_comes_first(output: str, words: str) -> None:
    assert last_words(output) == words


@pytest.mark.parametrize(
    ("reached", "fault", "code"), [(False, Unreachable, 4), (True, BadInput, 2)]
)
def test_a_matrix_whose_every_attempt_is_invalid_does_not_exit_0(
    reached: bool, fault: type[HarnessError], code: int, tmp_path: Path
) -> None:
    suite(tmp_path)
    with serve(lambda _body: completion("4"), delay_s=30) as served:
        url, limit = (served.url, "{seconds: 0.3}") if reached else (NOWHERE, "{}")
        (tmp_path / "matrix.yaml").write_text(
            "name: lost\nsuites: [tasks.jsonl]\n"
            f'models: {{x: {{spec: openai/x, base_url: "{url}"}}}}\n'
            f"contexts: {{short: {{limits: {limit}}}, cold: {{limits: {limit}, max_turns: 2}}}}\n"
        )
        command = ["eval", "matrix", "--sandbox", "none", str(tmp_path / "matrix.yaml"), "--json"]
        ended = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "m")])
    assert isinstance(ended.exception, fault), ended.output
    assert ended.exception.exit_code == code
    assert "every attempt was invalid" in str(ended.exception)
    reports = [cell["report"] for cell in json.loads(ended.stdout)["cells"]]
    assert [(report["score"], report["invalid"]) for report in reports] == [(None, 2)] * 2
