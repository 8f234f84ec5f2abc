"""Processor time that telemetry adds to an attempt of three model calls and three tool calls.

    python -m benchmarks.evals.telemetry_cost --out evals/results/telemetry_cost.json

Operations alone, without an agent: what they cost is what telemetry adds. Spans go through the
batch processor to an exporter that throws them away, so that no network is counted. The ways take
turns, five rounds of 400 attempts each; the median round counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.reports import Options, Result, benchmark, in_turn
from harness.core import tracing
from harness.core.telemetry.logs import log_watcher
from harness.core.telemetry.metrics import MetricsWatcher
from harness.core.telemetry.spans import SpanWatcher

ATTEMPTS, ROUNDS = 400, 5
WAYS = ("off", "metrics", "log info", "log debug", "spans")
ASKED: dict[str, Any] = {"call_id": "a" * 64, "role": "agent", "provider": "openai", "seed": 41}
ANSWERED: dict[str, Any] = {
    "input_tokens": 10, "output_tokens": 2, "provider_cached_tokens": 0, "cost_usd": 0.1,
    "cached": False, "finish_reason": "stop", "response_model": "x",
}  # fmt: skip


class Discarding(SpanExporter):
    """Throws spans away."""

    def export(self, spans: Any) -> SpanExportResult:
        """Take a batch."""
        del spans
        return SpanExportResult.SUCCESS


def attempt(name: str) -> None:
    """The operations of one attempt."""
    facts = {"sample": name, "task": name, "epoch": 0, "model": "openai/x"}
    with tracing.operation("invoke_agent", "graph:react", **facts) as agent_span:
        for _ in range(3):
            with tracing.operation("chat", "x", **ASKED) as chat:
                chat.add(**ANSWERED)
            with tracing.operation("execute_tool", "python", call_id="c"):
                pass
        agent_span.add(outcome="pass", score=1.0)


@contextmanager
def watched(way: str) -> Generator[None]:
    """Watch the block in one way."""
    with ExitStack() as stack:
        if way == "metrics":
            stack.enter_context(tracing.watching(MetricsWatcher()))
        elif way.startswith("log"):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            log = log_watcher(Path(folder) / "log.jsonl", way.removeprefix("log "))
            stack.enter_context(tracing.watching(stack.enter_context(log)))
        elif way == "spans":
            provider = TracerProvider()
            provider.add_span_processor(BatchSpanProcessor(Discarding()))
            stack.callback(provider.shutdown)
            watcher = SpanWatcher(provider.get_tracer("benchmark"))
            stack.enter_context(tracing.watching(watcher))
        yield


def attempts(way: str) -> None:
    """A round of attempts, watched in one way."""
    with watched(way):
        for number in range(ATTEMPTS):
            attempt(f"t{number}")


@benchmark(out=Path("evals/results/telemetry_cost.json"))
def main(_: Options) -> Result:
    """Measure every way in turn."""
    seconds = in_turn({way: partial(attempts, way) for way in WAYS}, ROUNDS, warm=0)
    figures = {way: round(1000 * median(times) / ATTEMPTS, 4) for way, times in seconds.items()}
    return {"CPU milliseconds an attempt": figures}
