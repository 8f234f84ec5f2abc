"""Repair: failing spans of an answer are rewritten, and it is checked again."""

from __future__ import annotations

from harness.check.repairs.loop import ROUNDS, Check, repair
from harness.check.repairs.running import repair_answer
from harness.check.repairs.types import Edit, Repair

__all__ = ["ROUNDS", "Check", "Edit", "Repair", "repair", "repair_answer"]
