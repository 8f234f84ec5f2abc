"""MARCH: what an answer claims, checked against documents by someone who has not read it."""

from __future__ import annotations

from harness.check.batch import BatchReport, Row, check_batch, read_batch
from harness.check.blind.settings import CheckSettings
from harness.check.checking import Documents, check
from harness.check.claims import coverage, extract
from harness.check.gathering import gather
from harness.check.node import check_node, outcome
from harness.check.output import as_junit, as_text, repair_text, write_html
from harness.check.policies import Decision, decide
from harness.check.repairs import Edit, Repair, repair, repair_answer
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
from harness.check.verifiers import open_verifier

__all__ = [
    "BatchReport",
    "CheckSettings",
    "Checked",
    "Claim",
    "ClaimType",
    "Decision",
    "Documents",
    "Edit",
    "Evidence",
    "Finding",
    "Outcome",
    "PolicyName",
    "Repair",
    "Report",
    "Row",
    "Verdict",
    "Verifier",
    "as_junit",
    "as_text",
    "check",
    "check_batch",
    "check_node",
    "coverage",
    "decide",
    "extract",
    "gather",
    "open_verifier",
    "outcome",
    "read_batch",
    "repair",
    "repair_answer",
    "repair_text",
    "write_html",
]
