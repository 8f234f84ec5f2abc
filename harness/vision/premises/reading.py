"""Replies of the roles of premise verification, as values; None where a reply cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.rag.check.blind.replies import json_objects
from harness.vision.premises.types import Constraints, Finding, Severity, Solution, Step

_NOTHING = frozenset({"", "none", "null", "no", "n/a", "-", "false"})
_SEVERITIES: dict[str, Severity] = {"high": "high", "low": "low"}


def read_solution(reply: str) -> Solution | None:
    """The steps and the answer of a policy; None without a step or an answer."""
    for record in json_objects(reply):
        steps = [step for raw in _items(record, "steps") if (step := _step(raw)) is not None]
        answer = _text(record.get("answer"))
        if steps and answer:
            return Solution(steps=tuple(steps), answer=answer)
    return None


def read_constraints(reply: str) -> Constraints | None:
    """What an extractor saw; None without a caption and without a fact."""
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
    record = next((one for one in json_objects(reply) if "contradictions" in one), None)
    if record is None or not isinstance(record["contradictions"], list):
        return None
    found: list[Finding] = []
    for raw in _items(record, "contradictions"):
        if not isinstance(raw, dict):
            return None
        said: dict[str, Any] = raw  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
        number, severity = (
            said.get("constraint"),
            _SEVERITIES.get(_text(said.get("severity")).lower()),
        )
        if not isinstance(number, int) or not 1 <= number <= len(constraints) or severity is None:
            return None
        found.append(
            Finding(step=step, claim=claim, constraint=constraints[number - 1], severity=severity)
        )
    return found


def read_judgement(reply: str) -> float | None:
    """What a judge says of a step: 1 right, -1 wrong, None unreadable."""
    for record in json_objects(reply):
        said = _text(record.get("verdict")).lower()
        if said in ("right", "correct", "1"):
            return 1.0
        if said in ("wrong", "incorrect", "-1"):
            return -1.0
    return None


def _step(raw: Any) -> Step | None:
    if isinstance(raw, str):
        return Step(text=raw) if raw.strip() else None
    if not isinstance(raw, dict):
        return None
    record: dict[str, Any] = raw  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    text, seen = _text(record.get("text")), _text(record.get("seen"))
    if not text:
        return None
    return Step(text=text, premise=None if seen.lower().strip(". ") in _NOTHING else seen)


def _items(record: dict[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]  # parsed JSON


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(text for one in _items(record, name) if (text := _text(one)))


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value).strip()
