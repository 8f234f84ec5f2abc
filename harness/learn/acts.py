"""What happened in a session, in order and in the same words for every client."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic import JsonValue

from harness.core import ObservationResult, Step, ToolCall, Trajectory, mapping, string
from harness.trajectories import content_text
from harness.trajectories.lenient import load

_INTERRUPTED = re.compile(r"\[Request interrupted by user(?: for tool use)?\]")
_ABORTED = re.compile(r"<turn_aborted>")
_CLIENT_TEXTS = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-", "Caveat: ",
    "<system-reminder>", "<task-notification>", "<user-prompt-submit-hook>", "Stop hook feedback",
    "This session is being continued from a previous conversation", "<environment_context>",
    "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<permissions",
    "<collaboration_mode>", "<skill>", "<user_shell_command>", "<subagent_notification>",
    "<model_switch>",
)  # fmt: skip
_REMINDER = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>", re.S)
_INPUT = re.compile(r"<bash-input>(.*?)</bash-input>", re.S)
_OUTPUT = re.compile(r"<bash-stdout>(.*?)</bash-stdout>(?:<bash-stderr>(.*?)</bash-stderr>)?", re.S)
Kind = Literal["user", "command", "edit", "interrupt", "say"]
COMMANDS = {
    "bash", "shell", "shell_command", "exec_command", "local_shell", "container.exec",
    "run_command", "run_terminal_cmd", "execute_command", "terminal",
}  # fmt: skip
EDITS = {
    "edit", "multiedit", "write", "notebookedit", "apply_patch", "str_replace_editor",
    "str_replace_based_edit_tool", "create_file", "write_file", "edit_file", "replace",
}  # fmt: skip
_REFUSED = "The user doesn't want to proceed with this tool use"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_EXIT = re.compile(
    r"^Exit code:? (-?\d+)$|^Process exited with code (-?\d+)$|\"exit_code\":\s*(-?\d+)", re.M
)
_WRITES = re.compile(r"(?<![0-9&>=-])>>?\s*([\w./~$-]+)|\btee\s+(?:-a\s+)?([\w./~$-]+)")
_IN_PLACE = re.compile(r"\b(?:sed|perl)\s+(?:\S+\s+)*?-\S*i\S*\b(.*)")
_ELSEWHERE = ("/dev/", "/tmp/", "$")  # what a command writes there is no work
_APPLIES = re.compile(r"\bgit apply\b|\bpatch\s+-p\d")
_TESTS_LATER = re.compile(r"test|spec\b|jest|mocha|\btox\b|\bnox\b|\bcheck\b", re.I)
_REMOVES = re.compile(r"(?:^|[;&|\n]\s*)(?:git\s+)?(?:rm|mv)\s+([^;&|\n]*)")


def interruption(step: Step) -> bool:
    """Whether a step says that the user stopped the agent."""
    own = (step.extra or {}).get("harness")
    if isinstance(own, dict) and own.get("codex") == "turn_aborted":
        return content_text(step.message) == "interrupted"
    text = content_text(step.message).strip()
    return step.source == "user" and bool(_INTERRUPTED.fullmatch(text) or _ABORTED.match(text))


def by_client(step: Step) -> bool:
    """Whether a client wrote this message in the user's name."""
    own = (step.extra or {}).get("harness")
    if isinstance(own, dict) and own.get("claude_code") in ("meta", "compact"):
        return True
    return content_text(step.message).lstrip().startswith(_CLIENT_TEXTS)


def shell_input(text: str) -> str | None:
    """The command that the user ran from the prompt (`! command`)."""
    match = _INPUT.search(text)
    return match.group(1).strip() if match and not _OUTPUT.search(text) else None


def shell_output(text: str) -> str | None:
    """What such a command printed."""
    match = _OUTPUT.search(text)
    return "\n".join(part for part in match.groups() if part) if match else None


