"""MARCH: what an answer claims, checked against documents by someone who has not read it."""

from __future__ import annotations

from harness.check.types import (
    Checked,
    Claim,
    ClaimType,
    Evidence,
    Finding,
    Outcome,
    PolicyName,
    Report,
    Verdict,
    Verifier,
)

__all__ = [
    "Checked",
    "Claim",
    "ClaimType",
    "Evidence",
    "Finding",
    "Outcome",
    "PolicyName",
    "Report",
    "Verdict",
    "Verifier",
]
