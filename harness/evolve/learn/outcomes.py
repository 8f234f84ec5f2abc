"""How a session ended: rules on what its log says, and nothing where the log does not decide.

What counts is what came behind the last edit: the last verdict of the tests, and what the user
did or said. Signs that contradict each other decide nothing. A sign whose quote cannot be found
in the file is no sign.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from harness.core import Trajectory
from harness.evolve.learn.acts import Act, acts
from harness.evolve.learn.redaction import speakable
from harness.evolve.learn.reverting import takes_back, takes_on
from harness.evolve.learn.sayings import Saying, saying
from harness.evolve.learn.spans import Spans
from harness.evolve.learn.testing import TestRun, test_run
from harness.evolve.learn.types import Claim, Outcome, Sign

_PROSE = {".md", ".rst", ".txt", ".log", ".adoc"}
"""Edits of such files leave a verdict of the tests as it is."""
_SIGNS: dict[Saying, Sign] = {
    "undo": "undo",
    "correction": "correction",
    "thanks": "thanks",
    "approval": "approval",
}


@dataclass
class _Found:
    """What was seen behind the last edit, in order."""

    for_it: list[Claim] = field(default_factory=list[Claim])
    against: list[Claim] = field(default_factory=list[Claim])
    tests: list[tuple[TestRun, Claim | None]] = field(
        default_factory=list[tuple[TestRun, Claim | None]]
    )

    @property
    def said(self) -> list[Claim]:
        return [*self.for_it, *self.against]


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
    found = _signs(done, start, spans, edited=bool(edits))
    return _judged(found, edited=bool(real), later=bool(_last(edits) >= start))


def _last(edits: list[int]) -> int:
    return edits[-1] if edits else -1


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


def _signs(done: list[Act], start: int, spans: Spans, *, edited: bool) -> _Found:
    found = _Found()
    edited_files = [path for act in done[:start] if act.kind == "edit" for path in act.paths]
    worked = any(act.kind in ("say", "command", "edit") and not act.by_user for act in done[:start])
    approval: Claim | None = None
    spoke = False
    for at, act in enumerate(done[start:], start=start):
        if act.kind in ("say", "command", "edit") and not act.by_user:
            worked = True
        if act.kind == "user":
            said = saying(act.text) if worked else None
            spoke = spoke or worked
            if said is None:
                continue
            sign = _SIGNS[said.saying]
            good = said.saying in ("thanks", "approval")
            claim = _claim(sign, "pass" if good else "fail", said.quote, act, spans)
            if said.saying == "approval":
                approval = claim  # counts once it was carried out
            elif claim is not None:
                (found.for_it if good else found.against).append(claim)
        elif act.kind == "interrupt" and not _goes_on(done[at + 1 :]):
            quote = act.text if act.text.startswith("[") else "turn_aborted"
            _add(found.against, _claim("interrupt", "fail", quote, act, spans))
        elif act.kind == "command":
            if edited and takes_on(act.text) and act.exit_code in (0, None):
                own = _claim("approval", "pass", act.text, act, spans) if act.by_user else approval
                _add(found.for_it, own)
                approval = None
            if edited and (spoke or act.by_user) and takes_back(act.text, edited_files):
                if act.exit_code in (0, None):
                    _add(found.against, _claim("revert", "fail", act.text, act, spans))
            elif run := test_run(act):
                verdict = "pass" if run.verdict == "pass" else "fail"
                claim = _claim("tests", verdict, run.quote, act, spans)
                found.tests.append((run, claim if run.verdict != "unclear" else None))
    return found


def _add(claims: list[Claim], claim: Claim | None) -> None:
    if claim is not None:
        claims.append(claim)


def _goes_on(rest: list[Act]) -> bool:
    """Whether anybody did anything more."""
    return any(act.kind != "interrupt" for act in rest)


def _claim(sign: Sign, verdict: str, quote: str, act: Act, spans: Spans) -> Claim | None:
    """The claim with its place; None where the file does not hold the quote."""
    words = speakable(quote)
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


def _judged(found: _Found, *, edited: bool, later: bool) -> Outcome:
    tested = _tested(found.tests) if edited else None
    claims = tuple([*found.said, *([tested] if tested else [])])
    verdicts = {claim.verdict for claim in claims}
    if len(verdicts) > 1:
        return Outcome(verdict="unknown", reason="the signs contradict each other", claims=claims)
    if found.against:
        return Outcome(verdict="fail", reason=_reason(found.against[-1]), claims=claims)
    if found.for_it:
        return Outcome(verdict="pass", reason=_reason(found.for_it[-1]), claims=claims)
    if tested is not None:
        what = "passed" if tested.verdict == "pass" else "failed"
        since = " but for prose" if later else ""
        reason = f"the tests {what} behind the last edit{since}"
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
