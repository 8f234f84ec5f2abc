"""Sessions on disk as the two clients write them, from a few events a session.

An event is a tuple: `("user", text)`, `("say", text)`, `("edit", path)` or, with texts,
`("edit", path, old, new)`, `("write", path, content)` (over a file, Claude only), `("sh", command,
output, exit_code)`, `("interrupt",)`, `("reject", command)`, `("bang", command, output)` (a command
that the user ran with `!`), `("meta", text)` (a message that the client wrote in the user's name),
`("ask", question, answer)`, `("tool", name, arguments, result)`.

Of Claude Code alone are `("queued", text)` (typed while the agent worked), `("typed", text)` (and
never delivered), `("later", command, output, exit_code)` (in the background, read afterwards),
`("helper", path)` (a sub-agent's edit), `("slash", name, arguments)`; of Codex alone `("script",
text, output)` (code mode), `("polled", command, first, rest, exit_code)`, `("rollback", turns)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Event = tuple[Any, ...]

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). STOP what you are doing and wait"
    " for the user to tell you how to proceed."
)
STARTED = "2026-03-01T09:{minute:02d}:{second:02d}.000Z"


def stamp(number: int) -> str:
    """The time of the event with that number: ten seconds apart."""
    minute, second = divmod(10 * number, 60)
    return STARTED.format(minute=minute % 60, second=second)


class _Claude:
    def __init__(self, session: str, cwd: str) -> None:
        self.session, self.cwd = session, cwd
        self.rows: list[Row] = []
        self.calls = 0

    def line(self, kind: str, content: Any, **more: Any) -> None:
        number = len(self.rows)
        message: Row = {"role": kind, "content": content}
        parents = [row["uuid"] for row in self.rows if "uuid" in row]
        if kind == "assistant":
            usage = {"input_tokens": 4, "output_tokens": 20, "cache_read_input_tokens": 300}
            message |= {"id": f"msg_{number}", "type": "message", "model": "m-1", "usage": usage}
        self.rows.append(
            {
                "parentUuid": parents[-1] if parents else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": self.cwd,
                "sessionId": self.session,
                "version": "2.0.1",
                "gitBranch": "main",
                "type": kind,
                "message": message,
                "uuid": f"{self.session}-{number}",
                "timestamp": stamp(number),
                **more,
            }
        )

    def use(self, name: str, given: Row, result: str, error: bool, told: Any) -> None:
        self.calls += 1
        call = f"toolu_{self.session}_{self.calls}"
        self.line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        block: Row = {"tool_use_id": call, "type": "tool_result", "content": result}
        if error:
            block["is_error"] = True
        self.line("user", [block], toolUseResult=told)

    def queue(self, operation: str, content: str = "") -> None:
        row: Row = {"type": "queue-operation", "operation": operation, "sessionId": self.session}
        self.rows.append({**row, "content": content} if content else row)

    def take(self, event: Event) -> None:
        kind, *rest = event
        if kind == "user":
            self.line("user", rest[0])
        elif kind == "meta":
            self.line("user", rest[0], isMeta=True)
        elif kind == "say":
            self.line("assistant", [{"type": "text", "text": rest[0]}])
        elif kind == "edit":
            path = f"{self.cwd}/{rest[0]}"
            old, new = rest[1:] or ("a", "b")
            given = {"file_path": path, "old_string": old, "new_string": new}
            self.use("Edit", given, f"The file {path} has been updated.", False, {"filePath": path})
        elif kind == "write":
            path = f"{self.cwd}/{rest[0]}"
            given = {"file_path": path, "content": rest[1]}
            self.use("Write", given, f"The file {path} has been updated.", False, {})
        elif kind == "sh":
            command, output, code = rest
            given = {"command": command, "description": "Run it"}
            text = f"Exit code {code}\n{output}" if code else output
            told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            self.use("Bash", given, text, bool(code), f"Error: {text}" if code else told)
        elif kind == "reject":
            self.use("Bash", {"command": rest[0]}, REJECTED, True, "User rejected tool use")
            text = "[Request interrupted by user for tool use]"
            self.line("user", [{"type": "text", "text": text}])
        elif kind == "interrupt":
            self.line("user", [{"type": "text", "text": "[Request interrupted by user]"}])
        elif kind in ("tool", "ask"):
            said = f'User has answered your questions: "{rest[0]}"="{rest[-1]}". You can continue.'
            name, given, result = (
                rest if kind == "tool" else ("AskUserQuestion", dict[str, Any](), said)
            )
            self.use(name, given, result, result.startswith("The user doesn't"), {})
        elif kind == "queued":
            entry = {"type": "queued_command", "prompt": rest[0], "commandMode": "prompt"}
            self.queue("enqueue", rest[0])
            self.queue("remove")
            self.line("attachment", None, attachment=entry)
        elif kind == "typed":
            self.queue("enqueue", rest[0])
        elif kind == "later":
            command, output, code = rest
            started = "Command running in background with ID: bx71c0de. Output is being written."
            self.use("Bash", {"command": command, "run_in_background": True}, started, False, {})
            ended = f"<status>{'failed' if code else 'completed'}</status>\n\n"
            ended += f"<exit_code>{code}</exit_code>\n\n<output>\n{output}\n</output>"
            self.use("TaskOutput", {"task_id": "bx71c0de"}, ended, False, {})
        elif kind == "helper":
            self.use("Task", {"prompt": "do it"}, "done", False, {"agentId": "h1"})
            log = _Claude(self.session, self.cwd)
            log.take(("user", "do it"))
            log.take(("edit", rest[0]))
            self.rows[-2:-2] = [{**row, "isSidechain": True, "agentId": "h1"} for row in log.rows]
        elif kind == "slash":
            name = f"<command-name>/{rest[0]}</command-name>"
            self.line("user", f"{name}\n<command-args>{rest[1]}</command-args>")
        elif kind == "bang":
            self.line("user", f"<bash-input>{rest[0]}</bash-input>")
            self.line("user", f"<bash-stdout>{rest[1]}</bash-stdout><bash-stderr></bash-stderr>")


class _Codex:
    """`form` 1 is the oldest: exit codes in JSON; 2 has them in a head; 3 is the unified tool."""

    def __init__(self, session: str, cwd: str, form: int, commit: str) -> None:
        git = {"commit_hash": commit, "branch": "main"} if commit else None
        meta: Row = {
            "id": session, "timestamp": stamp(0), "cwd": cwd, "originator": "codex_cli_rs",
            "cli_version": "0.60.1", "source": "cli",
        }  # fmt: skip
        self.rows: list[Row] = []
        self.form, self.calls = form, 0
        self.line("session_meta", {**meta, **({"git": git} if git else {})})
        self.line("turn_context", {"cwd": cwd, "model": "g-5", "approval_policy": "on-request"})
        context = f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"
        self.said("user", context)

    def line(self, kind: str, payload: Row) -> None:
        self.rows.append({"timestamp": stamp(len(self.rows)), "type": kind, "payload": payload})

    def said(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        self.line("response_item", {"type": "message", "role": role, "content": content})

    def call(self, name: str, given: str | Row, output: str) -> None:
        self.calls += 1
        call = f"call_{self.calls}"
        if isinstance(given, str):
            kind, field = "custom_tool_call", {"input": given, "status": "completed"}
        else:
            kind, field = "function_call", {"arguments": json.dumps(given)}
        self.line("response_item", {"type": kind, "name": name, "call_id": call, **field})
        done = {"type": f"{kind}_output", "call_id": call, "output": output}
        self.line("response_item", done)

    def take(self, event: Event) -> None:
        kind, *rest = event
        if kind in ("user", "say", "meta"):
            self.said("assistant" if kind == "say" else "user", rest[0])
        elif kind == "edit":
            old, new = rest[1:] or ("a", "b")
            lines = [f"-{line}" for line in old.split("\n")] + [
                f"+{line}" for line in new.split("\n")
            ]
            head = f"*** Begin Patch\n*** Update File: {rest[0]}\n@@\n"
            patch = head + "\n".join(lines) + "\n*** End Patch"
            done = f"Success. Updated the following files:\nM {rest[0]}\n"
            told = {"output": done, "metadata": {"exit_code": 0, "duration_seconds": 0.0}}
            self.call("apply_patch", patch, json.dumps(told))
        elif kind == "sh":
            self.shell(*rest)
        elif kind == "script":
            self.call(
                "exec", rest[0], f"Script completed\nWall time 0.2 seconds\nOutput:\n{rest[1]}"
            )
        elif kind == "polled":
            command, first, later, code = rest
            head = "Chunk ID: c0\nWall time: 1.0000 seconds\nProcess {}\nOutput:\n"
            started = head.format("running with session ID 7") + first
            self.call("exec_command", {"cmd": command, "yield_time_ms": 1000}, started)
            ended = head.format(f"exited with code {code}") + later
            self.call("write_stdin", {"session_id": 7, "chars": ""}, ended)
        elif kind == "tool":
            self.call(*rest)
        elif kind == "ask":
            answers = {"answers": {"q1": {"answers": [rest[1]]}}}
            self.call("request_user_input", {"questions": [rest[0]]}, json.dumps(answers))
        elif kind == "rollback":
            self.line("event_msg", {"type": "thread_rolled_back", "num_turns": rest[0]})
        elif kind == "interrupt":
            self.line("event_msg", {"type": "turn_aborted", "reason": "interrupted"})
            if self.form == 3:
                text = "The user interrupted the previous turn on purpose."
                self.said("user", f"<turn_aborted>\n{text}\n</turn_aborted>")
        else:
            raise ValueError(f"Codex writes no {kind!r}")

    def shell(self, command: str, output: str, code: int) -> None:
        if self.form == 1:
            told = {"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.4}}
            self.call("shell", {"command": ["bash", "-lc", command]}, json.dumps(told))
        elif self.form == 2:
            head = f"Exit code: {code}\nWall time: 0.4 seconds\nOutput:\n"
            self.call("shell_command", {"command": command}, head + output)
        else:
            head = f"Chunk ID: c{self.calls}\nWall time: 0.4000 seconds\n"
            head += f"Process exited with code {code}\nOriginal token count: 40\nOutput:\n"
            self.call("exec_command", {"cmd": command}, head + output)


def write_claude(
    home: Path, session: str, events: Iterable[Event], cwd: str = "/home/ada/calc"
) -> Path:
    """Write a session under a Claude Code configuration folder; its file."""
    log = _Claude(session, cwd)
    for event in events:
        log.take(event)
    folder = cwd.replace("/", "-").replace(".", "-")
    return _write(home / "projects" / folder / f"{session}.jsonl", log.rows)


def write_codex(
    home: Path,
    session: str,
    events: Iterable[Event],
    cwd: str = "/home/ada/calc",
    *,
    form: int = 2,
    commit: str = "",
) -> Path:
    """Write a session under a Codex home folder; its file."""
    log = _Codex(session, cwd, form, commit)
    for event in events:
        log.take(event)
    name = f"rollout-2026-03-01T09-00-00-{session}.jsonl"
    return _write(home / "sessions" / "2026" / "03" / "01" / name, log.rows)


def _write(path: Path, rows: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
