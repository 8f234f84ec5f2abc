"""Premise verification: are the things that a solution claims to see really in the image? (EVPV)

image ──► extract ──► constraints ─┐
solution in steps ──► premises ──► audit ──► reliability p
                 └──► judge ──► step scores ──► gate(p) ──► aggregate ──► best of N
"""

from __future__ import annotations

from harness.check.premises.aggregate import AGGREGATORS, Aggregator
from harness.check.premises.corrupting import Corruption, corrupt, flipped
from harness.check.premises.gating import gate, reliability
from harness.check.premises.reading import (
    read_audit,
    read_constraints,
    read_judgement,
    read_solution,
)
from harness.check.premises.rules import audit_by_rules, contradiction
from harness.check.premises.types import Constraints, Finding, Severity, Solution, Step, Verified
from harness.check.premises.verifying import (
    audit,
    best_of,
    extract_constraints,
    judge_steps,
    solution_score,
    verified,
    verify,
)

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "Constraints",
    "Corruption",
    "Finding",
    "Severity",
    "Solution",
    "Step",
    "Verified",
    "audit",
    "audit_by_rules",
    "best_of",
    "contradiction",
    "corrupt",
    "extract_constraints",
    "flipped",
    "gate",
    "judge_steps",
    "read_audit",
    "read_constraints",
    "read_judgement",
    "read_solution",
    "reliability",
    "solution_score",
    "verified",
    "verify",
]
