"""Runs that go on: with higher limits of an attempt, and without naming their suite again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.evals import ItemRecord, read_parts, records
from harness.evals.pool import Tally
from harness.skills import new_skill, write_skill
from tests.models.http_server import completion, serve

SLOW = (
    'cmd:sh -c \'test $1 = slow -a ! -e "$FAST" && sleep 60; echo $1 >> "$COUNT"; echo 4\' '
    "sh {prompt}"
)
"""An agent that hangs at the slow task until there is a file, and notes what it finishes."""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    monkeypatch.setenv("FAST", str(tmp_path / "fast"))
    rows = [{"id": name, "prompt": name, "answer": "4"} for name in ("quick", "slow")]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(*words: str, agent: str = SLOW) -> Result:
    with serve(lambda _body: completion("4")) as served:
        common = ["--model", "openai/m", "--base-url", served.url, "--sandbox", "none"]
        return CliRunner().invoke(cli, ["eval", *words, "--agent", agent, *common])


def outcomes(folder: Path) -> dict[str, str]:
    return {item.id: item.outcome for item in records(folder)}


def test_invalid_attempts_are_tried_again_with_a_higher_limit_and_verdicts_stay(
    suite: Path,
) -> None:
    out = suite / "run"
    run("tasks.jsonl", "--out", "run", "--time-limit", "3")
    assert outcomes(out) == {"quick": "pass", "slow": "invalid"}
    (suite / "fast").touch()
    done = run("--resume", "run", "--time-limit", "30")
    assert done.exit_code == 0, done.output
    assert outcomes(out) == {"quick": "pass", "slow": "pass"}
    assert (suite / "count").read_text().split() == ["quick", "slow"], "the verdict was kept"
    assert RunReader(out).lock["sample_limits"] == {"seconds": 30.0}
    limits = [(part.first, part.settings["limits"]) for part in read_parts(out)]
    assert [(first, row["seconds"]) for first, row in limits if isinstance(row, dict)] == [
        (0, 3.0),
        (2, 30.0),
    ]


@pytest.mark.parametrize(
    ("first", "then", "refusal"),
    [
        (["--time-limit", "60"], ["--time-limit", "5"], "--time-limit was 60, and is 5 now"),
        ([], ["--working-limit", "5"], "--working-limit was 120, and is 5 now"),
        ([], ["--token-limit", "5"], "--token-limit was not set, and is 5 now"),
    ],
)
def test_a_limit_is_not_lowered(
    first: list[str], then: list[str], refusal: str, suite: Path
) -> None:
    run("tasks.jsonl", "--out", "run", "--limit", "1", *first)
    before = (suite / "run/run.json").read_bytes()
    refused = run("tasks.jsonl", "--resume", "run", "--limit", "1", *then)
    assert isinstance(refused.exception, BadInput)
    assert refusal in str(refused.exception)
    assert (suite / "run/run.json").read_bytes() == before


def test_a_finished_run_is_recognised_without_a_change_and_a_damaged_one_is_not(
    suite: Path,
) -> None:
    (suite / "fast").touch()
    begun = run("tasks.jsonl", "--out", "run")
    files = {path: path.stat().st_mtime_ns for path in (suite / "run").rglob("*") if path.is_file()}
    resumed = run("tasks.jsonl", "--resume", "run")
    assert resumed.exit_code == 0
    assert begun.stdout in resumed.stdout
    assert files == {path: path.stat().st_mtime_ns for path in (suite / "run").rglob("*")
                     if path.is_file()}  # fmt: skip
    assert sorted((suite / "count").read_text().split()) == ["quick", "slow"]
    finished = suite / "run" / "finished.json"
    mark = json.loads(finished.read_text())
    finished.write_text(json.dumps(mark | {"request": {**mark["request"], "tasks": "other code"}}))
    assert run("tasks.jsonl", "--resume", "run").exit_code == 0
    assert json.loads(finished.read_text()) == mark, "the next one is as quick as before"
    items = suite / "run" / "items.seg"
    whole = items.read_bytes()
    items.write_bytes(whole + b"\x09\0\0")
    assert run("tasks.jsonl", "--resume", "run").exit_code == 0
    assert items.read_bytes() == whole, "what was torn is cut off"
    items.write_bytes(whole[:20] + b"?" + whole[21:])
    assert "damaged at byte" in str(run("tasks.jsonl", "--resume", "run").exception)
    items.write_bytes(whole)
    (suite / "tasks.jsonl").write_text('{"id": "quick", "prompt": "other", "answer": "4"}\n')
    other = str(run("tasks.jsonl", "--resume", "run").exception)
    assert "was started with other tasks of SUITE" in other


def test_the_limit_that_no_option_named_is_raised(suite: Path) -> None:
    run("tasks.jsonl", "--out", "run", "--limit", "1")
    assert (
        run("tasks.jsonl", "--resume", "run", "--limit", "1", "--time-limit", "900").exit_code == 0
    )
    assert RunReader(suite / "run").lock["sample_limits"] == {"seconds": 900.0}


def test_what_differs_is_named_as_it_is_typed(suite: Path) -> None:
    run("tasks.jsonl", "--out", "run", "--limit", "1")
    refused = run(
        "tasks.jsonl", "--resume", "run", "--limit", "1", "--epochs", "2", agent="cmd:true"
    )
    message = str(refused.exception)
    assert "was started with other --agent (cmd:sh -c" in message
    assert "now cmd:true), --epochs (1, now 2): start a new run instead" in message


def test_a_skill_is_named_again(suite: Path) -> None:
    write_skill(replace(new_skill("my-skill", "d"), body="Be brief."), suite / "my-skill")
    started = ("tasks.jsonl", "--limit", "1", "--skill", "my-skill", "--skill-mode", "preloaded")
    agent = "cmd:sh -c 'test -n \"$0\"' {skill}"
    run(*started, "--out", "run", agent=agent)
    refused = str(run("--resume", "run", agent=agent).exception)
    assert "--skill (my-skill, now none): name --skill again" in refused
    resumed = run("--resume", "run", "--skill", "my-skill", agent=agent)
    assert resumed.exit_code == 0, resumed.output


def test_a_run_knows_its_suite_and_settings(suite: Path) -> None:
    """Not what runs with the user's rights: the folder may come from a stranger."""
    run("tasks.jsonl", "--out", "run", "--limit", "1", "--epochs", "3", "--seed", "7")
    done = run("--resume", "run")
    assert done.exit_code == 0, done.output
    assert len(records(suite / "run")) == 3
    done = run("--resume", "run", agent="cmd:true")
    assert "was started with other --agent (cmd:sh" in str(done.exception)
    assert "Missing argument 'SUITE'" in CliRunner().invoke(cli, ["eval", "--out", "new"]).output


