"""Fixtures of the agents' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backends import fresh_cache


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A key, and one cache for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "test")
        patch.setenv("HARNESS_CACHE", fresh_cache(tmp_path_factory.mktemp("cache")))
        yield
