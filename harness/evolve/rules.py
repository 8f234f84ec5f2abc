"""Merged rules with their evidence: lessons, quotes, how these go with failure, and what running
showed of what they say of code.
"""

from __future__ import annotations

from typing import Literal

from harness.core import Value


class Member(Value):
    """A lesson that a rule was made from: its wording, the runs that taught it, and its quotes."""

    wording: str
    sources: tuple[str, ...]
    quotes: tuple[str, ...] = ()


class Outcome(Value):
    """Frequency of a rule's evidence in failed and in passed runs to which the rule applies.

    Attributes:
        standing: `cause` (it explains failures that the rules taken before it leave open),
            `safeguard` (praise of what passed runs show more often than failed ones),
            `spurious correlate` (it explains none, though failed runs show it more often), `habit`
            (passed runs show it as often, or its lessons ask for what their runs did), `unclear`
            (too few runs to tell) or `not measured` (nothing is quoted, or no runs to compare).
        failed: failed tasks that show it, of `of_failed` to which the rule applies.
        passed: passed tasks that show it, of `of_passed`.
        alone: failed tasks that show it and no rule taken before it.
        order: place of a cause in the order in which they were taken, from 1; else 0.
        power: of a cause: chance that it makes a run fail.
        gain: of a cause: log likelihood that it adds to those taken before it, in nats.
    """

    standing: Literal[
        "cause", "safeguard", "unclear", "spurious correlate", "habit", "not measured"
    ] = "not measured"
    failed: int = 0
    passed: int = 0
    of_failed: int = 0
    of_passed: int = 0
    alone: int = 0
    order: int = 0
    power: float = 0.0
    gain: float = 0.0

    @property
    def idle(self) -> bool:
        """True if a rule that rests on it is not worth a line."""
        return self.standing in ("spurious correlate", "habit")

    def __str__(self) -> str:
        if self.standing == "not measured":
            return self.standing
        return (
            f"{self.standing}: in {self.failed} of {self.of_failed} failed and {self.passed} of "
            f"{self.of_passed} passed tasks to which it applies"
        )


class Rule(Value):
    """Merged rule with its evidence.

    Attributes:
        content: of its edit, by which it is found again.
        signs: what its lessons quote, without what belongs to one task.
        praise: whether its lessons say what passed runs did well, and blame nothing.
        related: whether a lesson asks for, or forbids, what its sign has a word of.
        quoted: whether its lessons quote anything; without signs they quote what they ask for.
        members: its lessons, the most central first.
        outcome: how its signs stand in failed and passed runs.
    """

    content: str
    signs: tuple[str, ...] = ()
    praise: bool = False
    quoted: bool = False
    related: bool = False
    members: tuple[Member, ...] = ()
    outcome: Outcome = Outcome()


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
        """Give the reason why the lesson is refuted, in one sentence."""
        stated = self.claim.subject if self.claim.asserted else f"not so: {self.claim.subject}"
        return f"running refutes what it takes for granted ({stated}): {self.printed}"


class ClaimCheck(Value):
    """The claims of a set of lessons.

    Attributes:
        results: in the order of the lessons.
        packages: versions that the claims were judged with.
        note: why no check was made, or most claims were not judged; else "".
    """

    results: tuple[ClaimResult, ...] = ()
    packages: dict[str, str] = {}
    note: str = ""

    def refuted(self) -> dict[int, ClaimResult]:
        """Number of a refuted lesson -> the first claim that is not so."""
        results = [result for result in self.results if result.verdict == "refuted"]
        return {result.lesson: result for result in reversed(results)}