def prompts(trajectory: Trajectory) -> list[str]:
    """What the user asked, without what clients add to it."""
    requests: list[str] = []
    for step in trajectory.steps:
        text = content_text(step.message)
        if step.source != "user" or by_client(step) or interruption(step):
            continue
        if shell_input(text) is not None or shell_output(text) is not None:
            continue
        if request := _REMINDER.sub("", text).strip():
            requests.append(request)
    return requests


@dataclass(frozen=True)
class Act:
    """One thing that somebody did.

    Attributes:
        kind: a user's message, a command, an edit, an interruption, or words of the agent.
        step: of the trajectory.
        text: what was said, or the command line.
        output: of a command, without terminal colours; `raw` is as it was logged.
        exit_code: where the log has it.
        quoted: how the log words the exit code, "" if it does not.
        paths: files that an edit changed.
        replaced: text that an edit took out, None where the log does not show it.
        inserted: text that an edit put in.
        removes: whether a command removed or moved the files.
        by_user: a command that the user ran.
        keys: call id and time, which tell lines of the log apart.
    """

    kind: Kind
    step: int
    text: str = ""
    output: str = ""
    exit_code: int | None = None
    quoted: str = ""
    paths: tuple[str, ...] = ()
    replaced: str | None = None
    inserted: str = ""
    removes: bool = False
    by_user: bool = False
    keys: tuple[str, ...] = field(default=(), compare=False)


def plain(text: str) -> str:
    """A text without terminal colours and with line feeds alone."""
    return _ANSI.sub("", text).replace("\r\n", "\n")


def acts(trajectory: Trajectory) -> list[Act]:
    """Everything that was done, in order; what clients write in the user's name is left out."""
    # Claude Code logs no exit code of a command that succeeded: what is no error is 0.
    silent_zero = trajectory.harness.get("source") == "claude-code"
    history: list[Act] = []
    pending = ""  # a command of the user whose output follows
    for step in trajectory.steps:
        text = content_text(step.message).strip()
        keys = (step.timestamp,) if step.timestamp else ()
        if step.source == "agent":
            if text:
                history.append(Act("say", step.step_id, text, keys=keys))
            results = step.observation.results if step.observation else ()
            answers = {result.source_call_id: result for result in results}
            for call in step.tool_calls or ():
                history += _called(step, call, answers.get(call.tool_call_id), silent_zero)
            continue
        command, pending = pending, ""
        if interruption(step):
            history.append(Act("interrupt", step.step_id, text, keys=keys))
        elif step.source == "system" or by_client(step):
            pass
        elif (typed := shell_input(text)) is not None:
            pending = typed
        elif (output := shell_output(text)) is not None:
            if command:
                act = Act("command", step.step_id, command, plain(output), by_user=True, keys=keys)
                history += _with_changes(act)
        elif text:
            history.append(Act("user", step.step_id, text, keys=keys))
    return history


def _called(
    step: Step, call: ToolCall, result: ObservationResult | None, silent_zero: bool
) -> Iterator[Act]:
    text = content_text(result.content or "") if result is not None else ""
    extra = mapping((result.extra or {}).get("harness")) if result is not None else {}
    keys = (call.tool_call_id,)
    if text.startswith(_REFUSED):
        return  # never ran; the interruption that follows it says the rest
    name = call.function_name.rpartition("__")[2].casefold()
    command = _command(call.arguments)
    if name in EDITS or (name in COMMANDS and command.lstrip().startswith("apply_patch")):
        output, code, _ = _unwrapped(text)
        if not (extra.get("is_error") or code or "verification failed" in output):
            fields = ("file_path", "path", "notebook_path", "target_file")
            named = [path for key in fields if isinstance(path := call.arguments.get(key), str)]
            patch = command or string(call.arguments.get("patch"))
            paths = named[:1] or [path or moved for path, moved in _PATCHED.findall(patch)]
            old, new = _replacement(call.arguments, patch, text)
            shown = Act("edit", step.step_id, paths=tuple(paths), keys=keys)
            yield replace(shown, replaced=old, inserted=new)
    elif name in COMMANDS and command:
        output, code, quoted = _unwrapped(text)
        if code is None and silent_zero and result is not None:
            code = 1 if extra.get("is_error") else 0
        act = Act("command", step.step_id, command, plain(output), code, quoted, keys=keys)
        yield from _with_changes(act)


