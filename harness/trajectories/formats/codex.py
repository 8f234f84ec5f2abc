"""Session logs of the Codex command line (`rollout-*.jsonl`) as ATIF trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.building import Builder, final_metrics, metrics_of, text_of
from harness.trajectories.lenient import Notes, count, listing, mapping, read_lines, string

_ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def is_codex(row: dict[str, Any]) -> bool:
    """Whether a row is of such a log (the forms with and without `payload`)."""
    if row.get("type") in _ROWS:
        return isinstance(row.get("payload"), dict)
    return {"id", "timestamp", "instructions"} <= set(row) or row.get("record_type") == "state"


def read_codex(path: Path) -> Iterator[Trajectory]:
    """Convert a session log, or every `rollout-*.jsonl` in a folder and below it.

    Raises:
        BadInput: if a file holds no step.
    """
    for file in sorted(path.rglob("rollout-*.jsonl")) if path.is_dir() else [path]:
        notes = Notes()
        session = _Session(notes)
        for row in read_lines(file, notes):
            session.take(row)
        steps, meta = session.builder.steps(), session.meta
        if not steps:
            raise BadInput(f"{str(file)!r}: expected a Codex session, found no message in it")
        name = string(meta.get("id")) or file.stem
        facts: dict[str, JsonValue] = {"source": "codex", "path": file.name}
        facts |= {key: meta[key] for key in ("cwd", "git") if key in meta}
        yield Trajectory(
            session_id=name,
            trajectory_id=name,
            agent=AgentInfo(
                name=string(meta.get("originator")) or "codex",
                version=string(meta.get("cli_version")) or "unknown",
                model_name=session.model,
            ),
            steps=steps,
            final_metrics=final_metrics([_metrics(session.totals)] if session.totals else []),
            extra={"harness": {**facts, **notes.facts()}},
        )


def _metrics(usage: dict[str, Any]) -> Metrics:
    cached = count(usage.get("cached_input_tokens"))
    return metrics_of(usage).model_copy(update={"cached_tokens": cached})


class _Session:
    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.builder = Builder(notes)
        self.meta: dict[str, Any] = {}
        self.model: str | None = None
        self.totals: dict[str, Any] = {}

    def take(self, row: dict[str, Any]) -> None:
        kind, when = string(row.get("type")), row.get("timestamp")
        payload = mapping(row.get("payload"))
        if kind == "session_meta" or (not kind and "id" in row):
            self.meta = self.meta or payload or row
        elif kind == "turn_context":
            self.model = string(payload.get("model")) or self.model
        elif kind == "event_msg":
            self._event(payload, when)
        elif kind == "compacted":
            note = self.builder.begin("system", when, string(payload.get("message")))
            note.extra["codex"] = "compacted"
        elif kind == "response_item":
            self._item(payload, when)
        elif kind and not payload:
            self._item(row, when)  # the older form: items stand bare on their lines
        elif row.get("record_type") != "state":
            self.notes.add(f"unknown line: {kind or 'no type'}")

    def _item(self, item: dict[str, Any], when: Any) -> None:
        kind, builder = string(item.get("type")), self.builder
        role = string(item.get("role"))
        if kind == "message" and role == "assistant":
            draft = builder.agent(when)
            draft.model = self.model
            draft.texts.append(text_of(item.get("content")))
        elif kind == "message" and role in ("user", "system", "developer"):
            source = "user" if role == "user" else "system"
            builder.begin(source, when, text_of(item.get("content")))
        elif kind == "message":
            self.notes.add(f"unknown role: {role or 'none'}")
        elif kind == "reasoning":
            summary = [string(mapping(part).get("text")) for part in listing(item.get("summary"))]
            thought = "\n\n".join(filter(None, summary)) or text_of(item.get("content"))
            if thought:
                builder.agent(when).thoughts.append(thought)
        elif kind in _CALLS:
            draft = builder.agent(when)
            draft.model = self.model
            keys = ("arguments", "input", "action")
            arguments = next((item[key] for key in keys if key in item), None)
            name = item.get("name") or kind.removesuffix("_call")
            builder.call(draft, item.get("call_id") or item.get("id"), name, arguments)
        elif kind in _OUTPUTS:
            output = item.get("output")
            if isinstance(output, dict):
                content = mapping(output).get("content")
                output = json.dumps(output, ensure_ascii=False) if content is None else content
            builder.result(item.get("call_id"), text_of(output))
        else:
            self.notes.add(f"unknown item: {kind or 'no type'}")

    def _event(self, event: dict[str, Any], when: Any) -> None:
        """Events repeat what the items say, for display; a few hold something of their own."""
        kind, info = string(event.get("type")), mapping(event.get("info"))
        totals = mapping(info.get("total_token_usage"))
        if kind == "turn_aborted":
            note = self.builder.begin("system", when, string(event.get("reason")))
            note.extra["codex"] = kind
        elif kind == "error":
            self.notes.add(f"event: {kind}")
        # Else rate limits alone, or the same figures once more.
        elif kind == "token_count" and totals and totals != self.totals:
            self.totals = totals
            agents = [draft for draft in self.builder.drafts if draft.source == "agent"]
            if agents and agents[-1].metrics is None:
                agents[-1].metrics = _metrics(mapping(info.get("last_token_usage")))
                agents[-1].closed = True
