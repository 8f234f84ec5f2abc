"""Users' own agents: a loopback proxy that records, replays and compresses what they ask."""

from __future__ import annotations

from harness.record.context import Settings, parse_settings
from harness.record.recording import Recording
from harness.record.serve import shortening
from harness.record.session import Plan, Report, run
from harness.record.upstream import Upstream, find_upstream

__all__ = [
    "Plan",
    "Recording",
    "Report",
    "Settings",
    "Upstream",
    "find_upstream",
    "parse_settings",
    "run",
    "shortening",
]
