"""The values of checking claims: what a lesson says of code, and what running showed."""

from __future__ import annotations

from typing import Literal

from harness.core import Value


class Claim(Value):
    """A sentence of a lesson, and the program that judges what it claims of code.

    Attributes:
        sentence: of the lesson.
        subject: the statement that it is about.
        asserted: False where the sentence says the opposite.
        program: Python; sets `holds` for the statement.
        kind: `behaviour` and `name` (our programs), `code` (of the lesson), `analyst`.
    """

    sentence: str
    subject: str
    asserted: bool
    program: str
    kind: Literal["behaviour", "name", "code", "analyst"]


class ClaimResult(Value):
    """One claim after its program has run.

    Attributes:
        lesson: number of the lesson, among those that were checked together.
        content: wording of the lesson.
        sources: trajectories that it comes from.
        claim: what was claimed.
        verdict: `not judged` where the program could not run, or could not tell.
        printed: what it printed, and the error that ended it.
    """

    lesson: int
    content: str
    sources: tuple[str, ...]
    claim: Claim
    verdict: Literal["holds", "refuted", "not judged"]
    printed: str

    @property
    def reason(self) -> str:
        """Why the lesson is refuted, in one sentence."""
        stated = self.claim.subject if self.claim.asserted else f"not so: {self.claim.subject}"
        return f"running refutes what it takes for granted ({stated}): {self.printed}"


class ClaimCheck(Value):
    """The claims of a set of lessons.

    Attributes:
        results: in the order of the lessons.
        packages: versions that the claims were judged with.
        note: why no check was made, "" if one was.
    """

    results: tuple[ClaimResult, ...] = ()
    packages: dict[str, str] = {}
    note: str = ""

    def refuted(self) -> dict[int, ClaimResult]:
        """Number of a refuted lesson -> the first claim that is not so."""
        results = [result for result in self.results if result.verdict == "refuted"]
        return {result.lesson: result for result in reversed(results)}
