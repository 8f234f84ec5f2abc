"""Values of premise verification (EVPV): steps with what they rest on, constraints, findings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.core import Value

Severity = Literal["high", "low"]
"""`high`: the claim cannot be true if the constraint is; `low`: they differ in a detail."""


class Step(Value):
    """One step of a solution.

    Attributes:
        text: what is said.
        premise: what it takes from the image, as one claim; None for a step that looks at nothing.
    """

    text: str
    premise: str | None = None


class Solution(Value):
    """A solution in steps, with its final answer."""

    steps: tuple[Step, ...] = Field(min_length=1)
    answer: str


class Constraints(Value):
    """What an image shows, as someone wrote it down who has seen no solution.

    Attributes:
        caption: one or two sentences.
        facts: what can be read off, one fact each.
        uncertain: what could not be made out.
    """

    caption: str = ""
    facts: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Caption and facts, without empty ones."""
        return tuple(line for line in (self.caption, *self.facts) if line.strip())


class Finding(Value):
    """A direct contradiction between a claim of a solution and a constraint.

    Attributes:
        step: number of the step, from 0.
        claim: the step's premise.
        constraint: what it contradicts.
        severity: how much.
    """

    step: int = Field(ge=0)
    claim: str
    constraint: str
    severity: Severity


class Verified(Value):
    """A verified solution.

    Attributes:
        solution: what was verified.
        findings: contradictions.
        reliability: p in [0, 1]; None where the verification is invalid.
        judged: score of every step before the gate, in {-1, 1}.
        gated: score of every step behind the gate.
        invalid: why there is no verdict, or None.
    """

    solution: Solution
    findings: tuple[Finding, ...] = ()
    reliability: float | None = Field(default=None, ge=0.0, le=1.0)
    judged: tuple[float, ...] = ()
    gated: tuple[float, ...] = ()
    invalid: str | None = None
