"""A real OTLP receiver over HTTP on 127.0.0.1, and an eval run to watch."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from harness.api import EvalSettings, run_evaluation
from harness.evals import EvalReport
from tests.models.http_server import Answer, completion, serve

SECRET_WORD = "zephyrine"
"""Stands in the prompts and in no id."""
CALL = {
    "id": "call-7",
    "type": "function",
    "function": {"name": "python", "arguments": json.dumps({"code": "print(6 * 7)"})},
}


@dataclass
class Collected:
    """Everything that came in."""

    url: str = ""
    paths: list[str] = field(default_factory=list[str])
    spans: list[Span] = field(default_factory=list[Span])
    resource: dict[str, Any] = field(default_factory=dict[str, Any])

    def of(self, operation: str) -> list[Span]:
        """Spans of one operation."""
        name = "gen_ai.operation.name"
        return [span for span in self.spans if attributes(span)[name] == operation]


def attributes(span: Span) -> dict[str, Any]:
    """Attributes as Python values."""
    return {pair.key: _value(pair.value) for pair in span.attributes}


@contextmanager
def collector() -> Generator[Collected]:
    """Receive until the block ends."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            collected.paths.append(self.path)
            for resource in request.resource_spans:
                collected.resource |= {
                    pair.key: _value(pair.value) for pair in resource.resource.attributes
                }
                for scope in resource.scope_spans:
                    collected.spans.extend(scope.spans)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    collected.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tool_user(body: dict[str, Any]) -> Answer:
    """An endpoint that calls python once, and then answers with what came back."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return completion(last["content"].strip(), prompt_tokens=30, completion_tokens=3)
    return completion("", prompt_tokens=20, completion_tokens=5, tool_calls=[CALL])


def evaluated(
    folder: Path,
    answer: Callable[[dict[str, Any]], Answer] = tool_user,
    tasks: int = 2,
    **settings: Any,
) -> EvalReport:
    """A run of an agent with python in the folder `run`."""
    rows = [
        {"id": f"t{n}", "prompt": f"{SECRET_WORD} {n}: what is 6 * 7?", "answer": "42"}
        for n in range(tasks)
    ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = folder / "suite.yaml"
    suite.write_text("name: watched\ntasks: tasks.jsonl\ntools: [python]\n")
    common: dict[str, Any] = {
        "suite": str(suite), "out": folder / "run", "models": ("openai/scripted",),
    }  # fmt: skip
    with serve(answer) as served:
        found = EvalSettings.model_validate({**common, "base_url": served.url, **settings})
        return run_evaluation(found)[0]


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return None if kind is None else getattr(value, kind)
