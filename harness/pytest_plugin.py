"""`pytest --harness-debug`: only the option; the debugger is loaded where it is asked for."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("harness").addoption(
        "--harness-debug",
        action="store_true",
        help="open the graph debugger at the node of a LangGraph graph that raises",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the debugger where it was asked for."""
    if not config.getoption("--harness-debug"):
        return
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--harness-debug needs the terminal: run without -n")
    from harness.debug.testing import Stops

    config.pluginmanager.register(Stops(config.pluginmanager), "harness-debug-stops")
