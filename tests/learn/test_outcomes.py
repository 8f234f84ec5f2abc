"""Outcomes of the written sessions of both clients, and the claims that they rest on."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.learn import signs
from harness.learn.acts import Act, plain
from harness.learn.outcomes import infer_outcome
from harness.learn.session_logs import Spans
from harness.learn.shell import parse
from harness.learn.signs import taken_back
from harness.learn.tables import sign
from harness.learn.types import Outcome
from harness.trajectories import open_trajectories
from tests.learn.cases import HELD_OUT, TUNING, Case, written
from tests.learn.fresh import FRESH
from tests.learn.hostile import HOSTILE
from tests.learn.timeline import TIMELINE
from tests.learn.traps import TRAPS
from tests.learn.voided import VOIDED

CASES = (*TUNING, *HELD_OUT, *TRAPS, *FRESH, *VOIDED, *TIMELINE, *HOSTILE)


def outcome_of(path: Path) -> Outcome:
    """Return the verdict of the rules on one session."""
    (trajectory,) = open_trajectories(path)
    return infer_outcome(trajectory, Spans(path))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_outcome_is_what_a_reader_says(case: Case, tmp_path: Path) -> None:
    path = written(case, tmp_path)
    outcome = outcome_of(path)
    assert outcome.verdict == case.expected
    if outcome.verdict != "unknown":
        assert {claim.verdict for claim in outcome.claims} == {outcome.verdict}
    lines = path.read_text().split("\n")
    for claim in outcome.claims:
        assert claim.file == str(path)
        (line,) = [text for text in [lines[claim.line - 1]] if text]
        assert claim.quote in plain(line.encode().decode("unicode_escape"))


def test_a_quote_that_the_file_does_not_hold_is_no_claim(tmp_path: Path) -> None:
    path = written(TUNING[0], tmp_path)
    (trajectory,) = open_trajectories(path)
    assert infer_outcome(trajectory, Spans(path)).verdict == "pass"
    other = tmp_path / "other.jsonl"
    other.write_text(path.read_text().replace("5 passed", "6 passed"))
    assert infer_outcome(trajectory, Spans(other)).verdict == "unknown"


def test_of_two_lines_the_one_of_the_call_is_named(tmp_path: Path) -> None:
    path = written(next(case for case in HELD_OUT if case.name == "tests-before-only"), tmp_path)
    spans = Spans(path)
    text = path.read_text().replace("tests-before-only_1", "tests-before-only_9")
    path.with_name("twice.jsonl").write_text(path.read_text() + text)
    twice = Spans(path.with_name("twice.jsonl"))
    line = spans.line_of("5 passed in 0.12s", ["toolu_tests-before-only_1"])
    assert line is not None
    assert twice.line_of("5 passed in 0.12s", ["toolu_tests-before-only_1"]) == line
    assert twice.line_of("5 passed in 0.12s") == line + len(path.read_text().splitlines())
    assert spans.line_of("nowhere") is None
    assert spans.line_of("  ") is None


def test_a_document_over_many_lines_has_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{\n "a": "one",\n "b": "{\\"c\\": \\"5 passed\\\\nin 1s\\"}"\n}\n')
    assert Spans(path).line_of("5 passed\nin 1s") == 3


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cd api && PYTHONPATH=. uv run --frozen pytest -q 2>&1 | tail -5", "pytest -q"),
        ("timeout 60 python3.11 -m pytest tests", "python3.11 -m pytest tests"),
        ("yarn test", "yarn test"),
        ("echo pytest", None),
        ("pytest --version", None),
        ("npm install", None),
        ("git stash; pytest", None),
        ("cat test.log", None),
        ("make", None),
    ],
)
def test_commands_that_run_tests(command: str, found: str | None) -> None:
    run = signs.test_run(Act("command", 1, command))
    assert (run.command if run else None) == found


@pytest.mark.parametrize(
    ("command", "back"),
    [
        ("git checkout -- a.py src/b.py", True),
        ("git restore .", True),
        ("cd x && git reset --hard HEAD~1", True),
        ("git revert HEAD --no-edit", False),
        ("git -C ../elsewhere checkout .", False),
        ("git checkout -- a.py", False),
        ("git checkout -b a.py", False),
        ("git restore --staged .", False),
        ("git checkout main", False),
        ("git reset HEAD", False),
        ("git 'unclosed", False),
        ("git checkout .", True),
        ("git checkout a.py src/b.py", True),
        ("git checkout HEAD~1 a.py src", True),
    ],
)
def test_commands_that_take_work_back(command: str, back: bool) -> None:
    files = {"/w/a.py", "/w/src/b.py"}
    gone = [taken_back(program, files, ()) for program in parse(command, "/w").programs]
    assert (files in gone) is back


@pytest.mark.parametrize(
    ("command", "commits", "back"),
    [
        ("git revert HEAD --no-edit", ["1a2b3c4"], True),
        ("git revert 1a2b3c4d", ["1a2b3c4"], True),
        ("git revert 9f8e7d6c", ["1a2b3c4"], False),
        ("git reset --hard HEAD~1", ["1a2b3c4"], True),
        ("git reset --hard", ["1a2b3c4"], False),
        ("git reset --hard origin/main", ["1a2b3c4"], True),
        ("git reset --hard origin/main", ["1a2b3c4", "pushed"], False),
        ("git checkout .", ["1a2b3c4"], False),
        ("git checkout HEAD~1 -- a.py", ["1a2b3c4"], True),
    ],
)
def test_what_was_committed_is_taken_back_by_going_behind_it(
    command: str, commits: list[str], back: bool
) -> None:
    (program,) = parse(command, "/w").programs
    assert bool(taken_back(program, {"/w/a.py"}, commits)) is back


def test_a_branch_is_no_folder_of_its_name() -> None:
    java = {"/w/src/main/java/App.java"}

    def back(command: str) -> bool:
        (program,) = parse(command).programs
        return bool(taken_back(program, java, ()))

    assert not back("git checkout main")
    assert not back("git checkout -f main")
    assert back("git checkout -- main")
    assert back("git checkout HEAD main")
    assert back("git checkout src/main")


@pytest.mark.parametrize(
    ("command", "failed", "went_well"),
    [
        ("npm test", "fail", "pass"),
        ("npm test > out.log 2>&1", "fail", "pass"),
        ("cd 'web app' && npm test", "fail", "pass"),
        ("export CI=1 && cd web && npm test", "fail", "pass"),
        ("npm ci && npm test", "unclear", "pass"),
        ("npm test && npm run lint", "unclear", "pass"),
        ("npm test 2>&1 | grep -i error", "unclear", "unclear"),
        ("npm test; echo done", "unclear", "unclear"),
        ("npm test\necho done", "unclear", "unclear"),
        ("npm test || true", "unclear", "unclear"),
        ("npm test &", "unclear", "unclear"),
    ],
)
def test_an_exit_code_decides_where_it_is_that_of_the_tests(
    command: str, failed: str, went_well: str
) -> None:
    for code, verdict in ((1, failed), (0, went_well)):
        run = signs.test_run(Act("command", 1, command, "", code, f"Exit code: {code}"))
        assert run is not None
        assert run.verdict == verdict


def test_the_output_of_a_known_runner_decides_behind_a_pipe_too() -> None:
    act = Act("command", 1, "pytest -q 2>&1 | tail -1", "1 failed in 0.10s", 0, "Exit code: 0")
    run = signs.test_run(act)
    assert run is not None
    assert run.verdict == "fail"


def test_commands_that_take_work_on() -> None:
    def verbs(command: str) -> list[str]:
        return [kept[1] for p in parse(command).programs if (kept := sign("kept").match(p.text))]

    assert verbs("git add . && git commit -m x && git push") == ["commit", "push"]
    assert verbs("gh pr merge 3") == ["merge"]
    assert not verbs("git commit --dry-run")
    assert not verbs("git log")
