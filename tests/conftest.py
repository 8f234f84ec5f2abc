"""Fixtures that every room's tests share, and the rule that CI skips nothing unseen."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# The suite gives the same answer every time; `make fuzz` draws other examples, and many more.
settings.register_profile("suite", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("fuzz", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

REPOSITORY = Path(__file__).resolve().parent.parent
_skipped: list[tuple[str, str]] = []


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


def pytest_configure(config: pytest.Config) -> None:
    """Before several processes look for it at the same time: which sandboxes there are."""
    if getattr(config.option, "numprocesses", None):
        from harness.sandbox import probe_backends

        probe_backends()


def pytest_collection_finish() -> None:
    """Freeze what was imported: a collection of garbage takes a second to go over it."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the spine that uses a wing, where that wing was deleted from the tree."""
    for mark in item.iter_markers("wing"):
        for wing in mark.args:
            if not (REPOSITORY / "harness" / wing / "__init__.py").is_file():
                pytest.skip(f"the wing {wing} is not in the tree")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember every skip with its reason."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped.append((report.nodeid, reason.removeprefix("Skipped: ")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, fail on any skip that `allowed_skips.txt` does not list."""
    if os.environ.get("CI") != "true" or hasattr(session.config, "workerinput"):
        return
    unlisted = [skip for skip in _skipped if not _allowed(*skip)]
    for test, reason in unlisted:
        print(f"\nskip not in tests/allowed_skips.txt: {test} | {reason}")
    if unlisted and session.exitstatus == 0:
        session.exitstatus = 1


def _allowed(test: str, reason: str) -> bool:
    lines = (REPOSITORY / "tests" / "allowed_skips.txt").read_text().splitlines()
    rules = [line.split(" | ", 1) for line in lines if line.strip() and not line.startswith("#")]
    return any(test.startswith(rule[0]) and reason.startswith(rule[1]) for rule in rules)
