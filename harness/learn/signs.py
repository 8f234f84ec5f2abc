"""Signs of how work went: tests that ran, commands that take it back or on, words of the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from harness.learn.acts import Act
from harness.learn.shell import Program, joined, parse
from harness.learn.tables import is_asked, leaves_out, runners, sign
from harness.learn.words import HARMLESS, LIKELY, SURE, complaint_and_praise

# Exit codes of a run that was ended, could not start, or (pytest's 5) had no tests.
_NO_VERDICT = {5, 124, 126, 127, 130, 137, 143}
_WHOLE = {".", ":/", "*", "./"}
Saying = Literal["undo", "correction", "thanks", "approval", "doubt", "other"]
# Words of a reply that says more than an answer does, and of one that can be classified.
_ANSWER, _LEAST_WORDS = 4, 3
LOOKED_AT = 400  # characters: what a user thinks of the work stands at the front of a message


class TestRun(NamedTuple):
    """One run of tests.

    Attributes:
        command: without pipes and redirections: what tells two runs apart.
        verdict: `unclear` where the output contradicts the exit code, or decides nothing, and where
            all tests passed but those that the command left out.
        quote: of the output, "" where nothing decides.
        folder: that the tests are of, None if that cannot be told.
    """

    command: str
    verdict: Literal["pass", "fail", "unclear"]
    quote: str
    folder: str | None = ""


def test_run(act: Act, words: str = "") -> TestRun | None:
    """Read what a command says about the tests; None if it runs none.

    Args:
        act: a command.
        words: of the user: a build, or a check of types or style, is a test where they are about
            one, and so is a program that they say must run.
    """
    if act.kind != "command":
        return None
    line = parse(act.text, act.folder)
    checks = (call for call in line.programs if words and is_asked(call.bare, words))
    program = next((call for call in line.programs if call.tests), next(checks, None))
    # Between a stash and its return, tests are of another tree than the one that was edited.
    if program is None or any(sign("stash").match(call.text) for call in line.programs):
        return None
    command, folder, code = program.bare, program.target, act.exit_code
    fails = list(runners("fail").finditer(act.output))
    passes = list(runners("pass").finditer(act.output))
    partial = leaves_out(command, act.text)
    if fails:
        return TestRun(command, "fail", fails[-1].group().strip(), folder)
    if passes:
        covers_all, cut = passes[-1]["whole"], sign("cut").search(act.output)
        seen = not cut or (covers_all and not cut["preview"] and passes[-1].start() > cut.start())
        filtered = any(sign("filters").match(call.name) for call in line.programs)
        clean = (
            code in (0, None)
            and not (partial or sign("left_out").search(passes[-1].group()))
            and seen
            and all(call.name != "head" for call in line.programs)  # its end was not shown
            and (covers_all or (act.ended and not filtered))
        )
        return TestRun(command, "pass" if clean else "unclear", passes[-1].group().strip(), folder)
    # The output is of no known form: by the exit code. That of a pipe or list is the one of its
    # end, and not of the tests in it. A chain that went well went well throughout; one that did not
    # may have ended before its tests or behind.
    owns_code = line.alone or (line.chained and code == 0)
    quote = act.quoted or ("" if code else act.text)
    silent = not quote or code is None or code in _NO_VERDICT
    if (
        silent
        or not (owns_code and act.ended)
        or (partial and not code)
        or sign("nothing_ran").search(act.output)
    ):
        return TestRun(command, "unclear", "", folder)
    return TestRun(command, "fail" if code else "pass", quote, folder)


def is_test_file(path: str) -> bool:
    """Return True if a file holds tests, what they need, or how they are run, by its name."""
    return bool(sign("test_file").search(path))


def weakens_tests(act: Act, after_failure: bool, may_change: bool) -> bool:
    """Return True if an edit takes away or changes what tests demand, or has tests left out.

    Args:
        act: an edit.
        after_failure: whether tests had failed before it: a change of a test file that the log
            does not show counts then. One that a command makes unseen always counts.
        may_change: whether the user asked for other tests: only those that are left out count then.
    """
    tests = not may_change and any(map(is_test_file, act.paths))
    if tests and (act.hidden or (after_failure and act.replaced is None)):
        return True
    old, new = (act.replaced or "").split("\n"), act.inserted.split("\n")
    remaining = {line.strip() for line in new}
    guards = [
        *([sign("values")] if tests and after_failure else []),
        *([] if may_change else [sign("guards")]),
    ]
    lost = (line for line in old if line.strip() not in remaining)
    skips = [len(sign("skips").findall(text)) for text in (act.replaced or "", act.inserted)]
    return skips[1] > skips[0] or any(guard.search(line) for line in lost for guard in guards)


def taken_back(program: Program, files: set[str], commits: Sequence[str]) -> set[str]:
    """The files, of those that were edited, whose changes a program undoes.

    Args:
        program: of a command line.
        files: that were edited; "" for one that cannot be told.
        commits: of the work since, by their digests, "pushed" once it was; () if there is none.
    """
    match = sign("back").match(program.text)
    if match is None:
        return set()
    folder, verb = joined(program.folder, match["folder"] or ""), match["verb"]
    arguments = match["rest"].split()
    options = {word for word in arguments if word.startswith("-")}
    paths = [word for word in arguments if word not in options]
    nearby = {file for file in files if near(folder, file)}
    older = bool(sign("older").match((paths or [""])[0]))
    if verb == "revert":  # of another commit, it is work like any other
        mine = any(digest.startswith(path[:7]) for path in paths for digest in commits)
        return nearby if mine or (commits and paths == ["HEAD"]) else set()
    if verb == "reset":
        stays = commits and not older and ("pushed" in commits or paths in ([], ["HEAD"]))
        return files if nearby and "--hard" in options and not stays else set()
    index_only = "--staged" in options and "--worktree" not in options
    if index_only or options & {"-b", "-B", "-c", "-C", "-t", "--orphan"}:
        return set()
    if commits and not sign("older_files").search(match["rest"]):
        return set()  # what was committed stays
    if "--" in arguments:
        paths = arguments[arguments.index("--") + 1 :]
    elif verb == "checkout" and paths and not (paths[0] in _WHOLE or re.search(r"[./]", paths[0])):
        # The first word may name a branch: `main` does, although `src/main/App.java` lies in a
        # folder of that name.
        paths = paths[1:]
    forced = len(arguments) == 1 and options & {"-f", "--force", "--discard-changes"}
    if forced or _WHOLE & set(paths):
        return nearby
    names = [path.removeprefix("./").rstrip("/") for path in paths]
    return {file for file in nearby if any(f"/{name}/" in f"/{file}/" for name in names)}


def near(folder: str | None, file: str) -> bool:
    """Return True if a file may lie in the repository that a folder is in."""
    if not (folder or "").startswith("/") or not file.startswith("/"):
        return True
    return within(file, folder) or within(str(folder), str(PurePosixPath(file).parent))


def within(path: str, folder: str | None) -> bool:
    """Return True if a path is a folder, or below it."""
    return f"{path}/".startswith(f"{str(folder).rstrip('/')}/")


def saying(message: str, question: str = "") -> tuple[Saying, str] | None:
    """Read what a message says about the work before it, and in which words; None if nothing.

    Args:
        message: of the user.
        question: of the agent just before it: `no` and `great` are answers then.
    """
    message = message.strip()
    text = message[:LOOKED_AT].replace("\u2019", "'")
    for name in ("neutral", "hypothetical"):  # blanked, so that places stay
        text = sign(name).sub(lambda match: " " * len(match.group()), text)
    bare = sign("known").sub("", text)

    def said(name: Saying, match: re.Match[str], start: int = 0) -> tuple[Saying, str]:
        """With the words as they stand in the message: one sentence at most."""
        return name, message[start + match.start() : start + match.end()].strip()

    if question and sign("outcome").search(question) and (match := sign("answer").match(text)):
        return said("thanks" if match["yes"] else "correction", match)
    if match := runners("fail").search(message):  # of the user's own run
        return "correction", match[0].strip()
    if match := sign("undo").search(text):
        return said("undo", match)
    # After a question, `no` may be an answer: what follows it counts alone.
    answer = sign("no").match(text) if question else None
    start = answer.end() if answer else 0
    if (match := sign("correction").search(text[start:])) and not match[0].rstrip().endswith("?"):
        return said("correction", match, start)
    reserved = sign("reserve").search(bare) or sign("trouble").search(bare)
    if not reserved and (not question or sign("thank").search(text)):
        if (match := sign("approval").search(text)) and len(text.split()) <= 16:
            return said("approval", match)
        remainder = sign("filler").sub("", sign("thanks").sub("", bare))
        if (match := sign("thanks").search(text)) and not remainder:
            return said("thanks", match)
    return None if question and len(text.split()) < _ANSWER else classified(text, bare)


def classified(text: str, bare: str) -> tuple[Saying, str] | None:
    """Read words that no pattern reads by the classifier; what it doubts may be a complaint."""
    complaint, praise = complaint_and_praise(text.strip())
    quote = text.strip().partition("\n")[0][:120]
    request = sign("request").search(text) and not sign("reproach").search(text)
    short = len(text.split()) < _LEAST_WORDS
    if complaint > SURE and not (short or sign("excuse").search(text)):
        return ("doubt" if request else "correction"), quote
    if praise > (LIKELY if sign("thanks").search(bare) else SURE) and not (
        short or request or sign("pending").search(text) or sign("trouble").search(text)
    ):
        return "thanks", quote
    if complaint < HARMLESS or (request and complaint < SURE):
        return "other", quote
    match = sign("doubt").search(bare)
    return ("doubt", match[0]) if match else None
