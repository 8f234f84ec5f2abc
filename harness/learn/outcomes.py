"""How a session ended: rules on what its log says, and nothing where the log does not decide.

What counts is what came behind the last edit: the last verdict of the tests, and what the user
did or said. Signs that contradict each other decide nothing. A sign whose quote cannot be found
in the file is no sign.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from harness.core import Trajectory
from harness.core.redaction import until_secret
from harness.learn.acts import Act, acts
from harness.learn.session_logs import Spans
from harness.learn.signs import TestRun, saying, takes_back, takes_on, test_run
from harness.learn.types import Claim, Outcome, Sign

_PROSE = {".md", ".rst", ".txt", ".log", ".adoc"}
"""Edits of such files leave a verdict of the tests as it is."""


def infer_outcome(trajectory: Trajectory, spans: Spans) -> Outcome:
    """The outcome of a session.

    Args:
        trajectory: the session as it was logged, not redacted.
        spans: of the file that it came from.
    """
    done = acts(trajectory)
    edits = [at for at, act in enumerate(done) if act.kind == "edit"]
    real = [at for at in edits if not _prose(done[at])]
    if undone := _undone(done, edits, spans):
        return undone
    start = (real or edits or [-1])[-1] + 1
    return _judged(_Signs(done, start, spans), edited=bool(real))


def _prose(act: Act) -> bool:
    return bool(act.paths) and all(PurePosixPath(one).suffix in _PROSE for one in act.paths)


def _undone(done: list[Act], edits: list[int], spans: Spans) -> Outcome | None:
    """A fail where the user's last word takes the work back, whatever edits carry that out."""
    words = [at for at, act in enumerate(done) if act.kind == "user"]
    if len(words) < 2 or not any(at < words[-1] for at in edits):
        return None
    said = saying(done[words[-1]].text)
    if said is None or said.saying != "undo":
        return None
    claim = _claim("undo", "fail", said.quote, done[words[-1]], spans)
    ended = any(test_run(act) for act in done[words[-1] :] if act.kind == "command")
    if claim is None or ended:
        return None
    return Outcome(verdict="fail", reason="the user had the work taken back", claims=(claim,))


class _Signs:
    """What was seen behind the last edit, in order.

    Args:
        done: everything that was done.
        start: of what stands behind the last edit.
        spans: of the log.
    """

    def __init__(self, done: list[Act], start: int, spans: Spans) -> None:
        self.for_it: list[Claim] = []
        self.against: list[Claim] = []
        self.tests: list[tuple[TestRun, Claim | None]] = []
        self._spans = spans
        before = done[:start]
        self._files = [path for act in before if act.kind == "edit" for path in act.paths]
        self._edited = any(act.kind == "edit" for act in before)
        self._worked = any(_works(act) for act in before)
        self._spoke = False
        self._asked = next((a.text[-1:] == "?" for a in reversed(before) if a.kind == "say"), False)
        self._approval: Claim | None = None
        for at, act in enumerate(done[start:], start=start):
            self._worked = self._worked or _works(act)
            if act.kind == "say":
                self._asked = act.text.endswith("?")
            elif act.kind == "user":
                self._said(act)
            elif act.kind == "command":
                self._ran(act)
            elif act.kind == "interrupt" and not _goes_on(done[at + 1 :]):
                quote = act.text if act.text.startswith("[") else "turn_aborted"
                self._add(self.against, _claim("interrupt", "fail", quote, act, spans))

    def _said(self, act: Act) -> None:
        said = saying(act.text, self._asked) if self._worked else None
        self._spoke = self._spoke or self._worked
        if said is None or said.saying in ("thanks", "approval"):
            # Who goes on without a word of it may have seen that nothing was wrong.
            withdrawn = [one for one in self.against if one.sign == "correction"]
            self.against = [one for one in self.against if one not in withdrawn]
            if said is None or withdrawn:
                return
        good = said.saying in ("thanks", "approval")
        claim = _claim(said.saying, "pass" if good else "fail", said.quote, act, self._spans)
        if said.saying == "approval":
            self._approval = claim  # counts once it was carried out
        else:
            self._add(self.for_it if good else self.against, claim)

    def _ran(self, act: Act) -> None:
        went_well = act.exit_code in (0, None)
        if self._edited and went_well and takes_on(act.text):
            own = _claim("approval", "pass", act.text, act, self._spans) if act.by_user else None
            self._add(self.for_it, own or self._approval)
            self._approval = None
        asked = self._spoke or act.by_user
        if self._edited and asked and went_well and takes_back(act.text, self._files):
            self._add(self.against, _claim("revert", "fail", act.text, act, self._spans))
        elif run := test_run(act):
            verdict = "pass" if run.verdict == "pass" else "fail"
            claim = _claim("tests", verdict, run.quote, act, self._spans)
            self.tests.append((run, None if run.verdict == "unclear" else claim))

    def _add(self, claims: list[Claim], claim: Claim | None) -> None:
        if claim is not None:
            claims.append(claim)


def _works(act: Act) -> bool:
    """Whether the agent did something, so that there is work to speak of."""
    return act.kind in ("say", "command", "edit") and not act.by_user


def _goes_on(rest: list[Act]) -> bool:
    """Whether anybody did anything more."""
    return any(act.kind != "interrupt" for act in rest)


def _claim(sign: Sign, verdict: str, quote: str, act: Act, spans: Spans) -> Claim | None:
    """The claim with its place; None where the file does not hold the quote."""
    words = until_secret(quote)
    line = spans.line_of(words, act.keys)
    if line is None:
        return None
    return Claim(
        sign=sign,
        verdict="pass" if verdict == "pass" else "fail",
        quote=words,
        file=str(spans.path),
        line=line,
        step=act.step,
    )


def _judged(found: _Signs, *, edited: bool) -> Outcome:
    tested = _tested(found.tests) if edited else None
    claims = (*found.for_it, *found.against)
    claims = (*claims, tested) if tested is not None else claims
    verdicts = {claim.verdict for claim in claims}
    if len(verdicts) > 1:
        return Outcome(verdict="unknown", reason="the signs contradict each other", claims=claims)
    if found.against:
        return Outcome(verdict="fail", reason=_reason(found.against[-1]), claims=claims)
    if found.for_it:
        return Outcome(verdict="pass", reason=_reason(found.for_it[-1]), claims=claims)
    if tested is not None:
        what = "passed" if tested.verdict == "pass" else "failed"
        reason = f"the tests {what} behind the last edit"
        return Outcome(verdict=tested.verdict, reason=reason, claims=claims)
    if found.tests:
        reason = "the tests behind the last edit decide nothing"
    else:
        reason = "nothing behind the last edit says how it went" if edited else "nothing was judged"
    return Outcome(verdict="unknown", reason=reason)


def _reason(claim: Claim) -> str:
    return {
        "tests": "the tests decide",
        "revert": "the work was taken back",
        "correction": "the user corrected the work",
        "undo": "the user had the work taken back",
        "interrupt": "the user stopped the agent, and nothing came after it",
        "thanks": "the user was content",
        "approval": "the user had the work committed or merged",
    }[claim.sign]


def _tested(runs: list[tuple[TestRun, Claim | None]]) -> Claim | None:
    """The last verdict, unless another command failed and never passed, or the last is unclear."""
    if not runs:
        return None
    last = {run.command: claim for run, claim in runs}  # of each command, its last run
    final = runs[-1][1]
    if final is None:
        return None
    others = [claim for claim in last.values() if claim is not final]
    if final.verdict == "pass" and any(one is None or one.verdict == "fail" for one in others):
        return None
    return final
