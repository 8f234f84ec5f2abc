"""Which parts of a skill help: units, randomised subsets, effects, receipts."""

from __future__ import annotations

from harness.evolve.audit.cutting import cut
from harness.evolve.audit.library import LibraryReport, check_library
from harness.evolve.audit.prune import Pruned, prune_skill
from harness.evolve.audit.receipt import Receipt, receipt_schema
from harness.evolve.audit.session import Audited, plan_of, run_audit
from harness.evolve.audit.settings import AuditSettings
from harness.evolve.audit.units import Cut, Unit
from harness.evolve.audit.verify import Verified, verify
from harness.skills.receipts import beside

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
