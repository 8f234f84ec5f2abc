"""Telemetry of a run in worker processes: as of the same run in one process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from harness.core.telemetry import telemetry
from harness.core.telemetry.spans import CAPTURE_VARIABLE
from tests.core.telemetry.collector import (
    Collected,
    attributes,
    collector,
    evaluated,
    tool_user,
)
from tests.core.telemetry.test_logs import lines
from tests.core.telemetry.test_metrics import scraped
from tests.models.http_server import Answer, error

pytestmark = pytest.mark.wing("fleet")


def faulty() -> Callable[[dict[str, Any]], Answer]:
    """Task 0 uses a tool, and its first request is turned down; task 1 is refused for good."""
    refused: list[object] = []

    def answer(body: dict[str, Any]) -> Answer:
        if " 1: what is" in str(body["messages"]):
            return error(400, "no such model")
        if not refused:
            refused.append(body)
            return error(500)
        return tool_user(body)

    return answer


def watched(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> dict[str, Any]:
    """Watch a run in three ways; leave out what tells the time, and ports."""
    folder.mkdir()
    log = folder / "log.jsonl"
    with collector() as collected:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.url)
        with telemetry(otel=True, metrics=0, log=log, level="debug") as url:
            assert url is not None
            report = evaluated(folder, faulty(), **settings)
            metrics = scraped(url)
        assert (report.passed, report.invalid) == (1, 1)
    return {
        "spans": sorted(_seen(collected, span) for span in collected.spans),
        "metrics": {k: v for k, v in metrics.items() if not _timed(k)},
        "log": sorted(json.dumps(_untimed(row), sort_keys=True) for row in lines(log)),
    }


def test_workers_are_seen_as_if_all_were_done_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv(CAPTURE_VARIABLE, "span_only")
    budget = {"budget_tokens": 10**6}  # replies need a bound: that is warned of
    here = watched(tmp_path / "here", monkeypatch, **budget)
    there = watched(tmp_path / "there", monkeypatch, workers=1, **budget)
    assert there["spans"] == here["spans"]
    assert there["metrics"] == here["metrics"]
    assert there["log"] == here["log"]
    # Not two empty pages: what was hard to bring over is there.
    assert sum("gen_ai.tool.call.result" in span for span in there["spans"]) == 1
    assert sum("BadInput" in span and "invoke_agent t1" in span for span in there["spans"]) == 1
    assert sum("harness.retry" in span for span in there["spans"]) == 1
    assert sum("retry" in row for row in there["log"]) == 1
    assert sum("max_tokens=4096 is sent" in row for row in there["log"]) == 1


def _seen(collected: Collected, span: Span) -> str:
    """Name, attributes, events and parent of a span; it lies within its parent."""
    told = attributes(span)
    parents = [one for one in collected.spans if one.span_id == span.parent_span_id]
    for parent in parents:
        assert parent.trace_id == span.trace_id
        assert parent.start_time_unix_nano <= span.start_time_unix_nano
        assert span.start_time_unix_nano <= span.end_time_unix_nano <= parent.end_time_unix_nano
    above = [f"{attributes(one)['gen_ai.operation.name']} {_sample(one)}" for one in parents]
    told.pop("server.port", None)
    events = [event.name for event in span.events]
    return json.dumps([span.name, span.kind, above, told, events, span.status.code], sort_keys=True)


def _sample(span: Span) -> str:
    return str(attributes(span)["gen_ai.conversation.id"]).partition("/")[2]


def _timed(name: str) -> bool:
    return any(end in name for end in ("_seconds_bucket", "_seconds_sum", "_created"))


def _untimed(row: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in row.items() if key not in ("time", "seconds", "port")}
