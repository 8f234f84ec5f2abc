"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder beside the repository; skips where it is absent."""
    folder = Path(os.environ.get("HARNESS_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared data folder is absent")
    return folder
