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
from harness.trajectories.formats.trace_messages import messages_of, objects, unpacked
from harness.trajectories.formats.traces import ModelCall, ToolRun, Trace, trajectories
from harness.trajectories.lenient import count, listing, mapping, string

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
        for resource in listing(document.get("resourceSpans")):
            for scope in listing(mapping(resource).get("scopeSpans")):
                for span in listing(mapping(scope).get("spans")):
                    _take(traces, mapping(span))
    yield from trajectories(traces.values(), "otel", path.name)


def _take(traces: dict[str, Trace], span: dict[str, Any]) -> None:
    values = _attributes(span)
    for event in map(mapping, listing(span.get("events"))):
        if event.get("name") == _DETAILS:
            values |= _attributes(event)
    facts = {name[7:]: value for name, value in values.items() if name.startswith("gen_ai.")}
    name = string(facts.get("conversation.id")) or string(span.get("traceId"))
    if not name or not facts:
        return
    trace = traces.setdefault(name, Trace(id=name))
    trace.name = string(facts.get("agent.name")) or trace.name
    operation, nanoseconds = facts.get("operation.name"), str(span.get("startTimeUnixNano") or "")
    start = ""
    if nanoseconds.isdigit() and len(nanoseconds) <= 19:
        start = datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC).isoformat()
    if operation == "execute_tool":
        tool, call_id = string(facts.get("tool.name")), string(facts.get("tool.call.id"))
        trace.tools.append(ToolRun(start, tool, string(facts.get("tool.call.result")), call_id))
        return
    instructions = unpacked(facts.get("system_instructions"))
    if isinstance(instructions, list):
        instructions = {"role": "system", "parts": listing(instructions)}  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    question = messages_of(facts.get("input.messages"), "user")
    answered = messages_of(facts.get("output.messages"), "assistant")
    tokens = [facts.get("usage.input_tokens"), facts.get("usage.output_tokens")]
    prompt, completion = map(count, tokens)
    metrics = Metrics(prompt_tokens=prompt, completion_tokens=completion)
    call = ModelCall(
        start=start,
        given=[*messages_of(instructions, "system"), *question],
        answered=answered,
        model=string(facts.get("response.model")) or string(facts.get("request.model")),
        metrics=None if tokens == [None, None] else metrics,
    )
    if operation == "invoke_agent":
        trace.agents += [call] if answered else []
    elif question or answered:
        trace.calls.append(call)


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a span or event as plain values."""
    pairs = [mapping(pair) for pair in listing(holder.get("attributes"))]
    return {string(pair.get("key")): _plain(pair.get("value")) for pair in pairs}


def _plain(raw: Any) -> Any:
    """A value of the protocol (`{"stringValue": ...}`) as JSON."""
    value = mapping(raw)
    if "intValue" in value:
        text = str(value["intValue"])
        return int(text) if text.lstrip("-").isdigit() else 0
    if "arrayValue" in value:
        return [_plain(item) for item in listing(mapping(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return _attributes({"attributes": mapping(value["kvlistValue"]).get("values")})
    keys = ("stringValue", "boolValue", "doubleValue")
    return next((value[key] for key in keys if key in value), None)