def _command(arguments: dict[str, JsonValue]) -> str:
    """The command line in a call's arguments, whatever the client calls it."""
    fields: Any = arguments
    for key in ("action", "input"):
        if isinstance(inner := arguments.get(key), dict):
            fields = inner
    raw: Any = fields.get("command") or fields.get("cmd") or fields.get("input") or ""
    if isinstance(raw, list):
        words = [string(word) for word in cast("list[Any]", raw)]
        shell = len(words) > 2 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh")
        return words[2] if shell and words[1].startswith("-") else shlex.join(words)
    return string(raw)


def _replacement(
    arguments: dict[str, JsonValue], patch: str, result: str
) -> tuple[str | None, str]:
    """(text that an edit took out, None where that is not shown, text that it put in)."""
    if patch:
        lines = patch.split("\n")
        old = [line[1:] for line in lines if line.startswith("-")]
        new = [line[1:] for line in lines if line.startswith("+")]
        return None if "*** Delete File: " in patch else "\n".join(old), "\n".join(new)
    listed = arguments.get("edits")
    edits = [mapping(edit) for edit in listed] if isinstance(listed, list) else [arguments]
    pairs = [
        (edit.get("old_string", edit.get("old_str")), edit.get("new_string", edit.get("new_str")))
        for edit in edits
    ]
    if pairs and all(isinstance(old, str) for old, _ in pairs):
        return "\n".join(string(old) for old, _ in pairs), "\n".join(string(n) for _, n in pairs)
    content = arguments.get("content", arguments.get("file_text"))
    return "" if "created" in result[:200] else None, string(content)


def _unwrapped(text: str) -> tuple[str, int | None, str]:
    """(output, exit code, how the log words it) of a command's result."""
    document = mapping(load(text.encode("utf-8", "replace"))) if text.startswith("{") else {}
    if "output" in document and "metadata" in document:
        code = mapping(document["metadata"]).get("exit_code")
        match = _EXIT.search(text)
        number = code if isinstance(code, int) else None
        return string(document["output"]), number, match.group() if match else ""
    head, marked, body = text.partition("\nOutput:\n")
    match = _EXIT.search(head if marked else text[:40])
    if match is None:
        return text, None, ""
    code = int(next(group for group in match.groups() if group is not None))
    return (body if marked else text[match.end() :].lstrip("\n")), code, match.group()


def _with_changes(act: Act) -> Iterator[Act]:
    """A command, and the edit that its line makes by itself: before it if tests run behind that."""
    text = act.text.partition("<<")[0] if "<<" in act.text else act.text
    changes = [*_WRITES.finditer(text), *_IN_PLACE.finditer(text), *_REMOVES.finditer(text)]
    named = [match.group(1) for match in (*_IN_PLACE.finditer(text), *_REMOVES.finditer(text))]
    words = [word for line in named for word in line.split()]
    paths = [written or teed for written, teed in _WRITES.findall(text)]
    paths += [word for word in words if re.fullmatch(r"[\w./-]*\w\.\w+", word)]
    paths = [path for path in paths if not path.startswith(_ELSEWHERE)]
    if _APPLIES.search(text):
        paths.append("")
    removes = bool(_REMOVES.search(text))
    edit = Act("edit", act.step, paths=tuple(paths), removes=removes, keys=act.keys)
    end = max((match.end() for match in changes), default=len(text))
    tested_after = bool(_TESTS_LATER.search(text[end:]))
    yield from ([edit] if paths and tested_after else [])
    yield act
    yield from ([edit] if paths and not tested_after else [])
