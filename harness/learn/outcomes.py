"""Outcomes of sessions: rules on what the log says, and nothing where it does not decide.

What counts is what came behind the last edit: the last verdict of the tests, and what the user
did or said. Signs that contradict each other decide nothing. A sign whose quote cannot be found
in the file is no sign. Tests say nothing of work that was taken back after they ran. Their passing
says nothing where what they demand was edited away, where a run left some of them out or was of
another folder than the work, and where the user complains after it: his last plain word counts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from harness.core import Trajectory, string
from harness.core.redaction import until_secret
from harness.learn.acts import Act, acts
from harness.learn.session_logs import Spans
from harness.learn.shell import parse
from harness.learn.signs import (
    LOOKED_AT,
    TestRun,
    is_test_file,
    near,
    saying,
    taken_back,
    test_run,
    weakens_tests,
    within,
)
from harness.learn.tables import builds, runners, sign
from harness.learn.types import Claim, Outcome, Sign

# Edits of such files leave a verdict of the tests as it is.
_PROSE = {".md", ".rst", ".txt", ".log", ".adoc"}
_WORK = {"say", "command", "edit"}
_REASONS: dict[Sign, str] = {
    "tests": "the tests behind the last edit decide",
    "revert": "the work was taken back",
    "correction": "the user corrected the work",
    "undo": "the user had the work taken back",
    "thanks": "the user was content",
    "approval": "the user had the work committed or merged",
    "refusal": "the commit that the user wanted was refused",
}


def infer_outcome(trajectory: Trajectory, spans: Spans) -> Outcome:
    """The outcome of a session.

    Args:
        trajectory: the session as it was logged, not redacted.
        spans: of the file that it came from.
    """
    history = acts(trajectory)
    edits = [index for index, act in enumerate(history) if act.kind == "edit"]
    real = [
        index
        for index in edits
        if not history[index].paths
        or any(
            PurePosixPath(path).suffix not in _PROSE or is_test_file(path)
            for path in history[index].paths
        )
    ]
    root = string(trajectory.harness.get("cwd"))
    start = (real or edits or [-1])[-1] + 1
    words = [index for index, act in enumerate(history) if act.kind == "user"][1:]
    undo = saying(history[words[-1]].text) if words else None
    undone = undo is not None and undo[0] == "undo" and edits[:1] < words[-1:]
    if undone and not any(map(test_run, history[words[-1] :])):
        start = words[-1]  # whatever edits carry it out
    signs = _Signs(history, start, spans, root)
    # The tests' last verdict, unless another command failed and never passed, or it is unclear.
    tested = signs.tests[-1][1] if real and signs.tests else None
    if tested is not None and tested.verdict == "pass":
        latest = standing(signs.tests)
        red = next((claim for claim in latest if claim and claim.verdict == "fail"), None)
        if red or None in latest:
            tested = red
        elif _weakened(history, bool(sign("tests_too").search(signs.asked))):
            tested, signs.void = None, "what the tests demand was edited away"
        elif any(
            (a.command, a.verdict, b.verdict) == (b.command, "fail", "pass")
            and (failed and passed and passed.step - failed.step) in (0, 1)  # one behind the other
            for (a, failed), (b, passed) in pairwise(signs.tests)
        ):
            tested, signs.void = None, "the same tests failed and passed, and nothing was changed"
    elif tested is not None and sign("expected_red").search(signs.asked):
        tested, signs.void = None, "the user said before that tests fail"
    claims = (*signs.favour, *signs.against, *([tested] if tested else []))
    if len({claim.verdict for claim in claims}) > 1:
        return Outcome(verdict="unknown", reason="the signs contradict each other", claims=claims)
    for claim in (*signs.against[-1:], *signs.favour[-1:], *claims):
        return Outcome(verdict=claim.verdict, reason=_REASONS[claim.sign], claims=claims)
    reason = "nothing behind the last edit says how it went" if real else "nothing was judged"
    if signs.tests:
        reason = "the tests behind the last edit decide nothing"
    return Outcome(verdict="unknown", reason=signs.void or reason)


def standing(tests: list[tuple[TestRun, Claim | None]]) -> list[Claim | None]:
    """The verdicts that no later run of the same tests, or of more, has replaced."""
    rows: list[tuple[set[str], str | None, Claim | None]] = []
    for run, claim in tests:
        words = set(sign("no_scope").sub("", run.command).split())
        rows = [row for row in rows if not (words <= row[0] and run.folder in (row[1], "", None))]
        rows.append((words, run.folder, claim))
    return [claim for *_, claim in rows]


def _weakened(history: list[Act], may_change: bool) -> bool:
    """Return True if an edit takes away what tests demand, as far as the log shows it, and the
    user has not asked for other tests.
    """
    failed = False
    for act in history:
        if act.kind == "edit" and weakens_tests(act, failed, may_change):
            return True
        run = test_run(act)
        failed = failed or (run is not None and run.verdict == "fail")
    return False


class _Signs:
    """Signs seen behind the last edit, in order; `void` says why tests do not count, `asked` holds
    all that the user wrote.

    Args:
        history: everything that was done.
        start: of what stands behind the last edit.
        spans: of the log.
        root: folder of the session, "" where the log does not say.
    """

    def __init__(self, history: list[Act], start: int, spans: Spans, root: str) -> None:
        self.favour: list[Claim] = []
        self.against: list[Claim] = []
        self.tests: list[tuple[TestRun, Claim | None]] = []
        self.void = ""
        self._spans, self._root = spans, root
        before = history[:start]
        self.asked = "\n".join(act.text for act in history if act.kind == "user")
        self._files = {path for act in before if act.kind == "edit" for path in act.paths or ("",)}
        self._spoke = self._gone = self._stashed = False
        self._question = next((a.text for a in reversed(before) if a.kind == "say"), "")
        self._approval: Claim | None = None
        self._refusal: Claim | None = None
        self._broken: Claim | None = None  # a last build that failed
        self._commits: list[str] = []
        # Before the agent did something there is no work to speak of.
        works = (n for n, a in enumerate(history) if a.kind in _WORK and not a.by_user)
        start = max(start, next(works, len(history)))
        for index, act in enumerate(history[start:], start=start):
            if act.kind == "say":
                self._question = act.text
            elif act.kind == "user":
                self._said(act)
            elif act.kind == "command":
                self._ran(act)
            elif act.kind == "interrupt" and all(a.kind == act.kind for a in history[index:]):
                self.favour, self.tests = [], []
                self.void = "the user stopped the agent, and nothing came after it"
        if self._broken:
            self.tests.append((TestRun("", "fail", ""), self._broken))
        if self._stashed:
            self._forget("the work was stashed")
        if self._refusal:
            self.tests = []
            self._add(self._refusal)

    def _said(self, act: Act) -> None:
        question = act.output or self._question
        asks = "?" in question[-200:]
        word = saying(act.text, question if asks else "")
        self._spoke = True
        passed = bool(self.tests) and self.tests[-1][0].verdict == "pass"
        if sign("known").search(act.text[:LOOKED_AT]) and any(
            run.verdict == "fail" for run, _ in self.tests
        ):
            self._forget("the user knows of the failures")
        kind, quote = word or ("other", "")
        good = kind in ("thanks", "approval")
        if good or kind == "other":
            # Who continues without a word of it may have seen that nothing was wrong.
            withdrawn = [claim for claim in self.against if claim.sign == "correction"]
            self.against = [claim for claim in self.against if claim.sign != "correction"]
            harmless = sign("hypothetical").sub("", sign("neutral").sub("", act.text))
            if passed and word is None and sign("filler").sub("", harmless):
                self._forget("the user said something after the tests that no rule reads")
            if not good or withdrawn:
                return
        elif passed or kind != "doubt":
            self.favour = []
        if passed and not good:
            self._forget(f"after the tests, the user was not content: {until_secret(quote)!r}")
        if kind == "doubt":
            return
        claim = _claim(kind, "pass" if good else "fail", quote, act, self._spans)
        if kind == "approval":
            self._approval = claim  # counts once it was carried out
        else:
            self._add(claim)

    def _ran(self, act: Act) -> None:
        gone: set[str] = set()
        refused = sign("not_kept").search(act.output)
        programs = parse(act.text, act.folder).programs
        for program in programs:
            verb = sign("kept").match(program.text) if self._files else None
            if verb and refused and refused["hook"] and self._approval:
                self._refusal = _claim("refusal", "fail", refused[0], act, self._spans)
            if act.exit_code not in (0, None):
                break
            if verb and not refused:
                if act.by_user and not re.search(r"\bwip\b", act.text, re.I):
                    self._approval = _claim("approval", "pass", act.text, act, self._spans)
                self._add(self._approval)
                self._approval = self._refusal = None
                self._commits += sign("committed").findall(act.output) or ["?"]
                self._commits += ["pushed"] if verb[1] != "commit" else [program.text]
            if stash := sign("stash").match(program.text):
                self._stashed = not stash["back"]
            gone |= taken_back(program, self._files, self._commits)
            # A quiet commit has no digest in the log: the revert names its title.
            title = sign("reverted").search(act.output)
            if title and any(title[1] in commit for commit in self._commits):
                gone |= self._files
        if gone:
            self._forget("work was taken back after the tests ran")
            self._gone = self._gone or gone == self._files
            if (self._spoke or act.by_user) and gone == self._files:
                self.favour = []
                self._add(_claim("revert", "fail", act.text, act, self._spans))
        elif (run := test_run(act, self.asked)) and not (self._gone or self._stashed):
            if not self._concerns(run):
                self.void = self.void or "its tests are of something else than the work"
                return
            claim = run.verdict != "unclear" and _claim(
                "tests", run.verdict, run.quote, act, self._spans
            )
            self.tests.append((run, claim or None))
            self.void, self._broken = "", None
        elif any(builds().match(program.bare) for program in programs):
            errors = runners("fail").search(act.output)
            self._broken = errors and _claim("tests", "fail", errors[0].strip(), act, self._spans)

    def _concerns(self, run: TestRun) -> bool:
        """Return True if a run's tests are tests of the work, or that cannot be told."""
        folder, files = run.folder, " ".join(self._files)
        scope = " ".join(map(" ".join, sign("scope").findall(run.command)))
        words, subject = sign("subject").findall(scope), f"{files} {self.asked}".casefold()
        if words and "" not in self._files and not any(w.casefold() in subject for w in words):
            return False
        inner = str(folder).removeprefix(self._root) if within(str(folder), self._root) else ""
        beside = not self._files or sign("beside").search(f"{inner}/")
        return bool(beside) or any(near(folder, file) for file in self._files)

    def _forget(self, reason: str) -> None:
        if self.tests:
            self.tests, self.void = [], reason

    def _add(self, claim: Claim | None) -> None:
        if claim is not None:
            (self.favour if claim.verdict == "pass" else self.against).append(claim)


def _claim(
    sign: Sign, verdict: Literal["pass", "fail"], quote: str, act: Act, spans: Spans
) -> Claim | None:
    """The claim with its place; None where the file does not hold the quote."""
    words = until_secret(quote)
    line = spans.line_of(words, act.keys)
    if line is None:
        return None
    file = str(spans.path)
    return Claim(sign=sign, verdict=verdict, quote=words, file=file, line=line, step=act.step)
