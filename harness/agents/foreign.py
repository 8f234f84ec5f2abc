"""Agents that import nothing of ours: a command line, a Python function or a LangGraph graph.

Each attempt is a process of its own whose environment leads to the gateway of the run: whatever
client it builds, its calls are in the run's call store, its budgets hold, and an exit, a hang or a
leak ends the attempt and not the run.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import os
import re
import shlex
import signal
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from harness.agents.child import IMPORTING
from harness.agents.own_graphs import (
    MESSAGES,
    graph_config,
    split_reference,
    state_of,
)
from harness.agents.recording import Recorder
from harness.agents.skills import skill_block
from harness.agents.types import AgentContext, AgentRun, AttemptEnded, Sample, TimeLimit
from harness.core import BadInput, UnfitFile, digest, last_words, read_work_file, shortage
from harness.models import LimitedModel
from harness.sandbox import ForkServer, encode_call, read_result
from harness.skills import copy_skill
from harness.tasks import suite_paths

ANSWER_FILE = "answer.txt"
_SCRIPT = re.compile(r"[^\s{}]+\.(?:py|sh|js|ts|rb|pl)")
SKILL_FOLDERS = (".agents/skills", ".claude/skills")
CHECK_S = 120.0
"""Seconds that a user's file may take to be imported before the first call."""
GRACE_S = 5.0
"""Seconds for the last output of an agent whose processes were killed."""


class CommandAgent:
    """A command line with `{prompt}`, `{workdir}`, `{skill}` and `{suite}` filled in.

    A prompt that begins with a dash gets a space before it, so that no program takes it for an
    option; a trusted command without `{prompt}` reads it on its standard input. It runs in the
    sample's work folder. An argument that is the path of a file, or of a folder with a slash in it,
    is looked up there, then in the suite's folder if the suite names the command, then (of a
    trusted command) in the folder that the harness was started in. The skill is installed where
    clients look for skills, and `{skill}` is its path there ("" without a skill). Its answer is
    what it prints, or the content of `answer.txt` if it writes that file. A trusted command runs as
    the user's own program; one that came with a suite runs in the sandbox, which has no network.

    Raises:
        BadInput: if it is no command line.
    """

    def __init__(self, spec: str, base: Path, trusted: bool) -> None:
        self.spec = spec
        try:
            self._command = shlex.split(spec.removeprefix("cmd:"))
        except ValueError as error:
            raise BadInput(f"{spec!r} is no command line: {error}") from error
        self._base = base
        self._trusted = trusted
        self._folders = (base, Path.cwd()) if trusted else (base,)

    @property
    def lost_files(self) -> set[str]:
        """Scripts that it names and that are in none of its folders; a task may bring them."""
        scripts = {word for word in self._command if _SCRIPT.fullmatch(word)}
        folders = self._folders
        return {name for name in scripts if not any((top / name).is_file() for top in folders)}

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)
        recorder.message("user", sample.prompt)
        values = {
            "prompt": sample.prompt,
            "workdir": str(sample.workdir),
            "skill": install_skill(context.skill, sample.workdir),
            "suite": str(self._base),
        }
        program, *parts = self._command
        if "/" in program:  # a bare name is looked up in PATH
            program = self._located(program, sample.workdir)
        parts = [self._located(part, sample.workdir) for part in parts]
        arguments = [_fill(part, values) for part in [program, *parts]]
        try:
            text = await self._execute(arguments, sample, context)
        except AttemptEnded as error:
            return recorder.run(None, str(error))
        try:
            limit = context.limits.output_bytes  # as of what it prints
            text = read_work_file(sample.workdir, ANSWER_FILE, limit).decode(errors="replace")
        except FileNotFoundError:
            pass
        except UnfitFile as error:
            return recorder.run(None, f"its answer cannot be read: {error}")
        recorder.agent_text(text.strip())
        return recorder.run(text.strip())

    def _located(self, part: str, workdir: Path) -> str:
        """The path of that name, if it is in none but the folders behind the work folder."""
        with contextlib.suppress(OSError):  # too long for a name
            if not (workdir / part).exists():
                paths = (folder / part for folder in self._folders)
                folders = "/" in part
                return next(
                    (str(p) for p in paths if p.is_file() or (folders and p.is_dir())), part
                )
        return part

    async def _execute(self, arguments: list[str], sample: Sample, context: AgentContext) -> str:
        if self._trusted:
            read = "" if "{prompt}" in self._command else sample.prompt
            out = await run_process(arguments, context, sample.workdir, read)
            return out.decode(errors="replace")
        if context.sandbox is None:
            raise BadInput("this agent came with the suite: give --sandbox, or --trust the suite")
        result = await asyncio.to_thread(
            context.sandbox.exec, arguments, workdir=sample.workdir, limits=context.limits,
            env=context.endpoint, readable=suite_paths(self._base),
        )  # fmt: skip
        if not result.ok:
            cause = f"its {result.limit} limit" if result.limit else f"exit code {result.exit_code}"
            raise AttemptEnded(
                f"the agent came with the suite and ended with {cause} in the sandbox, without "
                f"network (--trust runs it outside): {last_words(result.stderr)}"
            )
        return result.stdout


