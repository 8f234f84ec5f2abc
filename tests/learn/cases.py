"""Sessions with the outcome that a careful reader of the log would write beside it.

`TUNING` was looked at while the rules were written. `HELD_OUT` was written before the rules, by
the same reader, and only counted afterwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from tests.learn.clients import Event, write_claude, write_codex

Client = Literal["claude", "codex-1", "codex-2", "codex-3"]


class Case(NamedTuple):
    """One session: `expected` is pass, fail or unknown."""

    name: str
    client: Client
    expected: str
    events: tuple[Event, ...]


def written(case: Case, home: Path) -> Path:
    """The session of a case on disk."""
    if case.client == "claude":
        return write_claude(home, case.name, case.events)
    return write_codex(home, case.name, case.events, form=int(case.client[-1]))


ASK = ("user", "sum_prices ignores the discount. Fix it in prices.py.")
EDIT = ("edit", "prices.py")
GREEN = ("sh", "pytest -q", ".....\n5 passed in 0.12s", 0)
RED = ("sh", "pytest -q", "..F..\nFAILED test_prices.py::test_sum\n1 failed, 4 passed in 0.10s", 1)
DONE = ("say", "Done: the discount is subtracted now.")

TUNING: tuple[Case, ...] = (
    Case("tests-pass", "claude", "pass", (ASK, EDIT, GREEN, DONE)),
    Case("tests-fail", "claude", "fail", (ASK, EDIT, RED, DONE)),
    Case("fail-then-pass", "claude", "pass", (ASK, EDIT, RED, EDIT, GREEN, DONE)),
    Case("edited-after-tests", "claude", "unknown", (ASK, EDIT, GREEN, EDIT, DONE)),
    Case("thanks", "claude", "pass", (ASK, EDIT, DONE, ("user", "Perfect, thanks!"))),
    Case(
        "corrected", "claude", "fail",
        (ASK, EDIT, DONE, ("user", "No, that's wrong. The discount is a percentage.")),
    ),
    Case(
        "corrected-then-edited", "claude", "unknown",
        (ASK, EDIT, DONE, ("user", "No, that's wrong: it is a percentage."), EDIT, DONE),
    ),
    Case("interrupted", "claude", "unknown", (ASK, EDIT, ("sh", "ls", "a", 0), ("interrupt",))),
    Case(
        "undone-by-agent", "claude", "fail",
        (ASK, EDIT, DONE, ("user", "Undo that please"),
         ("sh", "git checkout -- prices.py", "", 0), ("say", "Undone.")),
    ),
    Case("question", "claude", "unknown", (("user", "What does prices.py do?"), DONE)),
    Case(
        "jest-fails", "claude", "fail",
        (ASK, EDIT,
         ("sh", "npm test", "Tests:       1 failed, 7 passed, 8 total\nTime: 2 s", 1), DONE),
    ),
    Case("readme-after-tests", "claude", "pass", (ASK, EDIT, GREEN, ("edit", "README.md"), DONE)),
    Case("thanked-but-red", "claude", "unknown", (ASK, EDIT, RED, DONE, ("user", "Thanks!"))),
    Case("reverted-by-user", "claude", "fail", (ASK, EDIT, DONE, ("bang", "git checkout .", ""))),
    Case(
        "cargo-passes", "codex-1", "pass",
        (ASK, ("edit", "src/lib.rs"),
         ("sh", "cargo test", "running 3 tests\ntest result: ok. 3 passed; 0 failed", 0)),
    ),
    Case(
        "go-fails", "codex-2", "fail",
        (ASK, ("edit", "sum.go"),
         ("sh", "go test ./...", "--- FAIL: TestSum (0.00s)\nFAIL\nFAIL\texample.com/sum\t0.0s", 1),
         DONE),
    ),
    Case("pytest-unified", "codex-3", "pass", (ASK, EDIT, GREEN, DONE)),
    Case("aborted", "codex-1", "unknown", (ASK, EDIT, ("interrupt",))),
    Case("asked-to-undo", "codex-2", "fail", (ASK, EDIT, DONE, ("user", "undo this"))),
    Case(
        "commit-asked", "codex-2", "pass",
        (ASK, EDIT, DONE, ("user", "good, commit it"),
         ("sh", "git commit -am 'Subtract the discount'", "[main 1a2b3c4] Subtract", 0), DONE),
    ),
    Case(
        "piped-tests", "codex-3", "pass",
        (ASK, EDIT, ("sh", "pytest -q 2>&1 | tail -3", ".....\n5 passed in 0.12s", 0), DONE),
    ),
    Case(
        "no-test-program", "codex-2", "unknown",
        (ASK, EDIT, ("sh", "pytest -q", "bash: pytest: command not found", 127), DONE),
    ),
)  # fmt: skip

HELD_OUT: tuple[Case, ...] = (
    Case(
        "vitest-passes", "claude", "pass",
        (ASK, EDIT,
         ("sh", "npx vitest run", " Test Files  3 passed (3)\n      Tests  12 passed (12)", 0),
         DONE),
    ),
    Case("tests-before-only", "claude", "unknown", (ASK, GREEN, EDIT, DONE)),
    Case(
        "still-broken", "claude", "fail",
        (ASK, EDIT, DONE, ("user", "still not working, same error as before")),
    ),
    Case(
        "thanked", "claude", "pass",
        (ASK, EDIT, DONE, ("user", "That works, thank you so much!")),
    ),
    Case(
        "thanks-but", "claude", "fail",
        (ASK, EDIT, DONE, ("user", "Thanks, but the total is still wrong for two items.")),
    ),
    Case(
        "restored", "claude", "fail",
        (ASK, EDIT, DONE, ("user", "Let's drop this idea."),
         ("sh", "git restore prices.py", "", 0), ("say", "The change is gone.")),
    ),
    Case(
        "new-branch", "claude", "unknown",
        (ASK, ("sh", "git checkout -b discount", "Switched to a new branch 'discount'", 0),
         EDIT, DONE),
    ),
    Case(
        "interrupted-then-led", "claude", "pass",
        (ASK, EDIT, ("interrupt",), ("user", "use Decimal instead"), EDIT, GREEN, DONE),
    ),
    Case(
        "rspec-fails", "claude", "fail",
        (ASK, ("edit", "price.rb"),
         ("sh", "bundle exec rspec", "Finished in 0.2 seconds\n9 examples, 2 failures", 1), DONE),
    ),
    Case(
        "log-read-only", "claude", "unknown",
        (ASK, EDIT, ("sh", "cat ci.log", "1 failed, 30 passed in 4.1s", 0), DONE),
    ),
    Case(
        "part-passes", "claude", "fail",
        (ASK, EDIT, RED, ("sh", "pytest -q test_discount.py", "2 passed in 0.03s", 0), DONE),
    ),
    Case(
        "praise-and-new-task", "claude", "unknown",
        (ASK, EDIT, DONE, ("user", "Great, now add logging to it."), EDIT, DONE),
    ),
    Case("tool-refused", "claude", "unknown", (ASK, EDIT, ("reject", "rm -r build"))),
    Case(
        "no-worries", "claude", "unknown",
        (ASK, ("say", "Shall I also change the tax?"), ("user", "No need, leave the tax alone."),
         EDIT, DONE),
    ),
    Case(
        "collected-only", "claude", "unknown",
        (ASK, EDIT, ("sh", "pytest --collect-only -q", "5 tests collected in 0.02s", 0), DONE),
    ),
    Case(
        "api-error", "claude", "unknown",
        (ASK, EDIT, ("say", "API Error: 529 overloaded_error")),
    ),
    Case(
        "maven-fails", "codex-2", "fail",
        (ASK, ("edit", "src/main/java/Price.java"),
         ("sh", "mvn -q test",
          "[ERROR] Tests run: 14, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE", 1),
         DONE),
    ),
    Case(
        "unittest-passes", "codex-1", "pass",
        (ASK, EDIT, ("sh", "python -m unittest", "....\nRan 4 tests in 0.001s\n\nOK", 0), DONE),
    ),
    Case(
        "go-passes", "codex-3", "pass",
        (ASK, ("edit", "sum.go"), ("sh", "go test ./...", "ok  \texample.com/sum\t0.004s", 0),
         DONE),
    ),
    Case(
        "reverted-on-request", "codex-2", "fail",
        (ASK, EDIT, DONE, ("user", "I don't want this change, please revert it"),
         ("sh", "git checkout HEAD -- prices.py", "", 0), ("say", "Reverted.")),
    ),
    Case("aborted-told", "codex-3", "unknown", (ASK, EDIT, ("interrupt",))),
    Case(
        "merged", "codex-3", "pass",
        (ASK, EDIT, DONE, ("user", "looks good, merge it"),
         ("sh", "gh pr merge 12 --squash", "✓ Squashed and merged pull request #12", 0), DONE),
    ),
    Case(
        "make-test-fails", "codex-2", "fail",
        (ASK, ("edit", "sum.c"), ("sh", "make test", "make: *** [Makefile:9: test] Error 1", 2),
         DONE),
    ),
    Case(
        "phpunit-passes", "codex-1", "pass",
        (ASK, ("edit", "Price.php"),
         ("sh", "vendor/bin/phpunit", "PHPUnit 11.0\n\nOK (6 tests, 11 assertions)", 0), DONE),
    ),
    Case("answer-only", "codex-2", "unknown", (("user", "Where is the tax computed?"), DONE)),
    Case(
        "trace-pasted", "codex-3", "fail",
        (ASK, EDIT, DONE,
         ("user", "I get this when I run it:\nTraceback (most recent call last):\n"
                  "ImportError: cannot import name 'sum_prices'")),
    ),
)  # fmt: skip
