"""Exports of tracing tools: one conversation from the model calls of a trace.

- OpenTelemetry spans of the GenAI conventions, as OTLP writes them in JSON: the attributes
  `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions`, `gen_ai.tool.*`
  and `gen_ai.usage.*`, on spans and on the event `gen_ai.client.inference.operation.details`.
  Source: opentelemetry.io/docs/specs/semconv/gen-ai and the protocol's JSON form.
- Langfuse: a downloaded trace, answers of its API, or the JSONL of its exports. Observations of
  type GENERATION are model calls, those of type TOOL are tools; fields are in camel case (API,
  download) or in snake case (blob storage), input and output are values or JSON text.
  Source: langfuse.com/docs, data model, export from UI and blob storage fields.
- LangSmith: runs as JSON or JSONL. A run of type `llm` is a model call, one of type `tool` a tool;
  `inputs` and `outputs` hold messages in LangChain's or OpenAI's form.
  Source: docs.langchain.com/langsmith/run-data-format.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core import Trajectory, listing, mapping, read_json, read_rows, string
from harness.core.trajectory import Metrics
from harness.trajectories.building import metrics_of
from harness.trajectories.formats.traces import ModelCall, ToolRun, Trace, trajectories
from harness.trajectories.lenient import load
from harness.trajectories.messages import NAMED_ROLES, Role, Turn, message_turns

Row = dict[str, Any]
Traces = defaultdict[str, Trace]

_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system",
            "ToolMessage": "tool"}  # fmt: skip
_HOLDERS = ("messages", "generations", "choices", "message", "output", "input", "kwargs")
_DETAILS = "gen_ai.client.inference.operation.details"
_OBSERVATIONS = {
    "GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR",
    "EMBEDDING", "GUARDRAIL",
}  # fmt: skip
_THREADS = ("thread_id", "session_id", "conversation_id")


def objects(path: Path, *lists: str) -> Iterator[Row]:
    """The JSON objects of a file, or of every such file in a folder and below it.

    Args:
        path: `.json` or `.jsonl`, or a folder.
        lists: fields of a document under which its objects lie as a list.

    Raises:
        BadInput: if a file cannot be read or is no JSON (file and line are named).
    """

    def null(_: str) -> None:
        """Numbers that JSON lacks: of a log, they are no reason to refuse it."""

    files = [file for file in path.rglob("*.json*") if file.is_file()] if path.is_dir() else [path]
    for file in sorted(files):
        if file.suffix == ".jsonl":
            rows: Iterable[Any] = (row for _, row in read_rows(file, null))
        else:
            document = read_json(file, null)
            rows = listing(document) if isinstance(document, list) else [document]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        for row in map(mapping, rows):
            name = next((name for name in lists if isinstance(row.get(name), list)), None)
            yield from [row] if name is None else map(mapping, listing(row[name]))


def unpacked(value: Any) -> Any:
    """A value that may have been written out as JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        parsed = load(value.encode("utf-8", "replace"))
        return value if parsed is None else parsed
    return value


def turns_of(raw: Any, role: Role) -> list[Turn]:
    """The turns of a span's input or output.

    Args:
        raw: a text, a message, a list of them, or an object that holds one of these.
        role: of a bare text: `user` for an input, `assistant` for an output.
    """
    value = unpacked(raw)
    if isinstance(value, list):
        return [turn for item in listing(value) for turn in turns_of(item, role)]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    message = mapping(value)
    is_message = message.keys() & {"role", "parts"} or string(message.get("type")) in NAMED_ROLES
    if is_message or message.keys() >= {"lc", "kwargs"}:
        inner = mapping(message.get("kwargs")) or mapping(message.get("data"))
        if inner:  # LangChain's
            name = string((listing(message.get("id")) or [""])[-1]).removesuffix("Chunk")
            speaker = message.get("role") or message.get("type")
            message = {**inner, "role": _CLASSES.get(name) or inner.get("type") or speaker}
        blocks = listing(unpacked(message.get("content")))  # they may be JSON text
        if (
            blocks
            and message.get("role") != "tool"
            and all(string(mapping(b).get("type")) for b in blocks)
        ):
            message = {**message, "content": blocks}
        return message_turns(message, role)
    for key in _HOLDERS:
        if message.get(key) is not None:
            return turns_of(message[key], role)
    texts = (message.get(key) for key in ("text", "content", "question"))
    text = next(filter(None, texts), None) if message else value
    return [Turn(role, text)] if isinstance(text, str) and text.strip() else []


def _result(output: Any) -> tuple[str, str]:
    """The id of the call that a tool's output answers, where it is in there, and the text."""
    for turn in turns_of(output, "tool"):
        if turn.text:
            return turn.call_id, turn.text
    return "", string(output)


def is_otel(row: Row) -> bool:
    """Return True if a row is an export of traces in the protocol's JSON form."""
    return isinstance(row.get("resourceSpans"), list)


