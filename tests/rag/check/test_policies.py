"""Outcomes of verdicts under each policy."""

from __future__ import annotations

import pytest

from harness.rag.check import Checked, ClaimType, PolicyName, Verdict, decide


def claim(verdict: str, kind: ClaimType = "relation", confidence: float = 0.9) -> Checked:
    return Checked(
        text="x", type=kind, start=0, end=1, verdict=Verdict(verdict), evidence=(), reason="r",
        confidence=confidence,
    )  # fmt: skip


GOOD = [claim("SUPPORTED"), claim("DERIVED")]


@pytest.mark.parametrize(
    ("policy", "faults", "outcome"),
    [
        ("zero-tolerance", [], "PASS"),
        ("zero-tolerance", [claim("NOT_FOUND")], "FAIL"),
        ("zero-tolerance", [claim("CONTRADICTED")], "FAIL"),
        ("zero-tolerance", [claim("CONTRADICTED", confidence=0.5)], "REVIEW"),
        ("zero-tolerance", [claim("INVALID")], "REVIEW"),
        ("error-rate", [claim("NOT_FOUND")], "FAIL"),
        ("error-rate", [*GOOD * 5, claim("NOT_FOUND")], "PASS"),
        ("severity", [claim("NOT_FOUND")], "PASS"),
        ("severity", [claim("CONTRADICTED")], "REVIEW"),
        ("severity", [claim("CONTRADICTED", "number")], "FAIL"),
        ("severity", [claim("NOT_FOUND")] * 4, "FAIL"),
        ("review-on-single", [claim("NOT_FOUND")], "PASS"),
        ("review-on-single", [claim("CONTRADICTED")], "REVIEW"),
        ("review-on-single", [claim("CONTRADICTED")] * 2, "FAIL"),
        ("review-on-single", [claim("CONTRADICTED", "comparison")], "FAIL"),
    ],
)
def test_policies(policy: PolicyName, faults: list[Checked], outcome: str) -> None:
    assert decide(policy, [*GOOD, *faults], 1.0)[0] == outcome


def test_nothing_answered_is_for_review() -> None:
    assert decide("review-on-single", [claim("NOT_FOUND")], 1.0)[0] == "REVIEW"


@pytest.mark.parametrize(
    "policy", ["zero-tolerance", "error-rate", "severity", "review-on-single"]
)  # fmt: skip
def test_under_every_policy(policy: PolicyName) -> None:
    assert decide(policy, [claim("INVALID")] * 2 + GOOD[:1], 1.0)[0] == "INVALID"
    assert decide(policy, [], 1.0)[0] == "REVIEW"
    outcome, reason = decide(policy, GOOD, 0.3)
    assert outcome == "FAIL"
    assert "30%" in reason
