"""Sessions that were written to mislead the rules, after the rules; some did, and mended them."""

from __future__ import annotations

from tests.learn.cases import ASK, DONE, EDIT, GREEN, RED, Case

OTHER = ("edit", "tax.py")
OFFER = ("say", "The discount is subtracted now. Shall I also change the tax?")


TRAPS: tuple[Case, ...] = (
    Case(
        "thanks-beforehand", "codex-2", "unknown",
        (("user", "Thanks for the last one. Now fix the discount in prices.py."), EDIT, DONE),
    ),
    Case(
        "corrected-by-mistake", "claude", "unknown",
        (ASK, EDIT, DONE, ("user", "No, that's wrong."), ("say", "It is as in the issue."),
         ("user", "Oh I see, thanks!")),
    ),
    Case("part-after-edit", "claude", "pass",
         (ASK, RED, EDIT, ("sh", "pytest -q -k sum", "2 passed in 0.03s", 0), DONE)),
    Case("failure-hidden", "claude", "fail",
         (ASK, EDIT, ("sh", "pytest -q || true", "1 failed, 4 passed in 0.10s", 0), DONE)),
    Case("tests-of-the-stash", "claude", "unknown",
         (ASK, EDIT, ("sh", "git stash && pytest -q; git stash pop", "5 passed in 0.1s", 0), DONE)),
    Case("back-to-main", "codex-3", "unknown",
         (ASK, EDIT, DONE, ("user", "go to main"), ("sh", "git checkout main", "Switched", 0))),
    Case("half-reverted", "codex-2", "unknown",
         (ASK, EDIT, OTHER, DONE, ("user", "leave the tax as it was"),
          ("sh", "git checkout -- tax.py", "", 0), DONE)),
    Case("stopped-then-spoken", "claude", "unknown",
         (ASK, EDIT, ("interrupt",), ("user", "what did you change so far?"), DONE)),
    Case("colours", "claude", "pass",
         (ASK, EDIT, ("sh", "pytest -q", "\x1b[32m.....\x1b[0m\r\n\x1b[32m5 passed\x1b[0m in 0.12s",
                      0), DONE)),
    Case("asked-back", "codex-2", "unknown",
         (ASK, EDIT, DONE, ("user", "Doesn't the discount also apply to the tax?"), DONE)),
    Case("asked-about-the-past", "claude", "unknown",
         (ASK, EDIT, DONE, ("user", "Why did the old code give the same error?"), DONE)),
    Case("watch-is-off", "claude", "pass",
         (ASK, EDIT, ("sh", "npm run test:unit -- --watch=false",
                      "Tests:       4 passed, 4 total", 0), DONE)),
    Case("no-that-is-good", "claude", "unknown",
         (ASK, EDIT, OFFER, ("user", "no that looks good"))),
    Case("no-that-is-all", "codex-3", "unknown",
         (ASK, EDIT, OFFER, ("user", "No, that's all."))),
    Case("no-worry", "claude", "unknown",
         (ASK, EDIT, DONE, ("user", "no, don't worry about the tax"), DONE)),
    Case("no-you-can", "claude", "unknown",
         (ASK, EDIT, OFFER, ("user", "no you can leave it"), DONE)),
    Case("answer-to-a-question", "codex-2", "unknown",
         (ASK, EDIT, ("say", "Is this page public?"), ("user", "no, this is for admins"), DONE)),
    Case("go-ahead", "claude", "unknown", (ASK, EDIT, OFFER, ("user", "Great"))),
    Case("nope-still", "codex-1", "fail", (ASK, EDIT, DONE, ("user", "nope, still fails"))),
    Case("expected-failures", "codex-1", "pass",
         (ASK, EDIT, ("sh", "pytest -q", "4 passed, 1 xfailed, 2 warnings in 0.12s", 0), DONE)),
    Case("coverage-too-low", "codex-2", "unknown",
         (ASK, EDIT, ("sh", "pytest -q --cov", "5 passed in 0.12s\nFAIL Required test coverage", 1),
          DONE)),
    Case("log-grows-in-tests", "claude", "pass",
         (ASK, EDIT, ("sh", "pytest -q > out.log 2>&1; tail -1 out.log", "5 passed in 0.12s", 0),
          DONE)),
    Case("told-by-hook", "claude", "unknown",
         (ASK, EDIT, DONE, ("meta", "Stop hook feedback: that's wrong, tests are missing"))),
    Case("quoted-praise", "claude", "unknown",
         (ASK, EDIT, DONE, ("user", "The reviewer wrote 'great work' but wants a test."), DONE)),
    Case("committed-unasked", "codex-3", "unknown",
         (ASK, EDIT, ("sh", "git commit -am 'Subtract'", "[main 1a2b3c4] Subtract", 0), DONE)),
    Case("green-then-corrected", "claude", "fail",
         (ASK, EDIT, GREEN, DONE, ("user", "That's not what I asked for."))),
)  # fmt: skip
