"""Acts of a session, in order and in the same words for every client."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic import JsonValue

from harness.core import ObservationResult, Step, ToolCall, Trajectory, mapping, string
from harness.learn.shell import called_tools, changes, joined, parse
from harness.learn.tables import sign
from harness.trajectories import content_text
from harness.trajectories.lenient import load

Kind = Literal["user", "command", "edit", "interrupt", "say"]
_PATHS = (
    "file_path", "path", "notebook_path", "target_file", "relative_path", "file", "filename",
    "source", "destination",
)  # fmt: skip


def prompts(trajectory: Trajectory) -> list[str]:
    """List the user's requests, without what clients add, and without answers to questions."""
    return [act.text for act in acts(trajectory) if act.kind == "user" and not act.output]


@dataclass(frozen=True)
class Act:
    """One thing that somebody did.

    Attributes:
        kind: a user's message, a command, an edit, an interruption, or words of the agent.
        step: of the trajectory.
        text: what was said, or the command line.
        output: of a command, without terminal colours; what a user's message answers.
        exit_code: where the log has it.
        quoted: how the log words the exit code, "" if it does not.
        paths: files that an edit changed.
        replaced: text that an edit took out, None where the log does not show it.
        inserted: text that an edit put in.
        hidden: whether a command changed, unseen, what was in the files before.
        by_user: a command that the user ran.
        folder: that a command ran in, "" where the log does not say, None if it cannot be told.
        ended: whether the log has the end of a command.
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
    hidden: bool = False
    by_user: bool = False
    folder: str | None = ""
    ended: bool = True
    keys: tuple[str, ...] = field(default=(), compare=False)


def plain(text: str) -> str:
    """A text without terminal colours and with line feeds alone."""
    return sign("colours").sub("", text).replace("\r\n", "\n")


def acts(trajectory: Trajectory) -> list[Act]:
    """Everything that was done, in order; what clients write in the user's name is left out."""
    timeline = _Timeline(trajectory)
    for step in trajectory.steps:
        timeline.take(step)
    return timeline.history


