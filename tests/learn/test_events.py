"""Sixty sessions of two clients with every type of event that is known of their logs, three times.

An event is read, or it is bookkeeping of the client, or it is counted by its type and shown.
The types are those of the clients' public sources and logs of November 2026.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from harness.learn import REVIEW, LearnSettings, gather
from harness.trajectories import dump, open_trajectories
from tests.learn.cases import ASK, DONE, EDIT, GREEN
from tests.learn.clients import stamp, write_claude, write_codex

Fate = Literal["read", "bookkeeping", "counted"]
Row = dict[str, Any]
SESSIONS, EACH = 30, 3  # of a client; sessions that hold a type


def said(role: str, *blocks: Any, **more: Any) -> Row:
    """A message of Claude Code."""
    return {"type": role, "message": {"role": role, "content": list(blocks)}, **more}


def answered(content: Any) -> Row:
    """The result of a tool."""
    return said("user", {"type": "tool_result", "tool_use_id": "t1", "content": content})


def attached(kind: str) -> Callable[[str], Row]:
    """An attachment that the client puts in front of the model."""
    return lambda mark: {"type": "attachment", "attachment": {"type": kind, "content": mark}}


def line(kind: str, **more: Any) -> Callable[[str], Row]:
    """A line of a type."""
    return lambda mark: {"type": kind, "content": mark, **more}


CLAUDE: dict[str, tuple[Fate, Callable[[str], Row]]] = {
    "user text": ("read", lambda m: {"type": "user", "message": {"role": "user", "content": m}}),
    "user blocks": ("read", lambda m: said("user", {"type": "text", "text": m})),
    "user image": ("read", lambda m: said("user", {"type": "text", "text": m}, {"type": "image"})),
    "user meta": ("read", lambda m: said("user", {"type": "text", "text": m}, isMeta=True)),
    "compact": ("read", lambda m: said("user", {"type": "text", "text": m}, isCompactSummary=True)),
    "result": ("read", answered),
    "result blocks": ("read", lambda m: answered([{"type": "text", "text": m}])),
    "typed shell": ("read", lambda m: said("user", {"type": "text", "text": f"<bash-input>{m}"})),
    "notification": ("read", lambda m: said(
        "user", {"type": "text", "text": f"<task-notification>{m}</task-notification>"})),
    "agent text": ("read", lambda m: said("assistant", {"type": "text", "text": m})),
    "thinking": ("read", lambda m: said("assistant", {"type": "thinking", "thinking": m})),
    "tool use": ("read", lambda m: said(
        "assistant", {"type": "tool_use", "id": m, "name": "Read", "input": {"file_path": m}})),
    "server tool": ("read", lambda m: said(
        "assistant", {"type": "server_tool_use", "id": m, "name": "web", "input": {"query": m}})),
    "api error": ("read", lambda m: said(
        "assistant", {"type": "text", "text": m}, isApiErrorMessage=True)),
    "queued": ("read", lambda m: {
        "type": "attachment", "attachment": {"type": "queued_command", "prompt": m}}),
    "typed at the end": ("read", line("queue-operation", operation="enqueue")),
    **{f"system {kind}": ("read", line("system", subtype=kind)) for kind in (
        "compact_boundary", "microcompact_boundary", "local_command", "turn_duration", "api_error",
        "stop_hook_summary", "informational", "away_summary", "bridge_status")},
    "redacted thinking": ("bookkeeping", lambda m: said(
        "assistant", {"type": "redacted_thinking", "data": m}, {"type": "text", "text": "-"})),
    **{kind: ("bookkeeping", line(kind, leafUuid="x")) for kind in (
        "summary", "file-history-snapshot", "progress", "custom-title", "ai-title", "agent-name",
        "last-prompt", "mode", "permission-mode", "pr-link", "tag")},
    **{f"attachment: {kind}": ("counted", attached(kind)) for kind in (
        "file", "directory", "edited_text_file", "selected_lines_in_ide", "opened_file_in_ide",
        "todo_reminder", "task_reminder", "nested_memory", "plan_mode", "plan_mode_exit",
        "skill_listing", "invoked_skills", "diagnostics", "hook_success", "hook_blocking_error",
        "hook_additional_context", "mcp_resource", "date_change", "deferred_tools_delta",
        "agent_mention", "budget_usd", "output_style", "compact_file_reference")},
    **{f"unknown line: {kind}": ("counted", line(kind)) for kind in (
        "worktree-state", "agent-setting", "agent-color", "content-replacement", "task-summary",
        "attribution-snapshot", "speculation-accept", "context-collapse-commit", "future-line")},
    **{f"unknown block: {kind}": ("counted", lambda m, kind=kind: said(
        "assistant", {"type": kind, "content": m})) for kind in (
        "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
        "mcp_tool_use", "container_upload", "future_block")},
}  # fmt: skip


def item(kind: str, **more: Any) -> Callable[[str], Row]:
    """An item of a response, as Codex keeps it."""

    def made(mark: str) -> Row:
        fields = {key: json.loads(json.dumps(value).replace("MARK", mark))
                  for key, value in more.items()}  # fmt: skip
        return {"type": "response_item", "payload": {"type": kind, **fields}}

    return made


def event(kind: str) -> Callable[[str], Row]:
    """An event, as Codex keeps it beside the items."""
    payload: Callable[[str], Row] = lambda mark: {"type": kind, "message": mark}  # noqa: E731
    return lambda mark: {"type": "event_msg", "payload": payload(mark)}


CODEX: dict[str, tuple[Fate, Callable[[str], Row]]] = {
    **{f"message of {role}": ("read", item(
        "message", role=role, content=[{"type": "input_text", "text": "MARK"}]))
       for role in ("user", "assistant", "developer", "system")},
    "reasoning": ("read", item("reasoning", summary=[{"type": "summary_text", "text": "MARK"}])),
    "function": ("read", item("function_call", name="f", call_id="MARK", arguments="{}")),
    "function output": ("read", item("function_call_output", call_id="c1", output="MARK")),
    "output blocks": ("read", item("function_call_output", call_id="c1", output=[
        {"type": "input_text", "text": "MARK"}])),
    "custom": ("read", item("custom_tool_call", name="x", call_id="MARK", input="text('MARK')")),
    "custom output": ("read", item("custom_tool_call_output", call_id="c1", output="MARK")),
    "local shell": ("read", item(
        "local_shell_call", call_id="MARK", action={"type": "exec", "command": ["ls", "MARK"]})),
    "web search": ("read", item("web_search_call", action={"type": "search", "query": "MARK"})),
    "compacted": ("read", lambda m: {"type": "compacted", "payload": {"message": m}}),
    "turn aborted": ("read", lambda m: {
        "type": "event_msg", "payload": {"type": "turn_aborted", "reason": m}}),
    "bare item": ("read", lambda m: {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": m}]}),
    "state": ("bookkeeping", lambda m: {"record_type": "state", "note": m}),
    "encrypted reasoning": ("bookkeeping", item("reasoning", summary=[], encrypted_content="x")),
    "context of a turn": ("bookkeeping", lambda m: {"type": "turn_context", "payload": {"x": m}}),
    "head of a resumed session": ("bookkeeping", lambda m: {
        "type": "session_meta", "payload": {"id": m}}),
    **{f"shown {kind}": ("bookkeeping", event(kind)) for kind in (
        "user_message", "agent_message", "agent_reasoning", "token_count", "task_started",
        "task_complete", "turn_started", "turn_complete", "patch_apply_begin", "patch_apply_end",
        "exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end",
        "web_search_begin", "web_search_end", "context_compacted")},
    **{f"event: {kind}": ("counted", event(kind)) for kind in (
        "entered_review_mode", "exited_review_mode", "undo_completed", "error", "warning",
        "stream_error", "item_completed", "agent_reasoning_raw_content", "view_image_tool_call",
        "dynamic_tool_call_request", "plan_update", "turn_diff", "background_event",
        "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end",
        "collab_close_end", "thread_name_updated", "model_reroute", "guardian_assessment",
        "image_generation_end", "future_event")},
    **{f"unknown item: {kind}": ("counted", item(kind, result="MARK")) for kind in (
        "ghost_snapshot", "image_generation_call", "compaction", "tool_search_call", "mcp_call",
        "future_item")},
    "unknown role: critic": ("counted", item("message", role="critic", content=[])),
    **{f"unknown line: {kind}": ("counted", lambda m, kind=kind: {
        "type": kind, "payload": {"x": m}}) for kind in ("security_policy", "future_line")},
}  # fmt: skip


def with_events(path: Path, rows: list[Row]) -> None:
    """The events stand behind the session's own lines, chained to them as the client does."""
    own = [json.loads(text) for text in path.read_text().splitlines()]
    parents = [row["uuid"] for row in own if "uuid" in row]
    for number, row in enumerate(rows):
        facts: Row = {"timestamp": stamp(number + 200)}
        if parents and row["type"] in ("user", "assistant", "system", "attachment"):
            facts |= {"uuid": f"{path.stem}-e{number}", "parentUuid": parents[-1]}
            parents.append(facts["uuid"])
        if parents and "message" in row:
            row["message"].setdefault("id", f"e{number}")
        own.append({"sessionId": path.stem, **facts, **row} if parents else {**facts, **row})
    path.write_text("".join(json.dumps(row) + "\n" for row in own))


