"""Back ends of the sandbox, for tests that try each of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.core import cache_root
from harness.sandbox import probe_backends


def available_backend(name: str) -> str:
    """The name of a back end; the test is skipped where there is no such back end."""
    report = next(report for report in probe_backends() if report.name == name)
    if not report.available:
        pytest.skip(f"sandbox back end {name}: {report.reason}")
    return name


def fresh_cache(folder: Path) -> str:
    """A cache with nothing but the verdicts on back ends, which take seconds to reach."""
    probe_backends()
    folder.mkdir(parents=True, exist_ok=True)
    for path in cache_root().glob("sandbox-*.json"):
        shutil.copy(path, folder)
    return str(folder)
