"""OpenTelemetry spans of the GenAI conventions, as OTLP writes them in JSON.

Read are the attributes `gen_ai.input.messages`, `gen_ai.output.messages`,
`gen_ai.system_instructions`, `gen_ai.tool.*` and `gen_ai.usage.*`, on spans and on the event
`gen_ai.client.inference.operation.details`.
Source: opentelemetry.io/docs/specs/semconv/gen-ai and the protocol's JSON form.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core import Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.lenient import count, listing, mapping, string
from harness.trajectories.traces.conversation import (
    ModelCall,
    ToolRun,
    Trace,
    by_trace,
    trajectories,
)
from harness.trajectories.traces.files import objects
from harness.trajectories.traces.messages import messages_of, unpacked

_DETAILS = "gen_ai.client.inference.operation.details"


def is_otel(row: dict[str, Any]) -> bool:
    """Whether a row is an export of traces in the protocol's JSON form."""
    return isinstance(row.get("resourceSpans"), list)


def read_otel(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: spans of one conversation id, else of one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: dict[str, Trace] = {}
    for document in objects(path):
        for span in _spans(document):
            _take(traces, span)
    yield from trajectories(traces.values(), "otel", path.name)


def _spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in listing(document.get("resourceSpans")):
        for scope in listing(mapping(resource).get("scopeSpans")):
            yield from (mapping(span) for span in listing(mapping(scope).get("spans")))


def _take(traces: dict[str, Trace], span: dict[str, Any]) -> None:
    held = attributes(span)
    for event in listing(span.get("events")):
        if mapping(event).get("name") == _DETAILS:
            held |= attributes(mapping(event))
    key = string(held.get("gen_ai.conversation.id")) or string(span.get("traceId"))
    if not key or not any(name.startswith("gen_ai.") for name in held):
        return
    trace = by_trace(traces, key)
    trace.name = string(held.get("gen_ai.agent.name")) or trace.name
    start = _time(span.get("startTimeUnixNano"))
    if held.get("gen_ai.operation.name") == "execute_tool":
        result = held.get("gen_ai.tool.call.result")
        trace.tools.append(
            ToolRun(
                start=start,
                name=string(held.get("gen_ai.tool.name")),
                result=result if isinstance(result, str) else "",
                call_id=string(held.get("gen_ai.tool.call.id")),
            )
        )
        return
    system = messages_of(_instructions(held.get("gen_ai.system_instructions")), "system")
    given = messages_of(held.get("gen_ai.input.messages"), "user")
    answered = messages_of(held.get("gen_ai.output.messages"), "assistant")
    whole = held.get("gen_ai.operation.name") == "invoke_agent"
    if answered if whole else given or answered:
        (trace.whole if whole else trace.calls).append(
            ModelCall(
                start=start,
                given=[*system, *given],
                answered=answered,
                model=string(held.get("gen_ai.response.model"))
                or string(held.get("gen_ai.request.model")),
                metrics=_metrics(held),
            )
        )


def _instructions(raw: Any) -> Any:
    """Parts of the system's instructions as one message."""
    value = unpacked(raw)
    return {"role": "system", "parts": listing(value)} if isinstance(value, list) else value


def _metrics(held: dict[str, Any]) -> Metrics | None:
    given, answered = held.get("gen_ai.usage.input_tokens"), held.get("gen_ai.usage.output_tokens")
    if given is None and answered is None:
        return None
    return Metrics(prompt_tokens=count(given), completion_tokens=count(answered))


def attributes(held: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a span or event as plain values."""
    found = [mapping(one) for one in listing(held.get("attributes"))]
    return {string(one.get("key")): plain(one.get("value")) for one in found}


def plain(raw: Any) -> Any:
    """A value of the protocol (`{"stringValue": ...}`) as JSON."""
    value = mapping(raw)
    if "intValue" in value:
        text = str(value["intValue"])
        return int(text) if text.lstrip("-").isdigit() else 0
    if "arrayValue" in value:
        return [plain(one) for one in listing(mapping(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        pairs = [mapping(one) for one in listing(mapping(value["kvlistValue"]).get("values"))]
        return {string(one.get("key")): plain(one.get("value")) for one in pairs}
    return next((value[k] for k in ("stringValue", "boolValue", "doubleValue") if k in value), None)


def _time(raw: Any) -> str:
    """Nanoseconds since 1970 as an ISO time; "" if there are none."""
    text = str(raw or "")
    if not text.isdigit() or len(text) > 19:
        return ""
    return datetime.fromtimestamp(int(text) / 1e9, UTC).isoformat()
