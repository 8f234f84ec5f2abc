"""Which parts of a skill help: units, randomised subsets, effects, receipts."""

from __future__ import annotations

from harness.receipts.cutting import cut
from harness.receipts.library import LibraryReport, check_library
from harness.receipts.prune import Pruned, prune_skill
from harness.receipts.receipt import Receipt, receipt_schema
from harness.receipts.session import Audited, plan_of, run_audit
from harness.receipts.settings import AuditSettings
from harness.receipts.units import Cut, Unit
from harness.receipts.verify import Verified, verify
from harness.skills import beside

__all__ = [
    "AuditSettings",
    "Audited",
    "Cut",
    "LibraryReport",
    "Pruned",
    "Receipt",
    "Unit",
    "Verified",
    "beside",
    "check_library",
    "cut",
    "plan_of",
    "prune_skill",
    "receipt_schema",
    "run_audit",
    "verify",
]
