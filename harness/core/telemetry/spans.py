"""OpenTelemetry spans by the conventions for generative AI: one trace an attempt.

Names are those of the semantic conventions for GenAI clients and agents (status: development,
version 1.41 and the repository that has carried them since); what they have no name for begins
with `harness.`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from harness.core.errors import BadInput
from harness.core.plugins import install_command
from harness.core.redaction import redact
from harness.core.tracing import Operation, Watcher

if TYPE_CHECKING:
    from collections.abc import Generator

    from opentelemetry.trace import Span, Tracer

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""What was said goes into spans where it is `true`, `span_only` or `span_and_event`."""
FLUSH_MS = 5000
"""How long the end of a run waits for spans that are not yet sent."""

_FACTS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "stop": "gen_ai.request.stop_sequences",
    "seed": "gen_ai.request.seed",
    "host": "server.address",
    "port": "server.port",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "provider_cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "response_model": "gen_ai.response.model",
    "cached": "harness.cached",
    "cost_usd": "harness.cost_usd",
    "role": "harness.role",
    "sample": "harness.sample.id",
    "task": "harness.task.id",
    "epoch": "harness.epoch",
    "model": "harness.model",
    "outcome": "harness.outcome",
    "score": "harness.score",
}
_NAMED = {"invoke_agent": "gen_ai.agent.name", "chat": "gen_ai.request.model"}


