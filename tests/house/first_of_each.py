"""pytest -p tests.house.first_of_each: the first test of every file alone."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all others."""
    first: dict[Path, pytest.Item] = {}
    for item in items:
        first.setdefault(item.path, item)
    config.hook.pytest_deselected(items=[item for item in items if first[item.path] is not item])
    items[:] = first.values()
