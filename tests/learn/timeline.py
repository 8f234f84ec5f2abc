"""Sessions whose ending no single line shows: polled runs, queued words, edits by any tool."""

from __future__ import annotations

from tests.learn.cases import ASK, DONE, EDIT, GREEN, RED, Case

HOOK = "ruff.....Failed\n- hook id: ruff\n- exit code: 1\n\nprices.py:1:1: E401"
SED = "sed -i 's/{}/{}/' tests/test_prices.py"
FETCH = 'const r = await tools.exec_command({cmd: "npm test", yield_time_ms: 900});\ntext(r.output)'
PATCH = (
    "const lines = ['*** Begin Patch', '*** Update File: prices.js', '@@', '-a', '+b',"
    " '*** End Patch'];\nawait tools.apply_patch(lines.join('\\n'))"
)
NODE = "\u2139 tests 3\n\u2139 pass {}\n\u2139 fail {}"


def shell(name: str, command: str, expected: str = "unknown", output: str = "") -> Case:
    """Tests pass, then a command runs."""
    return Case(name, "claude", expected, (ASK, EDIT, GREEN, ("sh", command, output, 0), DONE))


def ran(name: str, command: str, output: str = "5 passed in 0.12s") -> Case:
    """A run of tests that says nothing of the work, although it passes."""
    return Case(name, "claude", "unknown", (ASK, EDIT, ("sh", command, output, 0), DONE))


def green(name: str, expected: str, *words: str) -> Case:
    """Tests pass, then the user speaks."""
    return Case(name, "claude", expected, (ASK, EDIT, GREEN, DONE, *(("user", w) for w in words)))


