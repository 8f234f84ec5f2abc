"""Spans of OpenTelemetry, as a collector gets them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from harness.core import BadInput, tracing
from harness.core.telemetry import spans_asked, telemetry, telemetry_by_variables
from harness.core.telemetry.spans import CAPTURE_VARIABLE
from harness.evals import attempt_seed
from tests.core.telemetry.collector import (
    CALL,
    SECRET_WORD,
    Collected,
    attributes,
    collector,
    evaluated,
)
from tests.models.http_server import completion, error

CURL = (
    "cmd:sh -c 'curl -sf $OPENAI_BASE_URL/chat/completions "
    '-H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" '
    '-d "{\\"model\\": \\"m\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": '
    '\\"hi\\"}]}" > /dev/null; echo 42\''
)


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> object:
    with collector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        yield found


def test_an_attempt_is_a_trace_of_its_calls(tmp_path: Path, collected: Collected) -> None:
    with telemetry(otel=True):
        report = evaluated(tmp_path)
    assert (report.passed, set(collected.paths)) == (2, {"/v1/traces"})
    assert collected.resource["service.name"] == "agent-skill-harness"
    attempts, chats, tools = (
        collected.of(name) for name in ("invoke_agent", "chat", "execute_tool")
    )
    assert (len(attempts), len(chats), len(tools)) == (2, 4, 2)
    assert len({span.trace_id for span in attempts}) == 2
    for attempt in attempts:
        assert not attempt.parent_span_id
        assert _children(collected, attempt) == ["chat", "execute_tool", "chat"]
    assert sum(attributes(one)["gen_ai.usage.input_tokens"] for one in chats) == 2 * (20 + 30)
    assert sum(attributes(one)["gen_ai.usage.output_tokens"] for one in chats) == 2 * (5 + 3)
    assert report.tokens == 2 * (20 + 30 + 5 + 3)


def test_spans_are_named_as_the_conventions_name_them(tmp_path: Path, collected: Collected) -> None:
    with telemetry(otel=True):
        evaluated(tmp_path, tasks=1)
    (attempt,), (first, _), (tool,) = (
        collected.of(name) for name in ("invoke_agent", "chat", "execute_tool")
    )
    assert (attempt.name, attempt.kind) == ("invoke_agent graph:react", Span.SPAN_KIND_INTERNAL)
    assert (first.name, first.kind) == ("chat scripted", Span.SPAN_KIND_CLIENT)
    assert (tool.name, tool.kind) == ("execute_tool python", Span.SPAN_KIND_INTERNAL)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.seed": attempt_seed(41, "t0"),
        "gen_ai.response.model": "served-model",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.conversation.id": "run/t0",
        "server.address": "127.0.0.1",
        "harness.run.id": "run",
        "harness.cached": False,
    }
    assert expected.items() <= attributes(first).items()
    assert attributes(tool)["gen_ai.tool.call.id"] == CALL["id"]
    facts = attributes(attempt)
    assert (facts["gen_ai.agent.name"], facts["harness.outcome"]) == ("graph:react", "pass")


def test_what_was_said_stays_here_unless_it_is_asked_for(
    tmp_path: Path, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    with telemetry(otel=True):
        evaluated(tmp_path)
    assert SECRET_WORD not in str(collected.spans) and "6 * 7" not in str(collected.spans)
    collected.spans.clear()
    monkeypatch.setenv(CAPTURE_VARIABLE, "span_only")
    with telemetry(otel=True):
        evaluated(tmp_path, out=tmp_path / "again", tasks=1)
    last = attributes(collected.of("chat")[-1])
    system, user, called, result = json.loads(last["gen_ai.input.messages"])
    assert (system["role"], user["role"]) == ("system", "user")
    assert SECRET_WORD in user["parts"][0]["content"]
    assert called["parts"][-1]["arguments"] == {"code": "print(6 * 7)"}
    assert result["parts"] == [
        {"type": "tool_call_response", "id": "call-7", "response": result["parts"][0]["response"]}
    ]
    assert "42" in result["parts"][0]["response"]
    assert json.loads(last["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    assert "42" in attributes(collected.of("execute_tool")[0])["gen_ai.tool.call.result"]


def test_calls_of_a_foreign_program_stand_within_its_attempt(
    tmp_path: Path, collected: Collected
) -> None:
    with telemetry(otel=True):
        evaluated(tmp_path, lambda _: completion("ok"), agent=CURL, sandbox="none")
    attempts = {span.span_id for span in collected.of("invoke_agent")}
    assert len(attempts) == 2
    assert {span.name for span in collected.of("invoke_agent")} == {"invoke_agent cmd:sh"}
    assert {span.parent_span_id for span in collected.of("chat")} <= attempts
    assert len(collected.of("chat")) == 2


def test_failures_are_errors_by_class_and_retries_are_events(
    tmp_path: Path, collected: Collected
) -> None:
    answers = iter([error(500, SECRET_WORD), completion("42")])
    with telemetry(otel=True):
        evaluated(tmp_path, lambda _: next(answers), tasks=1)
        evaluated(tmp_path, lambda _: error(400, SECRET_WORD), tasks=1, out=tmp_path / "bad")
    good, bad = collected.of("chat")
    assert [event.name for event in good.events] == ["harness.retry"]
    assert good.status.code == Status.STATUS_CODE_UNSET
    assert bad.status.code == Status.STATUS_CODE_ERROR
    assert attributes(bad)["error.type"] == "BadInput"
    assert SECRET_WORD not in str(collected.spans)


def test_a_collector_that_is_not_there_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    started = time.monotonic()
    with telemetry(otel=True):
        report = evaluated(tmp_path)
        ended = time.monotonic()
    assert report.passed == 2
    assert time.monotonic() - ended < 12, "the end waits for what was not sent, at most so long"
    assert ended - started < 60


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SERVICE_NAME": "mine"}, False),
    ],
)
def test_standard_variables_switch_it_on(variables: dict[str, str], wanted: bool) -> None:
    assert spans_asked(variables) is wanted


@pytest.mark.parametrize(
    ("variable", "value"),
    [("OTEL_TRACES_EXPORTER", "zipkin"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
)
def test_what_cannot_be_followed_is_said(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadInput, match=value), telemetry(otel=True):
        pass


def test_a_missing_exporter_stops_no_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    module = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(sys.modules, module, None)
    with telemetry_by_variables():
        assert not tracing.watched()
    assert "no spans are sent: spans need OpenTelemetry" in capsys.readouterr().err


def test_an_empty_protocol_is_the_usual_one(
    collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "")
    with telemetry(otel=True), tracing.operation("chat", "m", call_id="c"):
        pass
    assert len(collected.of("chat")) == 1


def test_nothing_is_left_behind(collected: Collected) -> None:
    with telemetry(otel=True):
        assert tracing.watched()
    assert not tracing.watched()


def _children(collected: Collected, parent: Span) -> list[str]:
    own = [span for span in collected.spans if span.parent_span_id == parent.span_id]
    assert {span.trace_id for span in own} == {parent.trace_id}
    assert all(parent.start_time_unix_nano <= one.start_time_unix_nano for one in own)
    assert all(one.end_time_unix_nano <= parent.end_time_unix_nano for one in own)
    own.sort(key=lambda span: span.start_time_unix_nano)
    return [attributes(span)["gen_ai.operation.name"] for span in own]
