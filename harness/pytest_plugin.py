"""`against_baseline` runs a suite in a test; `--harness-debug` opens a debugger where one fails.

Both load what they need where they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.api import Comparison


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("harness")
    group.addoption(
        "--harness-debug",
        action="store_true",
        help="open the graph debugger at the node of a LangGraph graph that raises",
    )
    group.addoption(
        "--harness-baseline",
        action="store_true",
        help="write the results of `against_baseline` as the new baselines",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the debugger where it was asked for."""
    if not config.getoption("--harness-debug"):
        return
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--harness-debug needs the terminal: run without -n")
    from harness.debug.testing import Stops

    config.pluginmanager.register(Stops(config.pluginmanager), "harness-debug-stops")


@pytest.fixture
def against_baseline(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Comparison]:
    """Run a suite, and fail where it is worse than the baseline that lies in the repository.

    `against_baseline(suite, "triage.xml", margin=0.05, agent=triage, check=label, ...)`: the file
    is JUnit, as `harness eval --junit` writes it, and is written by `pytest --harness-baseline`;
    all else is as :func:`harness.api.evaluate` takes it. A task of the baseline that has no valid
    attempt any more counts as failed. Attempts of the baseline at the same task
    (`epochs=2`) tell how much a run changes by itself.
    """

    def compared(
        suite: Any, baseline: str | Path, margin: float = 0.05, **settings: Any
    ) -> Comparison:
        from harness.api import compare_runs, evaluate
        from harness.evals.formats.junit import write_junit

        run = evaluate(suite, out=tmp_path / "run", **settings).folder
        stored = Path(request.path.parent, baseline)
        if request.config.getoption("--harness-baseline"):
            write_junit([run], stored)
        elif not stored.is_file():
            missing = f"no baseline at {stored}: pytest --harness-baseline writes it"
            pytest.fail(missing, pytrace=False)
        result = compare_runs(stored, run)
        if reason := result.worse_by(margin):
            pytest.fail(f"{run.name} is {reason}\n{result}", pytrace=False)
        return result

    return compared
