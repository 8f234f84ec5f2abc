"""Isolated execution of model-written code: a ladder of back ends, probed and limited."""

from harness.sandbox.ladder import PREFERRED, RungReport, ladder, preferred, select
from harness.sandbox.types import LimitHit, Limits, Result, Sandbox, SandboxUnavailable

__all__ = [
    "PREFERRED",
    "LimitHit",
    "Limits",
    "Result",
    "RungReport",
    "Sandbox",
    "SandboxUnavailable",
    "ladder",
    "preferred",
    "select",
]