class PythonAgent:
    """A function of any of `prompt`, `workdir` and `skill`, sync or async, or a graph of messages.

    A graph takes `{"messages": […]}`, with the skill's text in a system message, or the text of
    both under the key of its state that :func:`harness.agents.own_graphs.input_key` finds; its
    spec then says which. A `skill_key` in the spec takes the skill's text apart from the prompt.

    Raises:
        BadInput: if the file cannot be imported, or the name in it is neither.
    """

    def __init__(self, spec: str, base: Path, function: str = "") -> None:
        """Import it once; `function` is a pickled one, in place of that of a file."""
        kind, _, reference = spec.partition(":")
        reference, options = split_reference(reference) if kind == "graph" else (reference, {})
        if IMPORTING in os.environ:  # each process of an agent would start the next one
            raise BadInput(
                "the module of an agent starts a run of its own when it is imported: put what runs "
                'below `if __name__ == "__main__":`'
            )
        self._request: dict[str, Any] = {
            "kind": kind, "reference": reference, "base": str(base), "path": sys.path,
            "function": function, "options": options,
        }  # fmt: skip
        # A client that is built on import needs a key; it has nobody to ask.
        nowhere = {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        self._server = ForkServer("harness.agents.child:outcome", nowhere)
        with self._server.connect() as connection, connection.makefile("rb") as stream:
            connection.settimeout(CHECK_S)
            try:
                connection.sendall(encode_call(self._request, {}))
                self._imported = read_result(stream.read())
            except TimeoutError as error:
                raise BadInput(f"importing {reference!r} took more than {CHECK_S:g} s") from error
            except ConnectionError:
                self._imported = read_result(b"")
        if "ignores_skill" not in self._imported:
            reason = self._imported.get("bad_input") or f"{spec!r}: {self._imported['error']}"
            raise BadInput(reason)
        self.ignores_skill = bool(self._imported["ignores_skill"])
        self._key = str(self._imported["input_key"])
        if kind == "graph" and self._key != MESSAGES:
            spec = f"graph:{reference}?{urlencode({**options, 'input_key': self._key})}"
        self.spec = spec

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)
        request = dict(self._request)
        if self._request["kind"] == "py":
            recorder.message("user", sample.prompt)
            skill = install_skill(context.skill, sample.workdir) or None
            request["arguments"] = [sample.prompt, str(sample.workdir), skill]
        else:
            skill = None if context.loaded_skill is None else context.loaded_skill.skill
            block = skill_block(skill, "preloaded", readable=False)
            messages = [{"role": "system", "content": block}] if block else []
            messages.append({"role": "user", "content": sample.prompt})
            for message in messages:
                recorder.message(message["role"], message["content"])
            skill_key = self._request["options"].get("skill_key", "")
            request["state"] = state_of(messages, self._key, skill_key)
            request["config"] = graph_config(sample.workdir)
        try:
            result = await self._call(request, context)
        except AttemptEnded as error:
            return recorder.run(None, str(error))
        if "answer" not in result:
            reason = result.get("error") or result.get("bad_input")
            return recorder.run(None, f"the agent failed: {reason}")
        recorder.agent_text(result["answer"])
        return recorder.run(result["answer"])

    async def _call(self, request: dict[str, Any], context: AgentContext) -> dict[str, Any]:
        """Make a call in a forked process, within the limits."""
        self._server.learn(self._imported)
        connection = self._server.connect()
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        reading = asyncio.ensure_future(reader.read())
        try:
            writer.write(encode_call(request, context.endpoint))
            await _work_within_limits(reading, context)
        finally:
            with contextlib.suppress(OSError):
                writer.write_eof()  # ends all of it; the other side is closed behind the last one
            await asyncio.wait([reading], timeout=GRACE_S)
            reading.cancel()
            writer.close()
        result = read_result(reading.result() if reading.exception() is None else b"")
        self._server.learn({"modules": result.get("modules", [])})
        if code := result.get("exit_code"):
            raise AttemptEnded(f"the agent ended with exit code {code}: {result['error']}")
        return result


