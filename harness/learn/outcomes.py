"""How a session ended: rules on what its log says, and nothing where the log does not decide.

What counts is what came behind the last edit: the last verdict of the tests, and what the user
did or said. Signs that contradict each other decide nothing. A sign whose quote cannot be found
in the file is no sign. Tests say nothing of work that was taken back after they ran, and their
passing says nothing where what they demand was edited away, or where a run left some of them out.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from harness.core import Trajectory
from harness.core.redaction import until_secret
from harness.learn.acts import Act, acts
from harness.learn.session_logs import Spans
from harness.learn.signs import (
    TestRun,
    excuses_failures,
    is_test_file,
    saying,
    stashes,
    takes_back,
    takes_on,
    test_run,
    weakens_tests,
)
from harness.learn.types import Claim, Outcome, Sign

_PROSE = {".md", ".rst", ".txt", ".log", ".adoc"}
"""Edits of such files leave a verdict of the tests as it is."""
_REASONS: dict[Sign, str] = {
    "tests": "the tests decide",
    "revert": "the work was taken back",
    "correction": "the user corrected the work",
    "undo": "the user had the work taken back",
    "interrupt": "the user stopped the agent, and nothing came after it",
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
    if undone := _undone(history, edits, spans):
        return undone
    signs = _Signs(history, (real or edits or [-1])[-1] + 1, spans)
    # The tests' last verdict, unless another command failed and never passed, or it is unclear.
    tested = signs.tests[-1][1] if real and signs.tests else None
    if tested is not None and tested.verdict == "pass":
        last = {run.command: claim for run, claim in signs.tests}  # of each command, its last run
        if any(claim is None or claim.verdict != "pass" for claim in last.values()):
            tested = None
        elif _weakened(history):
            tested, signs.void = None, "what the tests demand was edited away"
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


def _undone(history: list[Act], edits: list[int], spans: Spans) -> Outcome | None:
    """A fail where the user's last word takes the work back, whatever edits carry that out."""
    words = [index for index, act in enumerate(history) if act.kind == "user"]
    if len(words) < 2 or not any(index < words[-1] for index in edits):
        return None
    last = history[words[-1]]
    word = saying(last.text)
    if word is None or word.saying != "undo":
        return None
    claim = _claim("undo", "fail", word.quote, last, spans)
    ended = any(test_run(act) for act in history[words[-1] :] if act.kind == "command")
    if claim is None or ended:
        return None
    return Outcome(verdict="fail", reason=_REASONS["undo"], claims=(claim,))


def _weakened(history: list[Act]) -> bool:
    """Whether an edit takes away what tests demand, as far as the log shows it."""
    failed = False
    for act in history:
        if act.kind == "edit" and weakens_tests(act, failed):
            return True
        run = test_run(act) if act.kind == "command" else None
        failed = failed or (run is not None and run.verdict == "fail")
    return False


class _Signs:
    """What was seen behind the last edit, in order; `void` says why tests do not count.

    Args:
        history: everything that was done.
        start: of what stands behind the last edit.
        spans: of the log.
    """

    def __init__(self, history: list[Act], start: int, spans: Spans) -> None:
        self.favour: list[Claim] = []
        self.against: list[Claim] = []
        self.tests: list[tuple[TestRun, Claim | None]] = []
        self.void = ""
        self._spans = spans
        before = history[:start]
        self._files = [path for act in before if act.kind == "edit" for path in act.paths]
        self._edited = any(act.kind == "edit" for act in before)
        self._worked = any(_works(act) for act in before)
        self._spoke = False
        self._asked = next((a.text[-1:] == "?" for a in reversed(before) if a.kind == "say"), False)
        self._approval: Claim | None = None
        self._gone = self._stashed = False
        for index, act in enumerate(history[start:], start=start):
            self._worked = self._worked or _works(act)
            if act.kind == "say":
                self._asked = act.text.endswith("?")
            elif act.kind == "user":
                self._said(act)
            elif act.kind == "command":
                self._ran(act)
            elif act.kind == "interrupt" and all(a.kind == act.kind for a in history[index:]):
                quote = act.text if act.text.startswith("[") else "turn_aborted"
                self._add(_claim("interrupt", "fail", quote, act, spans))
        if self._stashed:
            self._forget("the work was stashed")

    def _said(self, act: Act) -> None:
        word = saying(act.text, self._asked) if self._worked else None
        self._spoke = self._spoke or self._worked
        if excuses_failures(act.text) and any(run.verdict == "fail" for run, _ in self.tests):
            self._forget("the user knows of the failures")
        good = word is not None and word.saying in ("thanks", "approval")
        if word is None or good:
            # Who continues without a word of it may have seen that nothing was wrong.
            withdrawn = [claim for claim in self.against if claim.sign == "correction"]
            self.against = [claim for claim in self.against if claim.sign != "correction"]
            if word is None or withdrawn:
                return
        claim = _claim(word.saying, "pass" if good else "fail", word.quote, act, self._spans)
        if word.saying == "approval":
            self._approval = claim  # counts once it was carried out
        else:
            self._add(claim)

    def _ran(self, act: Act) -> None:
        went_well = act.exit_code in (0, None)
        if self._edited and went_well and takes_on(act.text):
            own = _claim("approval", "pass", act.text, act, self._spans) if act.by_user else None
            self._add(own or self._approval)
            self._approval = None
        if went_well and (stashed := stashes(act.text)) is not None:
            self._stashed = stashed
        if self._edited and went_well and takes_back(act.text, self._files, every=False):
            self._forget("work was taken back after the tests ran")
            self._gone = self._gone or takes_back(act.text, self._files)
            if (self._spoke or act.by_user) and takes_back(act.text, self._files):
                self._add(_claim("revert", "fail", act.text, act, self._spans))
        elif (run := test_run(act)) and not (self._gone or self._stashed):
            verdict = "pass" if run.verdict == "pass" else "fail"
            claim = _claim("tests", verdict, run.quote, act, self._spans)
            self.tests.append((run, None if run.verdict == "unclear" else claim))
            self.void = ""

    def _forget(self, reason: str) -> None:
        if self.tests:
            self.tests, self.void = [], reason

    def _add(self, claim: Claim | None) -> None:
        if claim is not None:
            (self.favour if claim.verdict == "pass" else self.against).append(claim)


def _works(act: Act) -> bool:
    """Whether the agent did something, so that there is work to speak of."""
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
