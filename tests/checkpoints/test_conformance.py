"""LangGraph's own suite for savers: base and extended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from harness.checkpoints import open_store

suite = pytest.importorskip("langgraph.checkpoint.conformance")
CAPABILITIES = {
    *("put", "put_writes", "get_tuple", "list", "delete_thread"),
    *("delete_for_runs", "copy_thread", "prune"),
}


def test_the_store_passes_langgraphs_conformance_suite(tmp_path: Path) -> None:
    files = iter(range(100))

    @suite.checkpointer_test(name="CheckpointStore")
    async def store() -> AsyncGenerator[BaseCheckpointSaver[int]]:
        with open_store(tmp_path / f"{next(files)}.sqlite") as saver:
            yield saver

    report = asyncio.run(suite.validate(store))

    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    tested = {name for name, result in report.results.items() if result.tests_passed}
    assert tested == CAPABILITIES
