"""Signs of how work went: tests that ran, commands that take it back or on, words of the user."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
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
_DESELECTS = re.compile(
    r"[\s\"'=]-[km][= ]?\s*(?:\"[^\"]*\bnot\b|'[^']*\bnot\b|not\b)"
    r"|--(?:deselect|ignore|ignore-glob|skip|exclude|exclude-task|testPathIgnorePatterns|invert"
    r"|grep-invert)(?=[= ]|$)"
    r"|\s-skip\b|-D(?:test|it\.test)=\S*!|--filter[= ]\S*!"
)
"""A run without the tests that fail passes whatever the work is like."""
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|pytest\.ini|tox\.ini|(?:jest|vitest)\.config\.\w+)$"
    r"|(?:[._-](?:tests?|spec)|Tests?|Spec)\.\w+$"
)
_GUARDS = re.compile(
    r"\b(?:XCT)?[Aa]ssert\w*\b|(?<![.\w])expect\(|\.should\b|\braises\(|\bt\.(?:Error|Fatal)\w*\("
    r"|^\s*(?:async )?def test|^\s*func Test|@Test\b|#\[test\]|^\s*(?:it|test)\("
)
_SKIPS = re.compile(
    r"@(?:pytest\.mark\.|unittest\.)(?:skip|xfail|expectedFailure)|\bpytest\.(?:skip|xfail)\("
    r"|\bself\.skipTest\(|\b(?:it|test|describe)\.(?:skip|todo|fixme|only)\b|\bx(?:it|test|describe)\("
    r"|\bt\.Skip\w*\(|#\[ignore|@(?:Disabled|Ignore)\b|\bcollect_ignore"
    r"|\baddopts\b.*(?:-k|-m|--ignore|--deselect)"
)
_STASH = re.compile(r"^git\s+(?:-C\s+\S+\s+)?stash\b\s*(\S*)")
_BEFORE = re.compile(
    r"^(?:\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)|export\s+\w+=[^\s;&|]*)\s*&&)+"
)
"""What stands before a command and does not fail with a code of its own."""
_JOINED = re.compile(r"[|;\n]|(?<![&>])&(?![&>\d])")
_NO_VERDICT = {5, 124, 126, 127, 130, 137, 143}
"""Exit codes of a run that was ended, could not start, or (pytest's 5) had no tests."""
_WHOLE = (".", ":/", "*", "./")
_SEGMENTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_KEPT = re.compile(
    r"^git\s+(?:-\S+\s+)*(?:commit|merge|push)\b(?!.*--(?:dry-run|abort))"
    r"|^gh\s+pr\s+(?:merge|create)\b"
)
Saying = Literal["undo", "correction", "thanks", "approval"]
LOOKED_AT = 400
"""Characters: what a user thinks of the work stands at the front of a message."""

_POLITE = r"(?:please|pls|ok(?:ay)?|hm+|sorry|actually|can you|could you|now|just|then|and|no)"
_UNDO = re.compile(
    rf"^(?:{_POLITE}[,.!]?\s+)*"
    r"(?:undo|revert|roll\s?back|discard|put (?:it|that|this) back)\b[^.\n]*"
    r"|\b(?:please|pls)\s+(?:undo|revert|roll\s?back|discard)\b[^.\n]*",
    re.I,
)
_CORRECTION = re.compile(
    r"^(?:no|nope|nah)[,.!:]?\s+"
    r"(?:that|this|it|you|i (?:said|meant|asked|want)|not|wrong|still|don'?t (?!worry|bother|need))"
    r"[^.\n]*"
    r"|^wrong\b[^.\n]*"
    r"|\b(?:that|this|it|which)(?:'s| is| was)\s+"
    r"(?:still |just |completely |simply |all |totally )?"
    r"(?:wrong|incorrect|broken|not (?:right|correct|working|what i))\b[^.\n]*"
    r"|\b(?:is|are|'s) still (?:wrong|broken|failing|off|missing|crashing|happening|not)\b[^.\n]*"
    r"|\bnot what i (?:asked|wanted|meant|said)\b[^.\n]*"
    r"|^(?:it|this|that)?\s*(?:still )?(?:doesn'?t|does not|didn'?t|did not|isn'?t)\s+"
    r"(?:work|help|fix|compile|build|run|pass)\w*[^.\n]*"
    r"|\b(?:it|this|that) still "
    r"(?:doesn'?t|does not|fails|crashes|breaks|throws|shows|isn'?t)\b[^.\n]*"
    r"|^still (?:not|fail\w*|broken|wrong|the same|gett?ing|get|see\w*|an? error|crash\w*)\b[^.\n]*"
    r"|\b(?:the )?same (?:error|problem|issue|bug|failure)\b[^.\n]*"
    r"|\byou (?:broke|misunderstood|ignored|forgot|missed|(?:deleted|changed) the wrong)\b[^.\n]*"
    r"|^(?:now )?i(?:'m| am)? (?:still |now )?(?:get|getting|see|seeing|got) "
    r"(?:this|that|the same|errors?|an? (?:\w+ )?(?:error|exception|traceback))\b[^.\n]*"
    r"|\b(?:worse than before|even worse|now it'?s worse)\b[^.\n]*",
    re.I,
)
_THANKS = re.compile(
    r"\b(?:thanks|thank you|thx|ty|cheers|perfect(?:ly)?|great|awesome|excellent|nice|lovely"
    r"|brilliant|wonderful|amazing|fantastic|superb|lgtm|looks (?:good|great|right|perfect)"
    r"|(?:that|it|this|everything|all)(?: all)? works?|works(?: now| great| perfectly)?"
    r"|that(?:'s| is) (?:it|right|correct|better|perfect|great)"
    r"|(?:good|great|nice) (?:job|work)|well done|exactly what i (?:wanted|needed|meant))\b"
    r"|\U0001f44d|\U0001f389",
    re.I,
)
_APPROVAL = re.compile(
    r"\b(?:commit|merge|ship|push)\s+"
    r"(?:it|this|that|these|them|everything|all|the changes?|your changes?)\b"
    r"|^(?:please |ok(?:ay)?,? |now )*(?:commit|merge|push|ship it)\b"
    r"|\b(?:open|create|make) (?:a|the) (?:pr|pull request)\b",
    re.I,
)
_KNOWN = re.compile(
    r"\b(?:those|these|they|that|it|the (?:failures?|failing tests?|failed tests?|errors?))"
    r"(?: (?:ones?|two|three|failures?|failing tests?|tests?|errors?))*"
    r"(?:'s|'re| is| are| was| were| have been)\s+(?:all |both |just |already |well |only )*"
    r"(?:known|expected|flaky|unrelated|pre-?existing|not (?:yours|related|your fault))\b"
    r"(?: (?:failures?|issues?|problems?|errors?|ones?|to fail))?",
    re.I,
)
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|unless|wait|not|no|never|wrong|broken|bug|error|fail\w*"
    r"|still|instead|almost|nearly|revert|undo|before)\b|n't\b|n\u2019t\b|\?",
    re.I,
)
_FILLER = re.compile(
    r"\b(?:so|very|much|a lot|lot|you|for|your|the|all|that|this|it|its|is|and|really|again|now"
    r"|help|claude|codex|job|work|yes|yep|yeah|ok|okay|cool|good|man|mate|many|everyone|guys|done|fine"
    r"|indeed|just|absolutely|super|quick|fix|fixed)\b|[^\w]+",
    re.I,
)


