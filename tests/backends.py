"""Back ends of the sandbox, for tests that try each of them."""

from __future__ import annotations

import pytest

from harness.sandbox import probe_backends


def available_backend(name: str) -> str:
    """The name of a back end; the test is skipped where there is no such back end."""
    report = next(report for report in probe_backends() if report.name == name)
    if not report.available:
        pytest.skip(f"sandbox back end {name}: {report.reason}")
    return name
