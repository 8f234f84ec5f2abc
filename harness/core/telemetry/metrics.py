"""Prometheus metrics of what this process does: attempts, calls, tokens, money, time.

Names follow the rules of Prometheus: base units, `_total` at the end of counters. Counters begin
at 0 with the process: what a resumed run had finished before is the gauge `harness_attempts_kept`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness.core.errors import BadInput
from harness.core.plugins import install_command
from harness.core.tracing import Operation, Watcher

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600)
ATTEMPT_SECONDS = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1200, 3600)


class MetricsWatcher(Watcher):
    """Counts operations in a registry of its own.

    Attributes:
        registry: to be served or read.
    """

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry: CollectorRegistry = CollectorRegistry()
        common: dict[str, Any] = {"registry": self.registry}
        call = ("model", "role")
        self._planned = Gauge("harness_attempts_planned", "Attempts of the run", **common)
        self._kept = Gauge("harness_attempts_kept", "Finished before this process began", **common)
        self._attempts = Counter("harness_attempts", "Attempts ended", ["outcome"], **common)
        self._attempts_now = Gauge("harness_attempts_in_flight", "Attempts under way", **common)
        self._attempt_seconds = Histogram(
            "harness_attempt_duration_seconds", "Of an attempt", buckets=ATTEMPT_SECONDS, **common
        )
        self._calls = Counter("harness_model_calls", "Model calls answered", call, **common)
        self._errors = Counter("harness_model_errors", "Calls failed", [*call, "error"], **common)
        self._calls_now = Gauge("harness_model_calls_in_flight", "Calls under way", **common)
        self._call_seconds = Histogram(
            "harness_model_call_duration_seconds",
            "Of a call that the endpoint answered, waiting and retries included",
            call, buckets=CALL_SECONDS, **common,
        )  # fmt: skip
        self._hits = Counter(
            "harness_cache_hits", "Calls answered by the request cache", call, **common
        )
        self._retries = Counter("harness_model_retries", "Requests sent again", ["error"], **common)
        self._tokens = Counter("harness_tokens", "Of endpoints' answers", [*call, "type"], **common)
        self._cost = Counter("harness_cost_usd", "Paid, where the price is known", call, **common)
        self._unpriced = Counter("harness_unpriced_calls", "Calls of unknown price", call, **common)
        self._tools = Counter("harness_tool_calls", "Tool calls", ["tool", "failed"], **common)
        for outcome in ("pass", "fail", "invalid"):
            self._attempts.labels(outcome)

    def began(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind == "run":
            self._planned.set(operation.attributes["planned"])
            self._kept.set(operation.attributes["kept"])
        elif operation.kind == "invoke_agent":
            self._attempts_now.inc()
        elif operation.kind == "chat":
            self._calls_now.inc()

    def ended(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind == "invoke_agent":
            self._attempts_now.dec()
            if operation.error is None:
                self._attempts.labels(operation.attributes.get("outcome", "invalid")).inc()
                self._attempt_seconds.observe(operation.seconds)
        elif operation.kind == "chat":
            self._calls_now.dec()
            self._count_call(operation)
        elif operation.kind == "execute_tool":
            self._tools.labels(operation.name, str(operation.error is not None).lower()).inc()

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if name == "retry":
            self._retries.labels(attributes["error"]).inc()

    def _count_call(self, operation: Operation) -> None:
        attributes = operation.attributes
        labels = operation.name, attributes["role"]
        if operation.error is not None:
            self._errors.labels(*labels, type(operation.error).__name__).inc()
            return
        self._calls.labels(*labels).inc()
        if attributes["cached"]:
            self._hits.labels(*labels).inc()
            return
        self._call_seconds.labels(*labels).observe(operation.seconds)
        self._tokens.labels(*labels, "input").inc(attributes["input_tokens"])
        self._tokens.labels(*labels, "output").inc(attributes["output_tokens"])
        if attributes["cost_usd"] is None:
            self._unpriced.labels(*labels).inc()
        else:
            self._cost.labels(*labels).inc(attributes["cost_usd"])


@contextmanager
def served(port: int) -> Generator[tuple[str, MetricsWatcher]]:
    """Serve metrics at the given port of 127.0.0.1 until the block ends; 0 is any free one.

    Yields:
        Their URL, and what counts them.

    Raises:
        BadInput: if prometheus_client is missing or the port is taken.
    """
    try:
        from prometheus_client import start_http_server
    except ImportError as error:
        raise BadInput(f"--metrics needs prometheus_client: {install_command('otel')}") from error
    watcher = MetricsWatcher()
    try:
        server, thread = start_http_server(port, addr="127.0.0.1", registry=watcher.registry)
    except OSError as error:
        raise BadInput(f"--metrics {port}: {error.strerror}; take another, or 0 for any") from error
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics", watcher
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