def read_otel(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: spans of one conversation id, else of one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: Traces = defaultdict(Trace)
    for document in objects(path):
        for resource in listing(document.get("resourceSpans")):
            for scope in listing(mapping(resource).get("scopeSpans")):
                for span in listing(mapping(scope).get("spans")):
                    _take_span(traces, mapping(span))
    yield from trajectories(traces, "otel", path.name)


def _take_span(traces: Traces, span: Row) -> None:
    values = _attributes(span)
    for event in map(mapping, listing(span.get("events"))):
        if event.get("name") == _DETAILS:
            values |= _attributes(event)
    attributes = {name[7:]: value for name, value in values.items() if name.startswith("gen_ai.")}
    name = string(attributes.get("conversation.id")) or string(span.get("traceId"))
    if not name or not attributes:
        return
    trace = traces[name]
    trace.name = string(attributes.get("agent.name")) or trace.name
    operation, nanoseconds = (
        attributes.get("operation.name"),
        str(span.get("startTimeUnixNano") or ""),
    )
    start = ""
    if nanoseconds.isdigit() and len(nanoseconds) <= 19:
        start = datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC).isoformat()
    if operation == "execute_tool":
        tool, call_id = string(attributes.get("tool.name")), string(attributes.get("tool.call.id"))
        trace.tools.append(
            ToolRun(start, tool, string(attributes.get("tool.call.result")), call_id)
        )
        return
    instructions = unpacked(attributes.get("system_instructions"))
    if isinstance(instructions, list):
        instructions = {"role": "system", "parts": listing(instructions)}  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    question = turns_of(attributes.get("input.messages"), "user")
    answer = turns_of(attributes.get("output.messages"), "assistant")
    call = ModelCall(
        start=start,
        prompt=[*turns_of(instructions, "system"), *question],
        answer=answer,
        model=string(attributes.get("response.model")) or string(attributes.get("request.model")),
        metrics=_metrics(
            attributes.get("usage.input_tokens"), attributes.get("usage.output_tokens")
        ),
    )
    if operation == "invoke_agent":
        trace.agents += [call] if answer else []
    elif question or answer:
        trace.calls.append(call)


def _metrics(prompt: Any, completion: Any) -> Metrics | None:
    """Tokens of a call; None where neither count was recorded."""
    if prompt is None and completion is None:
        return None
    return metrics_of({"input_tokens": prompt, "output_tokens": completion})


def _attributes(holder: Row) -> Row:
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


def is_langfuse(row: Row) -> bool:
    """Return True if a row is an observation, or a trace or an answer that holds some."""
    held = row.get("observations", row.get("data"))
    rows = listing(held)[:3] if isinstance(held, list) else [row]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return any(_is_observation(mapping(item)) for item in rows)


def read_langfuse(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: the traces of one session, else one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: Traces = defaultdict(Trace)
    for row in filter(_is_observation, objects(path, "observations", "data")):
        _take_observation(traces, row)
    yield from trajectories(traces, "langfuse", path.name)


def _is_observation(row: Row) -> bool:
    return string(row.get("type")).upper() in _OBSERVATIONS and bool(_field(row, "traceId"))


def _field(row: Row, name: str) -> Any:
    """A field in camel case, or in snake case."""
    snake = re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)
    return row[name] if name in row else row.get(snake)


def _take_observation(traces: Traces, row: Row) -> None:
    trace = traces[string(_field(row, "sessionId")) or string(_field(row, "traceId"))]
    trace.name = string(_field(row, "traceName")) or trace.name
    kind, start = string(row.get("type")).upper(), string(_field(row, "startTime"))
    if kind == "TOOL":
        _, text = _result(row.get("output"))
        trace.tools.append(ToolRun(start, string(row.get("name")), text))
    elif kind == "GENERATION":
        usage = mapping(unpacked(_field(row, "usageDetails"))) or mapping(row.get("usage"))
        trace.calls.append(
            ModelCall(
                start=start,
                prompt=turns_of(row.get("input"), "user"),
                answer=turns_of(row.get("output"), "assistant"),
                model=string(_field(row, "providedModelName")) or string(row.get("model")),
                metrics=_metrics(usage.get("input"), usage.get("output")),
            )
        )


def is_langsmith(row: Row) -> bool:
    """Return True if a row is a run, or holds runs."""
    if isinstance(row.get("runs"), list):
        return is_langsmith(mapping(next(iter(listing(row["runs"])), None)))
    return isinstance(row.get("run_type"), str) and ("trace_id" in row or "dotted_order" in row)


def read_langsmith(path: Path) -> Iterator[Trajectory]:
    """Every conversation of an export: the runs of one thread, else of one trace.

    Raises:
        BadInput: if a file is no JSON.
    """
    traces: Traces = defaultdict(Trace)
    for row in filter(is_langsmith, objects(path, "runs")):
        _take_run(traces, row)
    yield from trajectories(traces, "langsmith", path.name)


def _take_run(traces: Traces, row: Row) -> None:
    metadata = mapping(mapping(unpacked(row.get("extra"))).get("metadata"))
    names = [*(string(metadata.get(key)) for key in _THREADS), string(row.get("trace_id"))]
    trace = traces[next(filter(None, names), string(row.get("dotted_order"))[:40])]
    start, kind = string(row.get("start_time")), string(row.get("run_type"))
    if not string(row.get("parent_run_id")):
        trace.name = string(row.get("name")) or trace.name
    if kind == "tool":
        call_id, text = _result(row.get("outputs"))
        trace.tools.append(ToolRun(start, string(row.get("name")), text, call_id))
    elif kind == "llm":
        trace.calls.append(
            ModelCall(
                start=start,
                prompt=turns_of(row.get("inputs"), "user"),
                answer=turns_of(row.get("outputs"), "assistant"),
                model=string(metadata.get("ls_model_name")),
                metrics=_metrics(row.get("prompt_tokens"), row.get("completion_tokens")),
            )
        )