class _Timeline:
    def __init__(self, trajectory: Trajectory) -> None:
        self.history: list[Act] = []
        # Claude Code logs no exit code of a command that succeeded: what is no error is 0. Its
        # shell stays in the folder that a command went into.
        self._claude = trajectory.harness.get("source") == "claude-code"
        self._home: str | None = string(trajectory.harness.get("cwd"))
        self._folder = self._home
        self._running: dict[str, int] = {}
        self._agents = {run.trajectory_id: run for run in trajectory.subagent_trajectories or ()}
        self._pending = ""  # a command of the user whose output, or whose text, follows

    def take(self, step: Step) -> None:
        """Add what a step did."""
        metadata = mapping((step.extra or {}).get("harness"))
        text = sign("reminder").sub("", content_text(step.message)).strip()
        act = Act("user", step.step_id, text, keys=(step.timestamp,) if step.timestamp else ())
        pending, self._pending = self._pending, ""
        by_client = sign("by_client").match(text)
        aborted = metadata.get("codex") == "turn_aborted"
        if step.source == "agent":
            # A slash command whose text the log does not have stands for itself.
            self.history += [replace(act, text=pending)] if pending else []
            self.history += [replace(act, kind="say")] if text else []
            self.calls(step)
        elif (aborted and text == "interrupted") or sign("interrupted").match(text):
            self.history.append(replace(act, kind="interrupt"))
        elif step.source == "system":
            self._pending = pending
        elif output := sign("shell_output").match(text):
            typed = sign("shell_input").match(text)
            if command := (typed["codex"] if typed else pending):
                result = "\n".join(filter(None, output.groups()))
                self._command(replace(act, text=command, by_user=True), result, {}, self._home)
        elif typed := sign("shell_input").match(text):
            self._pending = typed["claude"].strip()
        elif slash := sign("slash").match(text):
            self._pending = f"{slash[1]} {slash[2] or ''}".strip()
        elif "<task-notification>" in text:
            self._continued(text, (text,), act.keys)
        elif by_client or (
            metadata.get("claude_code") in ("meta", "compact") and pending[:1] != "/"
        ):
            pass
        elif text:  # of the user, or the text of his slash command
            self.history.append(act)

    def calls(self, step: Step) -> None:
        """Add the calls of a step, and what its helpers did."""
        results = step.observation.results if step.observation else ()
        answers = {result.source_call_id: result for result in results}
        for call in step.tool_calls or ():
            result = answers.get(call.tool_call_id)
            self._call(step, call, result)
            for reference in (result.subagent_trajectory_ref or ()) if result else ():
                helper = self._agents.get(reference.trajectory_id or "")
                for inner in helper.steps if helper else ():
                    self.calls(inner)

    def _call(self, step: Step, call: ToolCall, result: ObservationResult | None) -> None:
        text = content_text(result.content or "") if result is not None else ""
        extra = mapping((result.extra or {}).get("harness")) if result is not None else {}
        act = Act("user", step.step_id, keys=(call.tool_call_id,))
        name = call.function_name.rpartition("__")[2].casefold()
        if sign("refused").match(text):  # never ran; without words, an interruption says the rest
            words = sign("reason").search(text)
            self.history += [replace(act, text=words[1].strip(), output="-")] if words else []
        elif name in ("askuserquestion", "request_user_input"):
            for match in sign("answers").finditer(text):
                answer = match["answer"] or string(match["given"]).strip('" ')
                self.history.append(
                    replace(act, text=answer, output=match["asked"] or str(call.arguments))
                )
        elif name == "exec" and (script := string(call.arguments.get("input"))):
            for tool, arguments in called_tools(script):
                self._tool(act, tool, dict(arguments), text, {**extra, "script": True})
        else:
            self._tool(act, name, call.arguments, text, extra)

    def _tool(
        self, act: Act, name: str, arguments: dict[str, JsonValue], text: str, extra: dict[str, Any]
    ) -> None:
        command = _command_of(arguments)
        file_arguments = [path for key in _PATHS if isinstance(path := arguments.get(key), str)]
        patches = name == "apply_patch" or command.lstrip().startswith("apply_patch")
        if self._continued(text, [str(value) for value in arguments.values()], act.keys, name):
            pass
        elif patches or (sign("edits").match(name) and file_arguments):
            output, code, _ = _unwrapped(text)
            if not (extra.get("is_error") or code or "verification failed" in output):
                patch = command or string(arguments.get("patch"))
                paths = file_arguments[:1] or sign("patched").findall(patch) or [""]
                old, new = _replacement(arguments, patch, text)
                self._edit(replace(act, replaced=old, inserted=new), paths, self._home)
        elif sign("commands").match(name) and command:
            workdir = arguments.get("workdir") or mapping(arguments.get("action")).get("workdir")
            folder = self._folder if self._claude else joined(self._home, string(workdir))
            self._command(replace(act, text=command), text, extra, folder)

    def _edit(self, act: Act, paths: Sequence[str], folder: str | None) -> None:
        placed = tuple((joined(folder, path) or path) if path else "" for path in paths)
        self.history.append(replace(act, kind="edit", text="", paths=placed))

    def _command(self, act: Act, text: str, extra: dict[str, Any], folder: str | None) -> None:
        """A command, and the edits that it makes: before it if its tests run behind them."""
        parsed = parse(act.text, folder)
        output, code, quoted = _unwrapped(text)
        started = sign("started").search(text)
        if code is None and self._claude and not (act.by_user or started):
            code = 1 if extra.get("is_error") else 0
        ran = replace(act, kind="command", output=plain(output), exit_code=code, quoted=quoted)
        cut = max((i for i, program in enumerate(parsed.programs) if program.tests), default=0)
        for number, program in enumerate((*parsed.programs[:cut], None, *parsed.programs[cut:])):
            for paths, old, new, hidden in changes(program) if program else ():
                edit = replace(act, replaced=old, inserted=new, hidden=hidden)
                self._edit(edit, paths, program.folder if program else None)
            if number == cut:
                name = next(filter(None, started.groups())) if started else ""
                if name or extra.get("script"):
                    self._running[name or "script"] = len(self.history)
                self.history.append(replace(ran, folder=folder, ended=not started))
        if self._claude and not act.by_user:
            self._folder = self._home if "cwd was reset" in text else parsed.folder

    def _continued(
        self, text: str, values: Sequence[str], keys: tuple[str, ...], name: str = ""
    ) -> bool:
        """Add what a command printed later, where one of the values names it."""
        numbers = [
            number
            for key, number in self._running.items()
            if any(key == value or (len(key) > 5 and key in value) for value in values)
            or (key == "script" and name == "write_stdin")
        ]
        if not numbers:
            return False
        output, code, quoted = _unwrapped(text)
        later = sign("later").search(text)
        added = plain(later[1] if later else sign("numbered").sub("", output))
        act = self.history[numbers[0]]
        self.history[numbers[0]] = replace(
            act,
            output=f"{act.output}\n{added}",
            exit_code=act.exit_code if code is None else code,
            quoted=quoted or act.quoted,
            keys=act.keys + keys,
            ended=act.ended or code is not None or bool(sign("ended").search(text)),
        )
        return True


def _command_of(arguments: dict[str, JsonValue]) -> str:
    """The command line in a call's arguments, whatever the client calls it."""
    fields: Any = mapping(arguments.get("action")) or arguments
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
    head, marked, body = text.partition("\nOutput:\n")
    inner = body.lstrip() if marked else text
    document = mapping(load(inner.encode("utf-8", "replace"))) if inner[:1] == "{" else {}
    if "output" in document:
        code = document.get("exit_code", mapping(document.get("metadata")).get("exit_code"))
        match = sign("exit").search(inner)
        return (
            string(document["output"]),
            code if isinstance(code, int) else None,
            match[0] if match else "",
        )
    polled = sign("polled").match(text)
    match = sign("exit").search(
        text.partition("<output>")[0] if polled else head if marked else text[:40]
    )
    code = int(next(group for group in match.groups() if group is not None)) if match else None
    output = body if marked else text[match.end() :].lstrip("\n") if match and not polled else text
    return output, code, match[0] if match else ""
