"""A second held-out set: written when the rules were done, and counted once, as it is here.

Two rules were narrowed later (exit codes of chains, checked-out branches): no count changed.
"""

from __future__ import annotations

from tests.learn.cases import ASK, DONE, EDIT, GREEN, RED, Case

MORE = ("user", "Also handle negative prices.")


FRESH: tuple[Case, ...] = (
    Case("second-request-green", "claude", "pass",
         (ASK, EDIT, GREEN, DONE, MORE, EDIT, GREEN, DONE)),
    Case("second-request-red", "codex-2", "fail", (ASK, EDIT, GREEN, DONE, MORE, EDIT, RED, DONE)),
    Case("second-request-open", "codex-3", "unknown", (ASK, EDIT, GREEN, DONE, MORE, EDIT, DONE)),
    Case("poetry", "claude", "pass",
         (ASK, EDIT, ("sh", "cd api && poetry run pytest -x -q tests/",
                      "........................\n24 passed, 3 skipped in 12.40s", 0), DONE)),
    Case("collection-error", "claude", "fail",
         (ASK, EDIT, ("sh", "python -m pytest",
                      "ImportError while importing test module\n"
                      "=========== 1 error in 0.35s ===========", 2), DONE)),
    Case("pnpm-vitest", "codex-3", "fail",
         (ASK, EDIT, ("sh", "pnpm test",
                      " FAIL  src/price.test.ts > sums\n Test Files  1 failed | 2 passed (3)\n"
                      "      Tests  1 failed | 11 passed (12)", 1), DONE)),
    Case("node-test", "codex-2", "pass",
         (ASK, EDIT, ("sh", "node --test", "# tests 6\n# pass 6\n# fail 0", 0), DONE)),
    Case("gradle", "codex-1", "pass",
         (ASK, EDIT, ("sh", "./gradlew :app:test", "BUILD SUCCESSFUL in 9s", 0), DONE)),
    Case("dotnet", "claude", "fail",
         (ASK, EDIT, ("sh", "dotnet test",
                      "Failed!  - Failed:     2, Passed:    31, Skipped:     0, Total:    33", 1))),
    Case("ctest", "codex-2", "pass",
         (ASK, EDIT, ("sh", "cmake --build build && ctest --test-dir build",
                      "100% tests passed, 0 tests failed out of 12", 0), DONE)),
    Case("does-not-compile", "claude", "fail",
         (ASK, EDIT, ("sh", "cargo test",
                      "error[E0308]: mismatched\nerror: could not compile `shop`", 101), DONE)),
    Case("wonderful", "codex-1", "pass", (ASK, EDIT, DONE, ("user", "wonderful, thank you"))),
    Case("works-now", "claude", "pass", (ASK, EDIT, DONE, ("user", "works now!"))),
    Case("please-roll-back", "claude", "fail",
         (ASK, EDIT, DONE, ("user", "Please roll back your last change."), EDIT,
          ("say", "Rolled back."))),
    Case("this-is-wrong", "codex-3", "fail",
         (ASK, EDIT, DONE, ("user", "This is wrong, the discount comes before the tax."))),
    Case("you-forgot", "claude", "fail",
         (ASK, EDIT, DONE, ("user", "you forgot the case of an empty basket"))),
    Case("user-commits", "claude", "pass",
         (ASK, EDIT, DONE, ("bang", "git commit -am 'Discount'", "[main 9f8e7d6] Discount"))),
    Case("hard-reset", "claude", "fail",
         (ASK, EDIT, DONE, ("bang", "git reset --hard", "HEAD is now at 1a2b3c4 first"))),
    Case("lint-only", "codex-2", "unknown",
         (ASK, EDIT, ("sh", "ruff check .", "All checks passed!", 0), DONE)),
    Case("build-only", "codex-3", "unknown",
         (ASK, EDIT, ("sh", "npm run build", "built in 3.1s", 0), DONE)),
    Case("tests-time-out", "claude", "unknown",
         (ASK, EDIT, ("sh", "pytest -q", "Command timed out after 2m 0.0s", 143), DONE)),
    Case("new-topic", "codex-1", "unknown",
         (ASK, EDIT, DONE, ("user", "Which of the tests is the slowest?"),
          ("say", "test_import takes two seconds."))),
    Case("plan-then-stop", "claude", "unknown",
         (ASK, ("say", "I will rewrite the module."), ("interrupt",))),
    Case("approved-then-red", "codex-2", "unknown",
         (ASK, EDIT, RED, DONE, ("user", "fine, commit it"),
          ("sh", "git commit -am wip", "[main 5c6d7e8] wip", 0))),
)  # fmt: skip
