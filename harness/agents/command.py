"""Agents that are a command line or a Python function."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.agents.limits import AttemptEnded, TimeLimit
from harness.agents.recording import Recorder
from harness.agents.types import AgentContext, AgentRun, Sample
from harness.core import BadInput
from harness.sandbox import Limits

ANSWER_FILE = "answer.txt"
SKILL_FOLDERS = (".agents/skills", ".claude/skills")


class CommandAgent:
    """A command line with `{prompt}`, `{workdir}`, `{skill}` and `{suite}` filled in.

    It runs in the sample's work folder. The skill is installed where clients look for skills,
    and `{skill}` is its path there ("" without a skill). Its answer is what it prints, or the
    content of `answer.txt` if it writes that file. A trusted command runs as the user's own
    program; one that came with a suite runs in the sandbox, which has no network.
    """

    def __init__(self, spec: str, base: Path, trusted: bool) -> None:
        self.spec = spec
        self._command = spec.removeprefix("cmd:")
        self._base = base
        self._trusted = trusted

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)
        recorder.message("user", sample.prompt)
        skill = install_skill(context.skill, sample.workdir)
        values = {
            "prompt": sample.prompt,
            "workdir": str(sample.workdir),
            "skill": skill,
            "suite": str(self._base),
        }
        arguments = [_fill(part, values) for part in shlex.split(self._command)]
        try:
            text = await self._execute(arguments, sample.workdir, context)
        except AttemptEnded as error:
            return recorder.run(None, str(error))
        written = sample.workdir / ANSWER_FILE
        answer = written.read_text("utf-8", errors="replace") if written.is_file() else text
        recorder.agent_text(answer.strip())
        return recorder.run(answer.strip())

    async def _execute(self, arguments: list[str], workdir: Path, context: AgentContext) -> str:
        environment = context.endpoint
        if self._trusted:
            return await _own_process(arguments, workdir, environment, context.limits)
        if context.sandbox is None:
            raise BadInput("this agent came with the suite: give --sandbox, or --trust the suite")
        result = await asyncio.to_thread(
            context.sandbox.exec, arguments, workdir=workdir, limits=context.limits,
            env=environment, readable=[self._base],
        )  # fmt: skip
        if not result.ok:
            cause = result.limit or f"exit code {result.exit_code}"
            raise AttemptEnded(f"the agent ended with {cause}: {result.stderr.strip()[-400:]}")
        return result.stdout


def _fill(part: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        if part == "{" + name + "}":
            return value  # the whole argument: its text is never looked at again
    for name in ("workdir", "skill", "suite"):
        part = part.replace("{" + name + "}", values[name])
    return part


async def _own_process(
    arguments: list[str], workdir: Path, environment: dict[str, str], limits: Limits
) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            cwd=workdir,
            env={**os.environ, **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise BadInput(f"cannot start the agent {arguments[0]!r}: {error.strerror}") from error
    try:
        out, err = await asyncio.wait_for(process.communicate(), limits.wall_s)
    except TimeoutError as error:
        raise TimeLimit(f"the agent took more than {limits.wall_s:g} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        tail = err.decode(errors="replace").strip()[-400:]
        raise AttemptEnded(f"the agent ended with exit code {process.returncode}: {tail}")
    return out.decode(errors="replace")


def install_skill(skill: Path | None, workdir: Path) -> str:
    """Copy the skill into the folders where clients look; return the first copy's path."""
    if skill is None:
        return ""
    for folder in SKILL_FOLDERS:
        shutil.copytree(skill, workdir / folder / skill.name, dirs_exist_ok=True)
    return str(workdir / SKILL_FOLDERS[0] / skill.name)


class FunctionAgent:
    """A Python function `(prompt, workdir, skill) -> answer`, sync or async, in this process."""

    def __init__(self, spec: str, function: Callable[[str, str, str | None], Any]) -> None:
        self.spec = spec
        self._function = function

    async def run(self, sample: Sample, context: AgentContext) -> AgentRun:
        """Attempt one sample."""
        recorder = Recorder(self.spec, sample, context)
        recorder.message("user", sample.prompt)
        skill = install_skill(context.skill, sample.workdir) or None
        arguments = (sample.prompt, str(sample.workdir), skill)
        try:
            if inspect.iscoroutinefunction(self._function):
                answer = await asyncio.wait_for(self._function(*arguments), context.limits.wall_s)
            else:
                answer = await asyncio.to_thread(self._function, *arguments)
        except Exception as error:  # noqa: BLE001  # a user's function may fail in any way
            return recorder.run(None, f"the agent failed: {type(error).__name__}: {error}")
        recorder.agent_text(str(answer))
        return recorder.run(str(answer))
