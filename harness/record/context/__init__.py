"""`--context compress`: large tool outputs shortened once, and a tool that gives them back."""

from __future__ import annotations

from harness.record.context.compressing import (
    Compressions,
    Kept,
    Settings,
    parse_settings,
)
from harness.record.context.sitting import Context, Sitting

__all__ = ["Compressions", "Context", "Kept", "Settings", "Sitting", "parse_settings"]
