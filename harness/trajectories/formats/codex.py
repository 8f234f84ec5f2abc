"""Session logs of the Codex command line (`rollout-*.jsonl`) as ATIF trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Trajectory, count, mapping, string
from harness.core.trajectory import Metrics
from harness.trajectories.building import Builder, final_metrics, metrics_of
from harness.trajectories.lenient import Notes, read_lines
from harness.trajectories.messages import ITEM_CALLS, ITEM_RESULTS, item_turn

# Events that repeat, for display, what the items say.
_SHOWN = (
    "user_message", "agent_message", "agent_reasoning", "token_count", "task_started",
    "task_complete", "turn_started", "turn_complete", "patch_apply_begin", "patch_apply_end",
    "exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end",
    "web_search_begin", "web_search_end", "context_compacted",
)  # fmt: skip
_CONTEXT = ("<", "# AGENTS.md")
_ROWS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")


def is_codex(row: dict[str, Any]) -> bool:
    """Return True if a row is of such a log (the forms with and without `payload`)."""
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
        metadata: dict[str, JsonValue] = {"source": "codex", "path": file.name}
        metadata |= {key: meta[key] for key in ("cwd", "git", "forked_from_id") if key in meta}
        if "subagent" in mapping(meta.get("source")) or meta.get("thread_source") == "subagent":
            metadata["subagent"] = True
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
            extra={"harness": {**metadata, **notes.facts()}},
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
        kind, role = string(item.get("type")), string(item.get("role"))
        if kind == "web_search_call":  # its server runs it; here it is a call like any other
            search = {"name": item.get("name") or "web_search", "arguments": item.get("action")}
            item, kind = {**item, **search, "type": "function_call"}, "function_call"
        if kind not in ("message", "reasoning", *ITEM_CALLS, *ITEM_RESULTS):
            self.notes.add(f"unknown item: {kind or 'no type'}")
            return
        if kind == "message" and role not in ("user", "assistant", "system", "developer"):
            self.notes.add(f"unknown role: {role or 'none'}")
            return
        turn = item_turn(item)
        if turn is None or (kind == "reasoning" and not turn.reasoning):
            return
        agent = turn.role == "assistant"
        draft = self.builder.take(turn, when, self.builder.agent(when) if agent else None)
        if agent and kind != "reasoning":
            draft.model = self.model

    def _event(self, event: dict[str, Any], when: Any) -> None:
        """Events repeat what the items say, for display; a few hold something of their own."""
        kind, info = string(event.get("type")), mapping(event.get("info"))
        totals = mapping(info.get("total_token_usage"))
        if kind == "turn_aborted":
            note = self.builder.begin("system", when, string(event.get("reason")))
            note.extra["codex"] = kind
        elif kind == "thread_rolled_back":
            drafts = self.builder.drafts
            turns = [
                number
                for number, draft in enumerate(drafts)
                if draft.source == "user" and not "".join(draft.texts).startswith(_CONTEXT)
            ]
            for _ in range(min(count(event.get("num_turns")), len(turns))):
                del drafts[turns.pop() :]
            self.notes.add("turns that were rolled back")
        elif kind not in _SHOWN:
            self.notes.add(f"event: {kind or 'no type'}")
        # Else rate limits alone, or the same figures once more.
        elif kind == "token_count" and totals and totals != self.totals:
            self.totals = totals
            agents = [draft for draft in self.builder.drafts if draft.source == "agent"]
            if agents and agents[-1].metrics is None:
                agents[-1].metrics = _metrics(mapping(info.get("last_token_usage")))
                agents[-1].closed = True
