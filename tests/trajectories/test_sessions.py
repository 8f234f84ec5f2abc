"""Sessions of Claude Code and Codex, written here by hand in their formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, Trajectory
from harness.trajectories import detect_format, import_trajectories, open_trajectories

Row = dict[str, Any]
WHEN = "2026-01-02T03:04:05.000Z"
USAGE = {
    "input_tokens": 3,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 20,
    "output_tokens": 7,
}


def _write(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _line(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> Row:
    message: Row = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("reply", uuid), "model": "m-1", "usage": USAGE}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "version": "2.0.1",
        "timestamp": WHEN,
        "message": message,
        **more,
    }


def _use(call_id: str, name: str = "Bash") -> Row:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"command": call_id}}


def _result(call_id: str, text: str) -> list[Row]:
    return [{"type": "tool_result", "tool_use_id": call_id, "content": text}]


def _session() -> list[Row]:
    thinking = {"type": "thinking", "thinking": "look first", "signature": "x"}
    return [
        {"type": "summary", "summary": "earlier", "leafUuid": "z"},
        _line("user", "u0", None, "do it wrong"),
        _line("assistant", "x1", "u0", [{"type": "text", "text": "abandoned"}]),
        _line("user", "u1", None, "count the files"),
        _line("assistant", "a1", "u1", [thinking], reply="r1"),
        _line("assistant", "a2", "a1", [_use("c1")], reply="r1"),
        _line("assistant", "a3", "a2", [_use("c2", "Task")], reply="r1"),
        _line("user", "u2", "a2", _result("c1", "a.txt")),
        _line(
            "user",
            "u3",
            "a3",
            _result("c2", [{"type": "text", "text": "done"}]),  # pyright: ignore[reportArgumentType]  # blocks are allowed too
            toolUseResult={"agentId": "k7"},
        ),
        _line("user", "k1", None, "helper, look", isSidechain=True, agentId="k7"),
        _line("assistant", "k2", "k1", "looked", isSidechain=True, agentId="k7"),
        _line("assistant", "a4", "u3", [{"type": "text", "text": "one file"}]),
        {"type": "brand-new-kind", "uuid": "n"},
    ]


def _one(path: Path, source_format: str = "auto") -> Trajectory:
    (found,) = open_trajectories(path, source_format)
    return found


def test_a_claude_code_session_is_one_trajectory(tmp_path: Path) -> None:
    found = _one(_write(tmp_path / "s1.jsonl", _session()))
    assert [step.source for step in found.steps] == ["user", "agent", "agent"]
    assert found.steps[0].message == "count the files"
    reply = found.steps[1]
    assert reply.reasoning_content == "look first"
    assert [call.tool_call_id for call in reply.tool_calls or ()] == ["c1", "c2"]
    assert reply.observation is not None
    pairs = [(one.source_call_id, one.content) for one in reply.observation.results]
    assert pairs == [("c1", "a.txt"), ("c2", "done")]
    assert found.final_metrics is not None
    # Three lines of one reply repeat its usage: counted once, with the cache in the prompt.
    assert found.final_metrics.total_prompt_tokens == 2 * 123
    assert found.final_metrics.total_completion_tokens == 14
    assert found.agent.version == "2.0.1"


def test_a_reply_that_was_written_down_in_parts_is_joined_once(tmp_path: Path) -> None:
    def said(text: str) -> list[Row]:
        return [{"type": "text", "text": text}]

    rows = [
        _line("user", "u1", None, "count the files"),
        _line("assistant", "a1", "u1", said("Let me"), reply="r1"),
        _line("assistant", "a2", "a1", said("Let me look."), reply="r1"),
        _line("assistant", "a3", "a2", [_use("c1")], reply="r1"),
        _line("assistant", "a4", "a3", [_use("c1")], reply="r1"),
        _line("user", "u2", "a4", _result("c1", "a.txt")),
        _line("assistant", "a5", "u2", said("One."), reply="r2"),
        _line("assistant", "a6", "a5", said("One."), reply="r2"),
    ]
    _, reply, last = _one(_write(tmp_path / "s1.jsonl", rows)).steps
    assert (reply.message, last.message) == ("Let me look.", "One.")
    assert [call.tool_call_id for call in reply.tool_calls or ()] == ["c1"]
    assert reply.observation is not None and len(reply.observation.results) == 1


def test_its_helper_is_embedded_and_named_by_the_result(tmp_path: Path) -> None:
    found = _one(_write(tmp_path / "s1.jsonl", _session()))
    assert found.subagent_trajectories is not None
    (helper,) = found.subagent_trajectories
    assert [step.message for step in helper.steps] == ["helper, look", "looked"]
    reply = found.steps[1].observation
    assert reply is not None
    references = reply.results[1].subagent_trajectory_ref or ()
    assert [one.trajectory_id for one in references] == [helper.trajectory_id]


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    path = _write(tmp_path / "s1.jsonl", _session())
    with path.open("ab") as handle:
        handle.write(b'{"type": "user", "uu')
    report = import_trajectories(path, tmp_path / "out")
    assert report.source_format == "claude-code"
    assert report.passed_over == {
        "unknown line: brand-new-kind": 1,
        "message on a branch that was left": 2,
        "torn last line": 1,
    }


def test_helpers_in_files_of_their_own_are_found(tmp_path: Path) -> None:
    rows = _session()
    helper = [row for row in rows if row.get("isSidechain")]
    _write(tmp_path / "s1.jsonl", [row for row in rows if not row.get("isSidechain")])
    _write(tmp_path / "s1/subagents/agent-k7.jsonl", helper)
    found = _one(tmp_path)
    assert [sub.trajectory_id for sub in found.subagent_trajectories or ()] == ["s1:k7"]
    (tmp_path / "s1.jsonl").unlink()
    assert _one(tmp_path).trajectory_id == "agent-k7"
    assert _one(tmp_path).harness["subagent"] is True


def _codex() -> list[Row]:
    def item(**payload: Any) -> Row:
        return {"timestamp": WHEN, "type": "response_item", "payload": payload}

    def tokens(total: int) -> Row:
        last = {"input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 5}
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
        payload = {"type": "token_count", "info": info}
        return {"timestamp": WHEN, "type": "event_msg", "payload": payload}

    meta = {"id": "cx", "cwd": "/w", "originator": "codex_cli", "cli_version": "0.9"}
    return [
        {"timestamp": WHEN, "type": "session_meta", "payload": meta},
        {"timestamp": WHEN, "type": "turn_context", "payload": {"model": "g-5"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "count"}]),
        {"timestamp": WHEN, "type": "event_msg", "payload": {"type": "user_message"}},
        item(type="reasoning", summary=[{"type": "summary_text", "text": "use ls"}]),
        item(type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
        tokens(50),
        item(type="function_call_output", call_id="c1", output="a.txt"),
        tokens(50),
        item(type="custom_tool_call", name="apply_patch", input="*** x", call_id="c2"),
        item(type="custom_tool_call_output", call_id="c2", output="ok"),
        item(type="function_call_output", call_id="lost", output="whose?"),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "one"}]),
        tokens(100),
    ]


def test_a_codex_session_is_one_trajectory(tmp_path: Path) -> None:
    found = _one(_write(tmp_path / "rollout-1.jsonl", _codex()))
    assert [step.source for step in found.steps] == ["user", "agent", "agent", "agent"]
    first, second, last = found.steps[1:]
    assert (first.reasoning_content, first.model_name) == ("use ls", "g-5")
    assert [call.arguments for call in first.tool_calls or ()] == [{"command": ["ls"]}]
    assert [call.arguments for call in second.tool_calls or ()] == [{"input": "*** x"}]
    assert last.message == "one"
    assert [step.metrics is not None for step in found.steps] == [False, True, False, True]
    assert found.final_metrics is not None
    assert found.final_metrics.total_prompt_tokens == 100
    assert found.harness["passed_over"] == {"result without its call": 1}
    assert (found.trajectory_id, found.agent.version) == ("cx", "0.9")


def test_the_older_codex_form_is_read(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"id": "old", "timestamp": WHEN, "instructions": ""},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ]
    path = _write(tmp_path / "rollout-2.jsonl", rows)
    assert detect_format(path) == "codex"
    assert _one(path).trajectory_id == "old"


@pytest.mark.parametrize("name", ["s1.jsonl", "rollout-1.jsonl"])
def test_secrets_go_on_import(tmp_path: Path, name: str) -> None:
    rows = _session() if name == "s1.jsonl" else _codex()
    path = tmp_path / name
    _write(path, json.loads(json.dumps(rows).replace("a.txt", "sk-" + "a" * 30)))
    command = ["trajectories", "import", str(path), "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(cli, command)
    assert "1 secrets redacted in 1" in shown.output
    assert "sk-aaa" not in json.dumps(_one(tmp_path / "out").model_dump(mode="json"))
    kept = import_trajectories(path, tmp_path / "kept", redact=False)
    assert kept.secrets == 0
    assert "sk-aaa" in json.dumps(_one(tmp_path / "kept").model_dump(mode="json"))


def test_a_session_without_messages_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "s.jsonl", _session()[:1])
    with pytest.raises(BadInput, match="no message"):
        list(open_trajectories(path))


def test_what_was_typed_while_the_agent_worked_is_a_message(tmp_path: Path) -> None:
    def queued(uuid: str, parent: str, **facts: Any) -> Row:
        row = _line("attachment", uuid, parent, None)
        return {**row, "attachment": {"type": "queued_command", **facts}}

    rows = [
        _line("user", "u1", None, "go"),
        _line("assistant", "a1", "u1", [_use("t1")]),
        queued("q1", "a1", prompt="no, stop", commandMode="prompt"),
        queued("q2", "q1", prompt="<task-notification>", commandMode="task-notification"),
        {**queued("h1", "q2"), "attachment": {"type": "hook_success"}},
        _line("assistant", "a2", "h1", [{"type": "text", "text": "stopped"}]),
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "a"},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1", "content": "b"},
        {"type": "queue-operation", "operation": "dequeue", "sessionId": "s1"},
    ]
    run = _one(_write(tmp_path / "s1.jsonl", rows))
    said = [(step.message, (step.extra or {}).get("harness")) for step in run.steps]
    assert [text for text, _ in said if text] == [
        "go",
        "no, stop",
        "<task-notification>",
        "stopped",
        "b",
    ]
    assert [facts for _, facts in said if facts] == [{"claude_code": "meta"}]
    assert run.harness["passed_over"] == {"attachment: hook_success": 1}


def test_turns_that_were_rolled_back_are_no_part_of_a_codex_session(tmp_path: Path) -> None:
    def said(role: str, text: str) -> Row:
        content = [{"type": "input_text", "text": text}]
        payload = {"type": "message", "role": role, "content": content}
        return {"type": "response_item", "timestamp": WHEN, "payload": payload}

    def event(kind: str, **facts: Any) -> Row:
        return {"type": "event_msg", "timestamp": WHEN, "payload": {"type": kind, **facts}}

    rows = [
        {"type": "session_meta", "timestamp": WHEN, "payload": {"id": "x", "cwd": "/w"}},
        said("user", "<environment_context>"), said("user", "one"), said("assistant", "1"),
        said("user", "two"), said("assistant", "2"), said("user", "<turn_aborted>"),
        said("user", "three"), event("thread_rolled_back", num_turns=2), said("user", "four"),
        event("a_new_kind"), event("thread_rolled_back", num_turns=9), said("user", "five"),
    ]  # fmt: skip
    run = _one(_write(tmp_path / "rollout-9.jsonl", rows))
    assert [step.message for step in run.steps] == ["<environment_context>", "five"]
    counted = {"event: a_new_kind": 1, "turns that were rolled back": 2}
    assert run.harness["passed_over"] == counted
    run = _one(_write(tmp_path / "rollout-8.jsonl", rows[:10]))
    said_then = [step.message for step in run.steps if step.source == "user"]
    assert said_then == ["<environment_context>", "one", "four"]