@pytest.mark.parametrize("kinds", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_no_event_of_thirty_sessions_is_lost(
    kinds: dict[str, tuple[Fate, Callable[[str], Row]]], tmp_path: Path
) -> None:
    write = write_claude if kinds is CLAUDE else write_codex
    names, counted = sorted(kinds), Counter[str]()
    lost: list[str] = []
    for number in range(SESSIONS):
        path = write(tmp_path / ".client", f"s{number}", (ASK, EDIT, GREEN, DONE))
        chosen = names[number % (SESSIONS // EACH) :: SESSIONS // EACH]
        marks = {name: f"mark{number}x{place}" for place, name in enumerate(chosen)}
        with_events(path, [kinds[name][1](mark) for name, mark in marks.items()])
        (trajectory,) = open_trajectories(path)
        text = json.dumps(dump(trajectory))
        passed_over = trajectory.harness.get("passed_over") or {}
        for name, mark in marks.items():
            fate = kinds[name][0]
            if fate == "counted":
                counted[name] += 1
                ok = isinstance(passed_over, dict) and passed_over.get(name) == 1
            else:
                ok = (mark in text) == (fate == "read")
            lost += [] if ok else [f"{name}: expected to be {fate}"]
    assert lost == []
    settings = LearnSettings(out=tmp_path / "out", paths=(tmp_path / ".client",), rebuild=False)
    assert len(gather(settings).sessions) == SESSIONS
    page = (settings.out / REVIEW).read_text()
    for name, count in counted.items():
        assert f"events passed over: {count} x {name}\n" in page


def test_what_a_helper_met_is_counted_and_what_was_taken_back_into_the_editor_is_not_said(
    tmp_path: Path,
) -> None:
    path = write_claude(tmp_path / ".client", "s", (ASK, EDIT, GREEN, DONE))
    helper = {"isSidechain": True, "agentId": "h1", "uuid": "h1"}
    queue: Row = {"type": "queue-operation"}
    with_events(path, [
        {**said("assistant", {"type": "future_block"}, {"type": "text", "text": "hm"}), **helper},
        {**queue, "operation": "enqueue", "content": "it is wrong"},
        {**queue, "operation": "enqueue", "content": "undo it"},
        {**queue, "operation": "popAll"},
    ])  # fmt: skip
    settings = LearnSettings(out=tmp_path / "out", paths=(path,), rebuild=False)
    (session,) = gather(settings).sessions
    assert session.outcome.verdict == "pass"
    assert "unknown block: future_block" in (settings.out / REVIEW).read_text()
