"""Fixtures of the agents' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A key, and one cache for all tests: probing the sandbox takes seconds in an empty one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "test")
        patch.setenv("HARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
