"""Session logs of the Codex command line (`rollout-*.jsonl`) as ATIF trajectories."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory
from harness.core.trajectory import FinalMetrics, Metrics
from harness.trajectories.building import Builder, text_of
from harness.trajectories.lenient import Notes, count, listing, mapping, read_lines, string

_ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Events repeat what the items say, for display; only these hold something of their own.
_EVENTS = ("token_count", "turn_aborted", "error")


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
    files = sorted(path.rglob("rollout-*.jsonl")) if path.is_dir() else [path]
    for file in files:
        yield _Session(file).trajectory()


class _Session:
    def __init__(self, path: Path) -> None:
        self.path, self.notes = path, Notes()
        self.builder = Builder(self.notes)
        self.meta: dict[str, Any] = {}
        self.model: str | None = None
        self.totals: dict[str, Any] = {}

    def trajectory(self) -> Trajectory:
        for row in read_lines(self.path, self.notes):
            self._row(row)
        steps = self.builder.steps()
        if not steps:
            raise BadInput(f"{str(self.path)!r}: expected a Codex session, found no message in it")
        session = string(self.meta.get("id")) or self.path.stem
        facts: dict[str, JsonValue] = {"source": "codex", "path": self.path.name}
        facts |= {key: self.meta[key] for key in ("cwd", "git") if key in self.meta}
        return Trajectory(
            session_id=session,
            trajectory_id=session,
            agent=AgentInfo(
                name=string(self.meta.get("originator")) or "codex",
                version=string(self.meta.get("cli_version")) or "unknown",
                model_name=self.model,
            ),
            steps=steps,
            final_metrics=_final(self.totals),
            extra={"harness": {**facts, **self.notes.facts()}},
        )

    def _row(self, row: dict[str, Any]) -> None:
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
        kind = string(item.get("type"))
        if kind == "message":
            self._message(item, when)
        elif kind == "reasoning":
            shown = [string(mapping(one).get("text")) for one in listing(item.get("summary"))]
            thought = "\n\n".join(filter(None, shown)) or text_of(item.get("content"))
            if thought:
                self.builder.agent(when).thoughts.append(thought)
        elif kind in _CALLS:
            draft = self.builder.agent(when)
            draft.model = self.model
            asked = next((item[k] for k in ("arguments", "input", "action") if k in item), None)
            name = item.get("name") or kind.removesuffix("_call")
            self.builder.call(draft, item.get("call_id") or item.get("id"), name, asked)
        elif kind in _OUTPUTS:
            self.builder.result(item.get("call_id"), _output(item.get("output")))
        else:
            self.notes.add(f"unknown item: {kind or 'no type'}")

    def _message(self, item: dict[str, Any], when: Any) -> None:
        role, text = string(item.get("role")), text_of(item.get("content"))
        if role == "assistant":
            draft = self.builder.agent(when)
            draft.model = self.model
            draft.texts.append(text)
        elif role in ("user", "system", "developer"):
            self.builder.begin("user" if role == "user" else "system", when, text)
        else:
            self.notes.add(f"unknown role: {role or 'none'}")

    def _event(self, event: dict[str, Any], when: Any) -> None:
        kind, info = string(event.get("type")), mapping(event.get("info"))
        if kind not in _EVENTS:
            return
        if kind == "turn_aborted":
            note = self.builder.begin("system", when, string(event.get("reason")))
            note.extra["codex"] = kind
            return
        if kind != "token_count":
            self.notes.add(f"event: {kind}")
            return
        totals = mapping(info.get("total_token_usage"))
        if not totals or totals == self.totals:
            return  # rate limits alone, or the same figures told again
        self.totals = totals
        agents = [draft for draft in self.builder.drafts if draft.source == "agent"]
        if agents and agents[-1].metrics is None:
            agents[-1].metrics = _metrics(mapping(info.get("last_token_usage")))
            agents[-1].closed = True


def _metrics(usage: dict[str, Any]) -> Metrics:
    return Metrics(
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cached_input_tokens")),
    )


def _final(usage: dict[str, Any]) -> FinalMetrics | None:
    if not usage:
        return None
    return FinalMetrics(
        total_prompt_tokens=count(usage.get("input_tokens")),
        total_completion_tokens=count(usage.get("output_tokens")),
        total_cached_tokens=count(usage.get("cached_input_tokens")),
    )


def _output(raw: Any) -> str:
    if isinstance(raw, dict):
        held = mapping(raw).get("content")
        return text_of(held) if held is not None else json.dumps(raw, ensure_ascii=False)
    return text_of(raw)