class TestRun(NamedTuple):
    """One run of tests.

    Attributes:
        command: without pipes and redirections: what tells two runs apart.
        verdict: `unclear` where the output contradicts the exit code, or decides nothing, and where
            all tests passed but those that the command left out.
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
        clean = act.exit_code in (0, None) and not _DESELECTS.search(act.text)
        return TestRun(command, "pass" if clean else "unclear", passes[-1].group().strip())
    # The output is of no known form: by the exit code.
    code = act.exit_code
    line = _BEFORE.sub("", act.text.strip())
    if not act.quoted or code is None or code in _NO_VERDICT or _NOTHING_RAN.search(act.output):
        return TestRun(command, "unclear", "")
    # The exit code of a pipe or list is that of its end, and not of the tests in it. A chain that
    # went well went well throughout; one that did not may have ended before its tests or behind.
    if _JOINED.search(line) or ("&&" in line if code else _DESELECTS.search(act.text)):
        return TestRun(command, "unclear", "")
    return TestRun(command, "fail" if code else "pass", act.quoted)


def is_test_file(path: str) -> bool:
    """Whether a file holds tests, what they need, or how they are run, by its name."""
    return bool(_TEST_FILE.search(path))


def weakens_tests(act: Act, after_failure: bool) -> bool:
    """Whether an edit takes away or changes what tests demand, or has tests left out.

    Args:
        act: an edit.
        after_failure: whether tests had failed before it: a change of a test file that the log
            does not show counts then. That it was removed always counts.
    """
    unseen = act.removes or (after_failure and act.replaced is None)
    if unseen and any(map(is_test_file, act.paths)):
        return True
    old, new = (act.replaced or "").split("\n"), act.inserted.split("\n")
    remaining = {line.strip() for line in new}
    lost = any(_GUARDS.search(line) and line.strip() not in remaining for line in old)
    return lost or len(_SKIPS.findall(act.inserted)) > len(_SKIPS.findall(act.replaced or ""))


def stashes(command: str) -> bool | None:
    """Whether a command line stashes the work (True) or brings it back (False); None if neither."""
    verbs = [match.group(1) for part in _SEGMENTS.split(command.strip())
             if (match := _STASH.match(part))]  # fmt: skip
    verbs = [verb for verb in verbs if verb not in ("list", "show", "drop", "clear", "create")]
    return verbs[-1] not in ("pop", "apply", "branch") if verbs else None


def takes_back(command: str, edited: Iterable[str], every: bool = True) -> bool:
    """Whether a command line undoes every one of the files `edited`, or any of them."""
    files = [path for path in edited if path]
    return any(_reverts(part, files, every) for part in _SEGMENTS.split(command.strip()))


def _reverts(part: str, files: list[str], every: bool) -> bool:
    try:
        words = shlex.split(part)
    except ValueError:
        return False
    if len(words) < 2 or words[0] != "git":
        return False
    words = words[3:] if words[1] == "-C" else words[1:]
    verb, arguments = (words[0], words[1:]) if words else ("", [])
    paths = [word for word in arguments if not word.startswith("-")]
    if verb == "reset":
        return "--hard" in arguments
    if verb == "revert":
        return "--abort" not in arguments and "--no-commit" not in arguments
    if verb == "restore":
        index_only = "--staged" in arguments and "--worktree" not in arguments
        return not index_only and _covers(paths, files, every)
    if verb == "checkout" and not {"-b", "-B", "--orphan", "-t"} & set(arguments):
        if "--" in arguments:
            behind = arguments[arguments.index("--") + 1 :]
            paths = [word for word in behind if not word.startswith("-")]
        elif paths and not (paths[0] in _WHOLE or "." in paths[0] or "/" in paths[0]):
            # The first word may name a branch: `main` does, although `src/main/App.java` lies in
            # a folder of that name.
            paths = paths[1:]
        if not paths and {"-f", "--force"} & set(arguments) and len(arguments) == 1:
            return True
        return _covers(paths, files, every)
    return False


def _covers(paths: list[str], files: list[str], every: bool) -> bool:
    """Whether the paths of a command are the whole tree, or hold every (any) file of `files`."""
    if any(path in _WHOLE for path in paths):
        return True
    names = [path.removeprefix("./").rstrip("/") for path in paths]
    return bool(files) and (all if every else any)(
        any(f"/{file}".endswith(f"/{name}") or f"/{name}/" in f"/{file}" for name in names)
        for file in files
    )


def takes_on(command: str) -> bool:
    """Whether a command line commits, merges or pushes."""
    return any(_KEPT.match(part) for part in _SEGMENTS.split(command.strip()))


class Said(NamedTuple):
    """What a message says, and the words that say it."""

    saying: Saying
    quote: str


def excuses_failures(message: str) -> bool:
    """Whether a user says that the failures of the tests are known, or not those of the work."""
    return bool(_KNOWN.search(message.strip()[:LOOKED_AT].replace("\u2019", "'")))


def saying(message: str, asked_before: bool = False) -> Said | None:
    """What a message says about the work before it; None where it is not plain.

    Args:
        message: of the user.
        asked_before: whether the agent had just asked something: `no` and `great` are answers then.
    """
    text = message.strip()[:LOOKED_AT].replace("\u2019", "'")

    def said(name: Saying, match: re.Match[str]) -> Said:
        """With the words as they stand in the message: one sentence at most."""
        return Said(name, message.strip()[match.start() : match.end()].strip())

    if match := _UNDO.search(text):
        return said("undo", match)
    if (match := _CORRECTION.search(text)) and not match.group().rstrip().endswith("?"):
        answer = asked_before and re.match(r"(?:no|nope|nah)\b", match.group(), re.I)
        return None if answer else said("correction", match)
    bare = _KNOWN.sub("", text)
    if (asked_before and not re.search(r"\bthank", text, re.I)) or _RESERVE.search(bare):
        return None
    if (match := _APPROVAL.search(text)) and len(text.split()) <= 12:
        return said("approval", match)
    if (match := _THANKS.search(text)) and not _FILLER.sub("", _THANKS.sub("", bare)):
        return said("thanks", match)
    return None
