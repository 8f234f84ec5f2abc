"""The spreadsheet family."""

from __future__ import annotations

from harness.tasks.comparison import Comparison, Difference, compare_workbooks

__all__ = ["Comparison", "Difference", "compare_workbooks"]
