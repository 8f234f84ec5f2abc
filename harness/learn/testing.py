"""Test commands, and what their output says."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from harness.learn.acts import Act

_SPLIT = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECT = re.compile(r"\s*(?:\d?>{1,2}|&>)\s*\S+")
_WRAPPERS = re.compile(
    r"^(?:(?:\w+=\S*|env|sudo|time|command|exec|npx|bunx|pnpm exec|pnpm dlx|yarn run|yarn exec"
    r"|poetry run|pipenv run|pdm run|hatch run|rye run|uv run(?:\s+--?\S+)*|uvx|bundle exec"
    r"|xvfb-run|timeout(?:\s+-\S+)*\s+\d+[smh]?|nice(?:\s+-n\s*\d+)?"
    r"|coverage run(?:\s+-[a-z]+)*(?= -m))\s+)+"
)
_TESTS = re.compile(
    r"(?:\S*/)?(?:"
    r"pytest|py\.test|python[\d.]*\s+(?:-\w+\s+)*-m\s+(?:pytest|unittest|nose2|tox)|-m\s+pytest"
    r"|tox|nox|nosetests|(?:python[\d.]*\s+)?(?:\./)?manage\.py\s+test"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:run\s+|-\S+\s+)*(?:test|t)(?::\S+)?|jest|vitest|mocha|ava|karma"
    r"|playwright\s+test|cypress\s+run|node\s+--test|deno\s+test"
    r"|cargo\s+(?:\+\S+\s+)?(?:nextest\s+run|test|t)|go\s+test|gotestsum"
    r"|mvnw?\s+(?:\S+\s+)*(?:test|verify|install)|gradlew?\s+(?:\S+\s+)*\S*(?:test|check)\S*"
    r"|sbt\s+\S*test\S*|dotnet\s+test|phpunit|pest|artisan\s+test|rspec|rails\s+test|rake\s+(?:test|spec)"
    r"|mix\s+test|swift\s+test|ctest|bazel\s+test|stack\s+test|cabal\s+test|lein\s+test"
    r"|(?:flutter|dart)\s+test|zig\s+build\s+test|bats|prove|busted|meson\s+test"
    r"|(?:make|just|task|ninja|invoke|nmake)\s+(?:-\S+\s+)*(?:test|check|tests|unittest)\S*"
    r")(?=\s|$)"
)
_NO_RUN = re.compile(
    r"--(?:collect-only|co|version|help|list\w*|no-run|fixtures|setup-plan|dry-run|watch\w*(?!=false))\b"
    r"|\s-(?:h|V|list)\b|\s-DskipTests|--if-present"
)
_FAIL = re.compile(
    r"^(?:"
    r"=*\s*(?:[^\n]*, )?[1-9]\d* (?:failed|errors?)\b[^\n]* in [\d.:]+s[^\n]*"  # pytest
    r"|\s*(?:Tests|Test Suites|Test Files):?\s+[^\n]*\b[1-9]\d* failed\b[^\n]*"  # jest, vitest
    r"|test result: FAILED\.[^\n]*|error: could not compile[^\n]*"  # cargo
    r"|--- FAIL: [^\n]*|FAIL(?:\s+[^\s:]+)?(?:\s+(?:\(?[\d.]+ ?m?s\)?|\[[^\]\n]*\]))?"  # go
    r"|FAILED \((?:failures|errors)=[^\n]*"  # unittest
    r"|\s*[1-9]\d* failing\b[^\n]*"  # mocha
    r"|\d+ examples?, [1-9]\d* failures?[^\n]*"  # rspec
    r"|\d+ (?:runs|tests), \d+ assertions, "  # minitest
    r"(?:[1-9]\d* failures|\d+ failures, [1-9]\d* errors)[^\n]*"
    r"|[^\n]*Tests run: \d+, (?:Failures: [1-9]|Failures: \d+, Errors: [1-9])[^\n]*"  # maven
    r"|[^\n]*BUILD FAIL(?:URE|ED)[^\n]*|\s*Failed!\s+-[^\n]*"  # maven, gradle, dotnet
    r"|FAILURES!|ERRORS!|Tests: \d+, Assertions: \d+, (?:Failures|Errors): [1-9][^\n]*"  # phpunit
    r"|(?:# |\u2139 )fail [1-9]\d*|\s*[1-9]\d* fail|FAILED \| [^\n]*"  # node, bun, deno
    r"|\d+% tests passed, [1-9]\d* tests failed[^\n]*"  # ctest
    r")$",
    re.M,
)
_PASS = re.compile(
    r"^(?:"
    r"=*\s*(?:[^\n]*, )?[1-9]\d* passed\b[^\n]* in [\d.:]+s[^\n]*"
    r"|\s*Tests:?\s+(?:[^\n]*\b)?[1-9]\d* passed\b[^\n]*"
    r"|test result: ok\. [1-9][^\n]*"
    r"|ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?![^\n]*no tests)[^\n]*"
    r"|OK(?: \((?:skipped|expected)[^\n]*\))?"
    r"|\s*[1-9]\d* passing\b[^\n]*"
    r"|[1-9]\d* examples?, 0 failures[^\n]*"
    r"|[1-9]\d* (?:runs|tests), \d+ assertions, 0 failures, 0 errors[^\n]*"
    r"|[^\n]*Tests run: [1-9]\d*, Failures: 0, Errors: 0[^\n]*"
    r"|[^\n]*BUILD SUCCESS(?:FUL)?[^\n]*|\s*Passed!\s+-[^\n]*"
    r"|OK \([1-9]\d* tests?[^\n]*\)"
    r"|(?:# |\u2139 )pass [1-9]\d*|\s*[1-9]\d* pass|ok \| [1-9][^\n]*"
    r"|100% tests passed[^\n]*"
    r")$",
    re.M,
)
_NOTHING_RAN = re.compile(
    r"command not found|No module named|not recognized as|no tests ran|No tests found"
    r"|[Mm]issing script|No rule to make target|timed? out|No such file or directory|not installed",
)
_BEFORE = re.compile(
    r"^(?:\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)|export\s+\w+=[^\s;&|]*)\s*&&)+"
)
"""What stands before a command and does not fail with a code of its own."""
_JOINED = re.compile(r"[|;\n]|(?<![&>])&(?![&>\d])")
_NO_VERDICT = {5, 124, 126, 127, 130, 137, 143}
"""Exit codes of a run that was ended, could not start, or (pytest's 5) had no tests."""


class TestRun(NamedTuple):
    """One run of tests.

    Attributes:
        command: without pipes and redirections: what tells two runs apart.
        verdict: `unclear` where the output contradicts the exit code, or decides nothing.
        quote: of the output, "" where nothing decides.
    """

    command: str
    verdict: Literal["pass", "fail", "unclear"]
    quote: str


def test_command(command: str) -> str | None:
    """The part of a command line that runs tests, None if no part does."""
    if re.search(r"\bgit\s+stash\b(?!\s+(?:list|show))", command):
        return None  # tests of another tree than the one that was edited
    for part in _SPLIT.split(command.strip()):
        bare = _WRAPPERS.sub("", _REDIRECT.sub("", part)).strip()
        if _TESTS.match(bare) and not _NO_RUN.search(bare):
            return bare
    return None


def test_run(act: Act) -> TestRun | None:
    """What a command says about the tests; None if it runs none."""
    command = test_command(act.text)
    if command is None:
        return None
    fails = list(_FAIL.finditer(act.output))
    passes = list(_PASS.finditer(act.output))
    if fails:
        return TestRun(command, "fail", fails[-1].group().strip())
    if passes:
        clean = act.exit_code in (0, None)
        return TestRun(command, "pass" if clean else "unclear", passes[-1].group().strip())
    return TestRun(command, *_by_exit_code(act))


def _by_exit_code(act: Act) -> tuple[Literal["pass", "fail", "unclear"], str]:
    """The verdict of a run whose output is of no known form."""
    code = act.exit_code
    if not act.quoted or code is None or code in _NO_VERDICT or _NOTHING_RAN.search(act.output):
        return "unclear", ""
    line = _BEFORE.sub("", act.text.strip())
    # The exit code of a pipe or list is that of its end, and not of the tests in it. A chain that
    # went well went well throughout; one that did not may have ended before its tests or behind.
    if _JOINED.search(line) or (code and "&&" in line):
        return "unclear", ""
    return ("fail" if code else "pass"), act.quoted
