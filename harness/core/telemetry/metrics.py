"""Prometheus metrics of what this process does: attempts, calls, tokens, money, time.

Names follow the rules of Prometheus: base units, `_total` at the end of counters. Counters begin
at 0 with the process: what a resumed run had finished before is the gauge `harness_attempts_kept`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.core.signals import Operation

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

HOST = "127.0.0.1"
CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 600)
ATTEMPT_SECONDS = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1200, 3600)


class MetricsWatcher:
    """Counts operations in a registry of its own.

    Attributes:
        registry: to be served or read.
    """

    content = False

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry: CollectorRegistry = CollectorRegistry()
        to: dict[str, Any] = {"registry": self.registry}
        asked = ("model", "role")
        self._planned = Gauge("harness_attempts_planned", "Attempts of the run", **to)
        self._kept = Gauge("harness_attempts_kept", "Finished before this process began", **to)
        self._attempts = Counter("harness_attempts", "Attempts ended", ["outcome"], **to)
        self._attempts_now = Gauge("harness_attempts_in_flight", "Attempts under way", **to)
        self._attempt_seconds = Histogram(
            "harness_attempt_duration_seconds", "Of an attempt", buckets=ATTEMPT_SECONDS, **to
        )
        self._calls = Counter("harness_model_calls", "Model calls answered", asked, **to)
        self._errors = Counter("harness_model_errors", "Calls failed", [*asked, "error"], **to)
        self._calls_now = Gauge("harness_model_calls_in_flight", "Calls under way", **to)
        self._call_seconds = Histogram(
            "harness_model_call_duration_seconds",
            "Of a call that the endpoint answered, waiting and retries included",
            asked, buckets=CALL_SECONDS, **to,
        )  # fmt: skip
        self._hits = Counter(
            "harness_cache_hits", "Calls answered by the request cache", asked, **to
        )
        self._retries = Counter("harness_model_retries", "Requests sent again", ["error"], **to)
        self._tokens = Counter("harness_tokens", "Of endpoints' answers", [*asked, "type"], **to)
        self._cost = Counter("harness_cost_usd", "Paid, where the price is known", asked, **to)
        self._unpriced = Counter("harness_unpriced_calls", "Calls of unknown price", asked, **to)
        self._tools = Counter("harness_tool_calls", "Tool calls", ["tool", "failed"], **to)
        for outcome in ("pass", "fail", "invalid"):
            self._attempts.labels(outcome)

    def began(self, operation: Operation) -> None:
        """See :class:`harness.core.signals.Watcher`."""
        if operation.kind == "run":
            self._planned.set(operation.facts["planned"])
            self._kept.set(operation.facts["kept"])
        elif operation.kind == "invoke_agent":
            self._attempts_now.inc()
        elif operation.kind == "chat":
            self._calls_now.inc()

    def ended(self, operation: Operation) -> None:
        """See :class:`harness.core.signals.Watcher`."""
        if operation.kind == "invoke_agent":
            self._attempts_now.dec()
            if operation.error is None:
                self._attempts.labels(operation.facts.get("outcome", "invalid")).inc()
                self._attempt_seconds.observe(operation.seconds)
        elif operation.kind == "chat":
            self._calls_now.dec()
            self._called(operation)
        elif operation.kind == "execute_tool":
            self._tools.labels(operation.name, str(operation.error is not None).lower()).inc()

    def noted(self, name: str, operation: Operation | None, facts: dict[str, Any]) -> None:
        """See :class:`harness.core.signals.Watcher`."""
        if name == "retry":
            self._retries.labels(facts["error"]).inc()

    def _called(self, operation: Operation) -> None:
        facts = operation.facts
        asked = operation.name, facts["role"]
        if operation.error is not None:
            self._errors.labels(*asked, type(operation.error).__name__).inc()
            return
        self._calls.labels(*asked).inc()
        if facts["cached"]:
            self._hits.labels(*asked).inc()
            return
        self._call_seconds.labels(*asked).observe(operation.seconds)
        self._tokens.labels(*asked, "input").inc(facts["input_tokens"])
        self._tokens.labels(*asked, "output").inc(facts["output_tokens"])
        if facts["cost_usd"] is None:
            self._unpriced.labels(*asked).inc()
        else:
            self._cost.labels(*asked).inc(facts["cost_usd"])


@contextmanager
def served(watcher: MetricsWatcher, port: int) -> Generator[str]:
    """Serve a registry at the given port of 127.0.0.1 until the block ends; 0 is any free one.

    Yields:
        Its URL.

    Raises:
        BadInput: if the port is taken.
    """
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, addr=HOST, registry=watcher.registry)
    except OSError as error:
        raise BadInput(f"--metrics {port}: {error.strerror}; take another, or 0 for any") from error
    try:
        yield f"http://{HOST}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def metrics_watcher() -> MetricsWatcher:
    """A watcher that counts.

    Raises:
        BadInput: if prometheus_client is missing.
    """
    try:
        return MetricsWatcher()
    except ImportError as error:
        raise BadInput(
            "--metrics needs prometheus_client: pip install 'agent-skill-harness[otel]'"
        ) from error