TIMELINE: tuple[Case, ...] = (
    # Edits, whichever tool made them.
    shell("script-writes", "python3 <<'PY'\nopen('tax.py', 'w').write('')\nPY"),
    shell("script-reads", "python3 <<'PY'\nprint(open('tax.py').read())\nPY", "pass"),
    shell("copied-over", "cp ../backup/prices.py prices.py"),
    shell("copied-away", "cp prices.py /tmp/prices.py", "pass"),
    shell("node-writes", "node -e \"require('fs').writeFileSync('a.js', '')\""),
    shell("patched", "git apply fix.diff"),
    shell("quoted-arrow", "echo 'a > prices.py'", "pass"),
    Case("edited-by-a-server", "claude", "unknown",
         (ASK, EDIT, GREEN, ("tool", "mcp__fs__write_file", {"path": "a.py"}, "ok"))),
    Case("read-by-a-server", "claude", "pass",
         (ASK, EDIT, GREEN, ("tool", "mcp__fs__read_file", {"path": "a.py"}, "x"))),
    Case("edited-by-a-helper", "claude", "pass", (ASK, ("helper", "prices.py"), GREEN, DONE)),
    Case("helper-after-tests", "claude", "unknown", (ASK, EDIT, GREEN, ("helper", "tax.py"), DONE)),
    # What the tests demand.
    Case("expectation-changed", "claude", "unknown",
         (ASK, EDIT, ("sh", SED.format("== 90", "== 81"), "", 0), GREEN, DONE)),
    Case("renamed-in-tests", "claude", "pass",
         (ASK, EDIT, ("sh", SED.format("sum_prices", "total"), "", 0), GREEN, DONE)),
    Case("constant-after-red", "claude", "unknown",
         (ASK, EDIT, RED, ("edit", "tests/test_prices.py", "WANT = 90", "WANT = 81"), GREEN, DONE)),
    # Runs that leave tests out, or show a part of what they say.
    ran("ctest-exclude", "ctest -LE slow", "100% tests passed, 0 tests failed out of 9"),
    ran("rspec-tag", "bundle exec rspec --tag ~js", "9 examples, 0 failures"),
    ran("go-short", "go test -short ./...", "ok  \tshop/sum\t0.1s"),
    ran("phpunit-group", "vendor/bin/phpunit --exclude-group db", "OK (6 tests, 11 assertions)"),
    ran("gradle-without", "./gradlew check -x integrationTest", "BUILD SUCCESSFUL in 3s"),
    ran("last-failed", "pytest --lf -q"),
    ran("preview", "go test ./...",
        "<persisted-output>Output too large (61KB). Preview (first 2KB):\nok  \tshop/sum\t0.1s"),
    ran("filtered", "go test ./... | grep ok", "ok  \tshop/sum\t0.1s"),
    ran("elsewhere", "cd ../billing && pytest -q"),
    ran("elsewhere-by-option", "npm --prefix ../billing test", "Tests:    4 passed, 4 total"),
    Case("built-beside", "claude", "pass",
         (ASK, ("edit", "src/sum.c"), ("sh", "cd build && ctest", "100% tests passed", 0))),
    Case("went-elsewhere-before", "claude", "unknown",
         (ASK, EDIT, ("sh", "cd ../billing", "", 0), ("sh", "pytest -q", "5 passed in 0.1s", 0))),
    # Runs that end later.
    Case("red-in-the-background", "claude", "fail",
         (ASK, EDIT, ("later", "make test", "1 failed, 4 passed in 0.3s", 2), DONE)),
    Case("green-in-the-background", "claude", "pass",
         (ASK, EDIT, ("later", "npm test", "all fine", 0), DONE)),
    Case("edited-while-it-ran", "claude", "unknown",
         (ASK, EDIT, ("later", "pytest", "5 passed in 0.3s", 0), EDIT, DONE)),
    Case("polled-red", "codex-3", "fail",
         (ASK, EDIT, ("polled", "cargo test", "test result: ok. 3 passed; 0 failed",
                      "test result: FAILED. 1 passed; 2 failed", 101), DONE)),
    Case("polled-by-code", "codex-3", "fail",
         (ASK, EDIT, ("polled", "make check", "running\n", "stopped\n", 2), DONE)),
    # Code mode.
    Case("script-red", "codex-3", "fail",
         (ASK, ("script", PATCH, "Success."), ("script", FETCH, NODE.format(2, 1)), DONE)),
    Case("script-green", "codex-3", "pass",
         (ASK, ("script", PATCH, "Success."), ("script", FETCH, NODE.format(3, 0)), DONE)),
    Case("script-edits-later", "codex-3", "unknown",
         (ASK, EDIT, ("script", FETCH, NODE.format(3, 0)), ("script", PATCH, "Success."), DONE)),
    Case("script-code", "codex-3", "fail",
         (ASK, EDIT, ("script", FETCH, '{"output": "crashed", "exit_code": 1}'), DONE)),
    Case("rolled-back", "codex-3", "pass",
         (ASK, EDIT, GREEN, DONE, ("user", "and the tax?"), EDIT, RED, ("rollback", 1),
          ("user", "thanks"))),
    # Words of the user, wherever they were typed.
    Case("queued", "claude", "fail",
         (ASK, EDIT, GREEN, ("queued", "no, this is wrong, put it back"), DONE)),
    Case("typed-at-the-end", "claude", "fail",
         (ASK, EDIT, GREEN, DONE, ("typed", "it still fails for two items"))),
    Case("asked-and-denied", "claude", "fail",
         (ASK, EDIT, ("ask", "Is the total correct now?", "No"), DONE)),
    Case("asked-and-affirmed", "codex-3", "pass",
         (ASK, EDIT, ("ask", "Is the total correct now?", "Yes"), DONE)),
    Case("asked-of-a-choice", "claude", "unknown",
         (ASK, EDIT, ("ask", "Shall I commit?", "No"), DONE)),
    Case("refused-with-words", "claude", "fail",
         (ASK, EDIT, ("tool", "Edit", {"file_path": "a.py"},
                      "The user doesn't want to proceed with this tool use. To tell you how to "
                      "proceed, the user said:\nno, that is wrong"), DONE)),
    green("broke-it", "fail", "this broke the nightly job"),
    green("ci-is-red", "fail", "CI is red now"),
    green("bare-no", "unknown", "nah"),
    green("draft-commit", "fail", "push it as a draft, it does not compile on mac"),
    green("no-problem", "pass", "no problems here"),
    green("other-language", "fail", "geht immer noch nicht, gleicher Fehler"),
    green("irony", "fail", "oh brilliant, now it signs everybody out"),
    green("next-task", "pass", "now explain the discount in two lines"),
    green("own-mistake", "pass", "that fails, oh, my mistake, old branch"),
    green("if-it-fails", "pass", "if it is wrong we will see"),
    green("still-unhappy", "unknown", "that crashes on my machine", "here is the log"),
    Case("name-of-a-thing", "claude", "unknown",
         (ASK, EDIT, DONE, ("user", "undo history needs a limit"), ("edit", "history.py"), DONE)),
    # Version control.
    Case("other-repository", "claude", "pass",
         (ASK, EDIT, GREEN, DONE, ("user", "clean the other checkout"),
          ("sh", "git -C /srv/mirror checkout .", "", 0), DONE)),
    Case("other-commit", "claude", "pass",
         (ASK, EDIT, GREEN, ("user", "revert the commit of Tuesday, 9f8e7d6"),
          ("sh", "git commit -qam discount", "[main 1a2b3c4] discount", 0),
          ("sh", "git revert --no-edit 9f8e7d6", "", 0), DONE)),
    Case("synchronised", "claude", "pass",
         (ASK, EDIT, GREEN, ("user", "ship it"), ("sh", "git commit -qam x && git push", "", 0),
          ("user", "merged, next one"), ("sh", "git reset --hard origin/main", "", 0), DONE)),
    Case("gone-behind", "claude", "fail",
         (ASK, EDIT, GREEN, ("user", "commit it"),
          ("sh", "git commit -qam x", "[main 1a2b3c4] x", 0), ("user", "drop that commit"),
          ("sh", "git reset --hard HEAD~1", "", 0), DONE)),
    # Commits, their refusal and their end; one package of several.
    Case("commit-refused-by-hook", "codex-2", "fail",
         (ASK, EDIT, DONE, ("user", "good, commit it"),
          ("sh", "git commit -am 'Subtract' 2>&1 | tail -5", HOOK, 0), DONE)),
    Case("push-refused", "codex-3", "unknown",
         (ASK, EDIT, DONE, ("user", "push it"),
          ("sh", "git push 2>&1 | tail -3", " ! [rejected]  main -> main (fetch first)", 0), DONE)),
    Case("quiet-commit-reverted", "claude", "fail",
         (ASK, EDIT, GREEN, ("sh", "git commit -qam 'Subtract the discount'", "", 0), DONE,
          ("bang", "git revert --no-edit 1a2b3c4",
           '[main 9f8e7d6] Revert "Subtract the discount"'))),
    Case("other-commit-reverted", "claude", "pass",
         (ASK, EDIT, GREEN, ("sh", "git commit -qam 'Subtract the discount'", "", 0), DONE,
          ("bang", "git revert --no-edit 1a2b3c4", '[main 9f8e7d6] Revert "Add a tax"'))),
    ran("other-crate", "cargo test -p web", "test result: ok. 3 passed; 0 failed"),
    ran("other-workspace", "npm test -w packages/site", "Tests:       4 passed, 4 total"),
    ran("other-folder", "pytest -q apps/site/tests"),
    Case("own-package", "claude", "pass",
         (ASK, ("edit", "packages/core/sum.js"),
          ("sh", "npm test --workspace=@shop/core", "Tests:       4 passed, 4 total", 0), DONE)),
)  # fmt: skip
