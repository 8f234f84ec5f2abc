"""Choice of watchers for a command or a program."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.core.errors import BadInput
from harness.core.terminal import printable
from harness.core.tracing import watching


@contextmanager
def telemetry(
    *,
    otel: bool = False,
    metrics: int | None = None,
    log: Path | None = None,
    level: str | None = None,
) -> Generator[str | None]:
    """Watch what is done until the block ends.

    Args:
        otel: send spans to where the standard variables of OpenTelemetry say.
        metrics: port of 127.0.0.1 at which Prometheus finds the metrics; 0 is any free one.
        log: file that gets one JSON object a line.
        level: least level of the log: debug, info, warning or error; default HARNESS_LOG_LEVEL,
            else info.

    Yields:
        URL of the metrics, if they are served.

    Raises:
        BadInput: for a package that is missing, a port that is taken, a file that cannot be
            written.
    """
    url: str | None = None
    with ExitStack() as stack:
        if log is not None:
            from harness.core.telemetry.logs import log_watcher

            log_level = (level or os.environ.get("HARNESS_LOG_LEVEL") or "info").lower()
            stack.enter_context(watching(stack.enter_context(log_watcher(log, log_level))))
        if otel:
            from harness.core.telemetry.spans import span_watcher

            stack.enter_context(watching(stack.enter_context(span_watcher())))
        if metrics is not None:
            from harness.core.telemetry.metrics import served

            url, watcher = stack.enter_context(served(metrics))
            stack.enter_context(watching(watcher))
        yield url


@contextmanager
def telemetry_by_variables() -> Generator[None]:
    """Set up the watchers that HARNESS_LOG and the standard variables of OpenTelemetry ask for.

    Those of OpenTelemetry are often set for a whole machine: where they cannot be followed, a line
    on stderr says so, and the work continues.

    Raises:
        BadInput: if the log cannot be written.
    """
    log = os.environ.get("HARNESS_LOG")
    with telemetry(log=Path(log) if log else None), ExitStack() as stack:
        if spans_asked(os.environ):
            try:
                stack.enter_context(telemetry(otel=True))
            except BadInput as error:
                print(printable(f"no spans are sent: {error}"), file=sys.stderr)
        yield


def spans_asked(environment: Mapping[str, str]) -> bool:
    """Return True if the standard variables of OpenTelemetry ask for traces."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter:
        return exporter != "none"
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return any(environment.get(name) for name in names)
