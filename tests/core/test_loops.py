"""Which event loop work runs on."""

from __future__ import annotations

import asyncio
import sys

import pytest

from harness.core import loops


async def _kind() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_work_runs_on_uvloop_and_without_it_on_asyncios_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert loops.run(_kind()).startswith("uvloop")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loops.run(_kind()).startswith("asyncio")
