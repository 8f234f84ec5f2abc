"""MARCH: what an answer claims, checked against documents by someone who has not read it."""

from __future__ import annotations

from harness.rag.check.batch import BatchReport, Row, check_batch, read_batch
from harness.rag.check.blind.settings import CheckSettings
from harness.rag.check.checking import Documents, check
from harness.rag.check.claims import coverage, extract
from harness.rag.check.gathering import gather
from harness.rag.check.node import check_node, outcome
from harness.rag.check.output import as_junit, as_text, repair_text, write_html
from harness.rag.check.policies import Decision, decide
from harness.rag.check.repairs import Edit, Repair, repair, repair_answer
from harness.rag.check.types import (
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
from harness.rag.check.verifiers import open_verifier

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
