"""What an answer claims, span by span, and how much of what is checkable was asked about."""

from __future__ import annotations

from harness.check.claims.detect import Checkable, checkable, coverage
from harness.check.claims.extract import extract
from harness.check.claims.names import names
from harness.check.claims.questions import question_for

__all__ = ["Checkable", "checkable", "coverage", "extract", "names", "question_for"]