class SpanWatcher(Watcher):
    """Makes spans of operations; the current span of OpenTelemetry is set within each.

    Args:
        tracer: makes them.
        content: whether what was said is part of them; keys in it are blackened.
    """

    def __init__(self, tracer: Tracer, *, content: bool = False) -> None:
        self._tracer, self.content = tracer, content
        self._open: dict[Operation, tuple[Span, Any]] = {}

    def began(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        from opentelemetry import context
        from opentelemetry.trace import SpanKind, set_span_in_context

        if operation.kind == "run":
            return  # of 100,000 attempts in one trace no viewer shows any
        kind = SpanKind.CLIENT if operation.kind == "chat" else SpanKind.INTERNAL
        span = self._tracer.start_span(
            f"{operation.kind} {operation.label}",
            kind=kind,
            attributes=_first(operation),
            start_time=operation.began_ns,
        )
        self._open[operation] = span, context.attach(set_span_in_context(span))

    def ended(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        from opentelemetry import context
        from opentelemetry.trace import StatusCode

        span, token = self._open.pop(operation, (None, None))
        if span is None:
            return
        context.detach(token)  # pyright: ignore[reportArgumentType]  # set where there is a span
        span.set_attributes(_attributes(operation.attributes))
        if (reason := operation.attributes.get("finish_reason")) is not None:
            span.set_attribute("gen_ai.response.finish_reasons", [str(reason)])
        if operation.error is not None:
            span.set_attribute("error.type", type(operation.error).__qualname__)
            span.set_status(StatusCode.ERROR)  # its message may quote what was said
        if self.content:
            span.set_attributes(_content(operation))
        span.end(operation.ended_ns)

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation in self._open:
            event = {f"harness.{key}": value for key, value in attributes.items()}
            self._open[operation][0].add_event(f"harness.{name}", event)


def _first(operation: Operation) -> dict[str, Any]:
    """Return the facts that a sampler may decide by, which must be known when a span begins."""
    name_key = _NAMED.get(operation.kind, "gen_ai.tool.name")
    first: dict[str, Any] = {"gen_ai.operation.name": operation.kind, name_key: operation.label}
    if operation.kind == "execute_tool":
        first["gen_ai.tool.type"] = "function"
        if operation.attributes.get("call_id"):
            first["gen_ai.tool.call.id"] = operation.attributes["call_id"]
    else:
        first["gen_ai.provider.name"] = operation.attributes.get("provider", "harness")
    if operation.kind == "chat":
        first["harness.call.id"] = operation.attributes["call_id"]
    run, attempt = operation.within("run"), operation.within("invoke_agent")
    if run is not None:
        first["harness.run.id"] = run.name
    if attempt is not None:
        sample = attempt.attributes["sample"]
        first["gen_ai.conversation.id"] = f"{run.name}/{sample}" if run else sample
    return first | _attributes(operation.attributes)


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        _FACTS[key]: value
        for key, value in attributes.items()
        if key in _FACTS and value is not None
    }


def _content(operation: Operation) -> dict[str, str]:
    content = operation.content
    if operation.kind == "chat" and "reply" in content:
        return {
            "gen_ai.input.messages": _text(_input_messages(content["messages"])),
            "gen_ai.output.messages": _text(_output_messages(content["reply"])),
        }
    if operation.kind == "execute_tool" and content:
        return {
            "gen_ai.tool.call.arguments": _text(content["arguments"]),
            "gen_ai.tool.call.result": redact(str(content["result"])),
        }
    return {}


def _text(value: Any) -> str:
    return redact(json.dumps(value, ensure_ascii=False, default=str))


def _input_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages of the OpenAI API as OpenTelemetry's roles and parts; images are left out."""
    converted: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        parts = [
            {"type": "text", "content": part["text"]}
            if part.get("type") == "text"
            else {"type": str(part.get("type")), "content": "[left out]"}
            for part in cast("list[dict[str, Any]]", content or [])
        ]
        if message["role"] == "tool":
            text = "\n".join(part["content"] for part in parts)
            answer = {"type": "tool_call_response", "id": message.get("tool_call_id")}
            parts = [{**answer, "response": text}]
        parts += [
            _call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        converted.append({"role": message["role"], "parts": parts})
    return converted


def _output_messages(reply: Any) -> list[dict[str, Any]]:
    """Return the messages of a :class:`harness.models.types.Reply`."""
    parts: list[dict[str, Any]] = []
    if reply.reasoning:
        parts.append({"type": "reasoning", "content": reply.reasoning})
    if reply.text:
        parts.append({"type": "text", "content": reply.text})
    parts += [_call(call.id, call.name, call.arguments) for call in reply.tool_calls]
    return [{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}]


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    try:
        parsed = json.loads(arguments)
    except ValueError:
        parsed = arguments
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": parsed}


@contextmanager
def span_watcher() -> Generator[SpanWatcher]:
    """Spans to where the standard variables say; what is left is sent when the block ends.

    A program that has set up OpenTelemetry itself gets them by its own provider.

    Raises:
        BadInput: if the packages of the extra `otel` are missing, or the variables ask for an
            exporter or a protocol that is not there.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise BadInput(f"spans need OpenTelemetry: {install_command('otel')}") from error
    import harness

    present = trace.get_tracer_provider()
    provider: TracerProvider | None = None
    if not isinstance(present, TracerProvider):
        has_service_name = "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        has_service_name = has_service_name or bool(os.environ.get("OTEL_SERVICE_NAME"))
        resource = Resource.create(
            {} if has_service_name else {"service.name": "agent-skill-harness"}
        )
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(_exporter()))
    tracer = (provider or present).get_tracer("harness", harness.__version__)
    captured = os.environ.get(CAPTURE_VARIABLE, "").strip().lower()
    try:
        yield SpanWatcher(tracer, content=captured in ("true", "span_only", "span_and_event"))
    finally:
        if provider is not None:
            provider.force_flush(FLUSH_MS)
            provider.shutdown()


def _exporter() -> Any:
    name = os.environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() or "otlp"
    protocol = (
        os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
        or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    if name == "console":
        import sys

        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    if name != "otlp":
        raise BadInput(f"OTEL_TRACES_EXPORTER: expected otlp, console or none, got {name!r}")
    if protocol != "http/protobuf":
        raise BadInput(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf (port 4318 of a collector), "
            f"got {protocol!r}"
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise BadInput(f"spans need OpenTelemetry: {install_command('otel')}") from error
    return OTLPSpanExporter()
