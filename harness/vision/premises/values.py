"""Values of premise verification (EVPV), and how they are read from the roles' replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

from pydantic import Field

from harness.core import Value, listing, mapping
from harness.rag.check.blind import json_objects

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
    """Content of an image, as written down by someone who has seen no solution.

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
        findings: contradictions; of an invalid one, those that could be read.
        reliability: p in [0, 1]; None where the verification is invalid.
        judged: score of every step before the gate, in {-1, 1}; () where they cannot be read.
        gated: score of every step behind the gate.
        invalid: why there is no verdict, or None.
    """

    solution: Solution
    findings: tuple[Finding, ...] = ()
    reliability: float | None = Field(default=None, ge=0.0, le=1.0)
    judged: tuple[float, ...] = ()
    gated: tuple[float, ...] = ()
    invalid: str | None = None


def read_solution(reply: str) -> Solution | None:
    """The steps and the answer of a policy; None without a step or an answer."""
    for record in json_objects(reply):
        steps = [step for item in _items(record, "steps") if (step := _step(item)) is not None]
        answer = _text(record.get("answer"))
        if steps and answer:
            return Solution(steps=tuple(steps), answer=answer)
    return None


def _step(item: Any) -> Step | None:
    if isinstance(item, str):
        return Step(text=item) if item.strip() else None
    if not isinstance(item, dict):
        return None
    record = cast(dict[str, Any], item)
    text, seen = _text(record.get("text")), _text(record.get("seen"))
    if not text:
        return None
    blank = seen.lower().strip(". ") in ("", "none", "null", "no", "n/a", "-", "false")
    return Step(text=text, premise=None if blank else seen)


def read_constraints(reply: str) -> Constraints | None:
    """Read an extractor's reply; None without a caption and without a fact."""
    for record in json_objects(reply):
        caption, facts = _text(record.get("caption")), _texts(record, "facts")
        if caption or facts:
            return Constraints(caption=caption, facts=facts, uncertain=_texts(record, "uncertain"))
    return None


def read_audit(
    reply: str, step: int, claim: str, constraints: Sequence[str]
) -> list[Finding] | None:
    """The contradictions that an auditor names for one claim; None if the reply has no list.

    Args:
        reply: `{"contradictions": [{"constraint": number from 1, "severity": "high" | "low"}]}`.
        step: number of the claim's step.
        claim: the claim.
        constraints: the numbered lines that the auditor was shown; other numbers make the reply
            unreadable, for then it is unclear what was contradicted.
    """
    record = next((item for item in json_objects(reply) if "contradictions" in item), None)
    if record is None or not isinstance(record["contradictions"], list):
        return None
    findings: list[Finding] = []
    for item in _items(record, "contradictions"):
        entry = mapping(item)
        number, severity = entry.get("constraint"), _text(entry.get("severity")).lower()
        if not isinstance(number, int) or not 1 <= number <= len(constraints):
            return None
        if severity not in get_args(Severity):
            return None
        constraint = constraints[number - 1]
        findings.append(
            Finding(
                step=step, claim=claim, constraint=constraint, severity=cast(Severity, severity)
            )
        )
    return findings


def read_judgement(reply: str) -> float | None:
    """Read a judge's verdict on a step: 1 right, -1 wrong, None unreadable."""
    for record in json_objects(reply):
        verdict = _text(record.get("verdict")).lower()
        if verdict in ("right", "correct", "1"):
            return 1.0
        if verdict in ("wrong", "incorrect", "-1"):
            return -1.0
    return None


def _items(record: dict[str, Any], name: str) -> list[Any]:
    return listing(record.get(name))


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, _items(record, name))))


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value).strip()