def test_a_run_that_does_not_say_its_suite_asks_for_it(suite: Path) -> None:
    run("tasks.jsonl", "--out", "run", "--limit", "1")
    (suite / "run/parts.json").unlink()
    assert "does not say what its suite was" in str(run("--resume", "run").exception)


def tallied(*reasons: str) -> Tally:
    tally = Tally(total=12)
    for number, reason in enumerate(reasons):
        shared: dict[str, Any] = {"id": str(number), "task_id": str(number), "value": 0.0}
        tally.count(ItemRecord(outcome="invalid" if reason else "pass", reason=reason, **shared))
    return tally


@pytest.mark.parametrize(
    ("reasons", "stuck"),
    [
        (("took 120 s",) * 3, ""),
        (("took 120 s", "took 121 s", "took 120 s", "took 125 s"), "took 125 s"),
        (("took 120 s", "failed", "took 120 s", "took 120 s"), ""),
        (("took 120 s", "", "took 120 s", "took 120 s"), ""),
    ],
)
def test_a_run_is_stuck_if_its_first_attempts_are_invalid_alike(
    reasons: tuple[str, ...], stuck: str
) -> None:
    assert tallied(*reasons).stuck == stuck


def test_a_run_that_is_stuck_says_at_once_what_to_do(suite: Path) -> None:
    done = run("tasks.jsonl", "--epochs", "3", "--concurrency", "1", "--time-limit", "0.1",
               "--out", "run", agent="cmd:sleep 60")  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if "--resume RUN" in line]
    assert lines == [
        "all of the first 4 attempts are invalid: the agent took more than 0.1 s of work "
        "(--time-limit, --working-limit); Ctrl-C stops, and the same command with --resume RUN and "
        "a higher --time-limit goes on"
    ]
    broken = run("tasks.jsonl", "--epochs", "3", "--out", "other", agent="cmd:sh -c 'exit 3'")
    assert "exit code 3" in broken.stderr
    assert "--resume RUN, once that is mended, goes on" in broken.stderr