def function_agent(function: Callable[..., Any]) -> PythonAgent:
    """An agent that is a function of this process, such as one of a notebook.

    Every attempt gets a copy of it in a process of its own, as a function of a file does: the
    clients that it builds reach the gateway.

    Raises:
        BadInput: as :func:`pickled_function`.
    """
    name, pickled = pickled_function(function)
    return PythonAgent(f"py:{name}", Path.cwd(), pickled)


def pickled_function(function: Callable[..., Any]) -> tuple[str, str]:
    """A name that changes with the function's code, and the function in base 64.

    Raises:
        BadInput: if it is no function, or cannot be copied (it holds a client or a lock, say).
    """
    import cloudpickle  # pyright: ignore[reportMissingTypeStubs]  # it ships none

    if not callable(function):
        raise BadInput(f"expected a spec or a function as the agent, got {function!r}")
    name = getattr(function, "__name__", type(function).__name__)
    try:
        pickled: bytes = cast("Any", cloudpickle).dumps(function)
    except Exception as error:  # whatever an object raises that cannot be copied
        raise BadInput(
            f"the function {name!r} cannot be copied into a process of its own ({error}): build "
            "clients inside it"
        ) from error
    try:
        code: Any = inspect.getsource(function)
    except (OSError, TypeError):
        code = base64.b64encode(pickled).decode()
    return f"{name}-{digest(code)[:12]}", base64.b64encode(pickled).decode()


def _fill(part: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        if part == "{" + name + "}":
            # The whole argument: its text is never looked at again, and it is no option.
            return f" {value}" if value.startswith("-") else value
    for name in ("workdir", "skill", "suite"):
        part = part.replace("{" + name + "}", values[name])
    return part


async def run_process(
    arguments: Sequence[str], context: AgentContext, workdir: Path, read: str = ""
) -> bytes:
    """Run a process to its end; returns its standard output. Whatever it started is killed.

    Args:
        arguments: program and arguments.
        context: limits, and the variables that lead to the gateway. What the calls of its model
            wait is not counted.
        workdir: where it runs.
        read: its standard input.

    Raises:
        BadInput: if it cannot be started.
        TimeLimit: if it takes longer than the limit.
        AttemptEnded: if it ends with another exit code than 0.
    """
    try:
        # A file, because a pipe to a program that ends without reading it breaks.
        with tempfile.TemporaryFile() if read else contextlib.nullcontext() as stdin:
            if stdin is not None:
                stdin.write(read.encode(errors="replace"))
                stdin.seek(0)
            process = await asyncio.create_subprocess_exec(
                *arguments,
                cwd=workdir,
                env={**os.environ, **context.endpoint},
                stdin=stdin or asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
    except OSError as error:
        # uvloop says -1 where a pipe cannot be made.
        unknown = "no more open files" if error.errno == -1 else error.strerror
        why = shortage(error) or unknown
        raise BadInput(f"cannot start the agent {arguments[0]!r}: {why}") from error
    reading = asyncio.ensure_future(process.communicate())
    try:
        await _work_within_limits(reading, context, process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(reading), GRACE_S)
        reading.cancel()
    out, err = reading.result() if reading.done() and not reading.cancelled() else (b"", b"")
    if process.returncode != 0:
        tail = last_words(err.decode(errors="replace")) or "it printed no reason"
        raise AttemptEnded(f"the agent ended with exit code {process.returncode}: {tail}")
    return out


async def _work_within_limits(
    reading: asyncio.Future[Any], context: AgentContext, process: Process | None = None
) -> None:
    """Wait until all is read, or a process ends whose pipes another one may hold.

    Raises:
        TimeLimit: if it takes longer than the limit; calls of the model that wait are not counted.
    """
    began, model = time.monotonic(), context.model
    while not reading.done() and (process is None or process.returncode is None):
        await asyncio.wait([reading], timeout=0.05)
        limited = isinstance(model, LimitedModel)
        seconds = model.worked_s if limited else time.monotonic() - began
        if seconds > context.limits.wall_s:
            raise TimeLimit(
                f"the agent took more than {context.limits.wall_s:g} s of work "
                "(--time-limit, --working-limit)"
            )


def install_skill(skill: Path | None, workdir: Path) -> str:
    """Copy the skill into the folders where clients look; return the first copy's path."""
    if skill is None:
        return ""
    for folder in SKILL_FOLDERS:
        copy_skill(skill, workdir, f"{folder}/{skill.name}")
    return str(workdir / SKILL_FOLDERS[0] / skill.name)
