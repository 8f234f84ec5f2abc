"""Outcomes of sessions: rules on what the log says, and nothing where it does not decide.

What counts is what came behind the last edit: the last verdict of the tests, and what the user
did or said. Signs that contradict each other decide nothing. A sign whose quote cannot be found
in the file is no sign. Tests say nothing of work that was taken back after they ran. Their passing
says nothing where what they demand was edited away, where a run left some of them out or was of
another folder than the work, and where the user complains after it: his last plain word counts.
"""

from __future__ import annotations

import re
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
from harness.learn.tables import sign
from harness.learn.types import Claim, Outcome, Sign

_PROSE = {".md", ".rst", ".txt", ".log", ".adoc"}
"""Edits of such files leave a verdict of the tests as it is."""
_REASONS: dict[Sign, str] = {
    "tests": "the tests decide",
    "revert": "the work was taken back",
    "correction": "the user corrected the work",
    "undo": "the user had the work taken back",
    "thanks": "the user was content",
    "approval": "the user had the work committed or merged",
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
        last = {run.command: claim for run, claim in signs.tests}  # of each command, its last run
        if any(claim is None or claim.verdict != "pass" for claim in last.values()):
            tested = None
        elif _weakened(history):
            tested, signs.void = None, "what the tests demand was edited away"
        elif signs.flaky:
            tested, signs.void = None, "the same tests failed and passed, and nothing was changed"
    elif tested is not None and any(
        sign("expected_red").search(act.text) for act in history if act.kind == "user"
    ):
        tested, signs.void = None, "the user said before that tests fail"
    claims = (*signs.favour, *signs.against, *([tested] if tested else []))
    if len({claim.verdict for claim in claims}) > 1:
        return Outcome(verdict="unknown", reason="the signs contradict each other", claims=claims)
    for claim in (*signs.against[-1:], *signs.favour[-1:]):
        return Outcome(verdict=claim.verdict, reason=_REASONS[claim.sign], claims=claims)
    if tested is not None:
        ended = "passed" if tested.verdict == "pass" else "failed"
        reason = f"the tests {ended} behind the last edit"
        return Outcome(verdict=tested.verdict, reason=reason, claims=claims)
    if signs.void:
        reason = signs.void
    elif signs.tests:
        reason = "the tests behind the last edit decide nothing"
    else:
        reason = "nothing behind the last edit says how it went" if real else "nothing was judged"
    return Outcome(verdict="unknown", reason=reason)


def _weakened(history: list[Act]) -> bool:
    """Return True if an edit takes away what tests demand, as far as the log shows it."""
    failed = False
    for act in history:
        if act.kind == "edit" and weakens_tests(act, failed):
            return True
        run = test_run(act)
        failed = failed or (run is not None and run.verdict == "fail")
    return False


class _Signs:
    """Signs seen behind the last edit, in order; `void` says why tests do not count.

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
        self.flaky = False
        self._red = ""
        self._spans, self._root = spans, root
        before = history[:start]
        self._files = {path for act in before if act.kind == "edit" for path in act.paths or ("",)}
        self._worked = any(_works(act) for act in before)
        self._spoke = self._gone = self._stashed = False
        self._question = next((a.text for a in reversed(before) if a.kind == "say"), "")
        self._approval: Claim | None = None
        self._commits: list[str] = []
        for index, act in enumerate(history[start:], start=start):
            self._worked = self._worked or _works(act)
            if act.kind == "say":
                self._question = act.text
            elif act.kind == "user":
                self._said(act)
            elif act.kind == "command":
                self._ran(act)
            elif act.kind == "interrupt" and all(a.kind == act.kind for a in history[index:]):
                self.favour, self.tests = [], []
                self.void = "the user stopped the agent, and nothing came after it"
        if self._stashed:
            self._forget("the work was stashed")

    def _said(self, act: Act) -> None:
        question = act.output or self._question
        asks = "?" in question[-200:]
        word = saying(act.text, question if asks else "") if self._worked else None
        self._spoke = self._spoke or self._worked
        passed = bool(self.tests) and self.tests[-1][0].verdict == "pass"
        if sign("known").search(act.text[:LOOKED_AT]) and any(
            run.verdict == "fail" for run, _ in self.tests
        ):
            self._forget("the user knows of the failures")
        good = word is not None and word[0] in ("thanks", "approval")
        if word is None or good:
            # Who continues without a word of it may have seen that nothing was wrong.
            withdrawn = [claim for claim in self.against if claim.sign == "correction"]
            self.against = [claim for claim in self.against if claim.sign != "correction"]
            harmless = sign("hypothetical").sub("", sign("neutral").sub("", act.text))
            understood = good or sign("request").search(act.text)
            if passed and not understood and sign("filler").sub("", harmless):
                self._forget("the user said something after the tests that no rule reads")
            if word is None or withdrawn:
                return
        elif passed or word[0] != "doubt":
            self.favour = []
        if passed and not good:
            self._forget(f"after the tests, the user was not content: {until_secret(word[1])!r}")
        if word[0] == "doubt":
            return
        claim = _claim(word[0], "pass" if good else "fail", word[1], act, self._spans)
        if word[0] == "approval":
            self._approval = claim  # counts once it was carried out
        else:
            self._add(claim)

    def _ran(self, act: Act) -> None:
        gone: set[str] = set()
        red = ""
        for program in parse(act.text, act.folder).programs if act.exit_code in (0, None) else ():
            refused = sign("not_kept").search(act.output)
            if (verb := sign("kept").match(program.text)) and self._files and not refused:
                meant = act.by_user and not re.search(r"\bwip\b", act.text, re.I)
                own = _claim("approval", "pass", act.text, act, self._spans) if meant else None
                self._add(own or self._approval)
                self._approval = None
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
        elif (run := test_run(act)) and not (self._gone or self._stashed):
            if not self._concerns(run):
                self.void = self.void or "its tests are of another folder than the work"
                return
            verdict = "pass" if run.verdict == "pass" else "fail"
            claim = _claim("tests", verdict, run.quote, act, self._spans)
            self.tests.append((run, None if run.verdict == "unclear" else claim))
            self.void = ""
            self.flaky = run.verdict == "pass" and self._red == run.command
            red = run.command if run.verdict == "fail" else ""
        self._red = red

    def _concerns(self, run: TestRun) -> bool:
        """Return True if a run's tests are tests of the work, or that cannot be told."""
        folder, package = run.folder, sign("package").search(run.command)
        if package and "" not in self._files:
            name = str(next(filter(None, package.groups()))).rstrip("/.*'\"").rpartition("/")[2]
            parts = {part for file in self._files for part in PurePosixPath(file).parts}
            if not any(len(p) > 1 and (p in name or name in p) for p in parts):
                return False
        if not self._root or "" in self._files or within(self._root, folder):
            return True
        inner = str(folder).removeprefix(self._root) if within(str(folder), self._root) else ""
        return any(near(folder, file) for file in self._files) or bool(
            sign("beside").search(f"{inner}/")
        )

    def _forget(self, reason: str) -> None:
        if self.tests:
            self.tests, self.void = [], reason

    def _add(self, claim: Claim | None) -> None:
        if claim is not None:
            (self.favour if claim.verdict == "pass" else self.against).append(claim)


def _works(act: Act) -> bool:
    """Return True if the agent did something, so that there is work to speak of."""
    return act.kind in ("say", "command", "edit") and not act.by_user


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
