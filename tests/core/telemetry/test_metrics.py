"""Metrics as Prometheus reads them."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.core import BadInput, tracing
from harness.core.telemetry import telemetry
from tests.core.telemetry.collector import evaluated, tool_user
from tests.models.http_server import Answer, completion, error


def scraped(url: str) -> dict[str, float]:
    """Sample name with its labels -> value."""
    with urllib.request.urlopen(url) as response:
        assert response.headers["Content-Type"].startswith("text/plain")
        text = response.read().decode()
    families = list(text_string_to_metric_families(text))
    for family in families:
        assert family.documentation, family.name
        assert (
            family.type != "counter"
            or family.samples == []
            or any(sample.name.endswith("_total") for sample in family.samples)
        )
    return {
        ",".join(
            [sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))]
        ): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_run_is_counted(tmp_path: Path) -> None:
    with telemetry(metrics=0) as url:
        assert url is not None and url.startswith("http://127.0.0.1:")
        report = evaluated(tmp_path, tasks=3)
        found = scraped(url)
    asked = "model=scripted,role=agent"
    expected = {
        "harness_attempts_planned": 3,
        "harness_attempts_kept": 0,
        "harness_attempts_total,outcome=pass": 3,
        "harness_attempts_total,outcome=fail": 0,
        "harness_attempts_total,outcome=invalid": 0,
        "harness_attempts_in_flight": 0,
        "harness_attempt_duration_seconds_count": 3,
        f"harness_model_calls_total,{asked}": 6,
        "harness_model_calls_in_flight": 0,
        f"harness_tokens_total,{asked},type=input": 150,
        f"harness_tokens_total,{asked},type=output": 24,
        f"harness_unpriced_calls_total,{asked}": 6,
        "harness_tool_calls_total,failed=false,tool=python": 3,
    }
    assert {name: found[name] for name in expected} == expected
    assert report.passed == 3
    buckets = [name for name in found if name.startswith("harness_model_call_duration_seconds_b")]
    assert found[f"harness_model_call_duration_seconds_bucket,le=+Inf,{asked}"] == 6
    assert len(buckets) > 10


def test_what_is_under_way_is_seen_while_it_is(tmp_path: Path) -> None:
    seen: list[dict[str, float]] = []
    with telemetry(metrics=0) as url:
        assert url is not None

        def answer(_: dict[str, Any]) -> Answer:
            seen.append(scraped(url))
            return completion("42")

        evaluated(tmp_path, answer, tasks=1)
    assert seen[0]["harness_attempts_in_flight"] == 1
    assert seen[0]["harness_model_calls_in_flight"] == 1


def test_retries_failures_and_cache_hits_are_counted(tmp_path: Path) -> None:
    answers: Iterator[Answer] = iter([error(500), completion("42"), error(400, "no such model")])
    asked = "model=scripted,role=agent"
    with telemetry(metrics=0) as url:
        assert url is not None
        evaluated(tmp_path, lambda _: next(answers), tasks=1)
        evaluated(tmp_path, lambda _: next(answers), tasks=1, out=tmp_path / "bad")
        (tmp_path / "run" / "finished.json").unlink()  # as if it had been killed at its end
        again = evaluated(tmp_path, tool_user, tasks=1, epochs=1, resume=tmp_path / "run")
        found = scraped(url)
        assert (again.passed, found["harness_attempts_kept"]) == (1, 1)
    assert found["harness_model_retries_total,error=Unreachable"] == 1
    assert found[f"harness_model_errors_total,error=BadInput,{asked}"] == 1
    assert found["harness_attempts_total,outcome=invalid"] == 1


def test_answers_from_the_cache_cost_nothing(tmp_path: Path) -> None:
    asked = "model=scripted,role=agent"
    evaluated(tmp_path, tasks=1)
    (tmp_path / "run" / "run.json").unlink()
    for segment in (tmp_path / "run").glob("*.seg*"):
        segment.unlink()
    with telemetry(metrics=0) as url:
        assert url is not None
        evaluated(tmp_path, tasks=1)
        found = scraped(url)
    assert found[f"harness_cache_hits_total,{asked}"] == 2
    assert f"harness_tokens_total,{asked},type=input" not in found


def test_a_port_that_is_taken_is_bad_input() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"--metrics {port}"), telemetry(metrics=port):
            pass
    assert not tracing.watched()
