"""The values of learning from session logs."""

from __future__ import annotations

from typing import Literal

from harness.core import Value

Verdict = Literal["pass", "fail", "unknown"]
Sign = Literal["tests", "revert", "correction", "undo", "interrupt", "thanks", "approval"]


class Claim(Value):
    """One thing that the log shows, and where anyone can read it.

    Attributes:
        sign: what kind of evidence it is.
        verdict: what it speaks for.
        quote: text of the log, without terminal colours; it stands in `line` of `file`.
        file: the session file.
        line: in `file`, from 1; records of a store are counted the same way.
        step: of the trajectory.
    """

    sign: Sign
    verdict: Literal["pass", "fail"]
    quote: str
    file: str
    line: int
    step: int

    def __str__(self) -> str:
        return f"{self.verdict} by {self.sign}: {self.quote!r} ({self.file}:{self.line})"


class Outcome(Value):
    """How a session ended, as far as its log decides.

    Attributes:
        verdict: pass, fail or unknown.
        reason: why, in one sentence.
        claims: what the verdict rests on; where they contradict each other, what does.
    """

    verdict: Verdict
    reason: str
    claims: tuple[Claim, ...] = ()
