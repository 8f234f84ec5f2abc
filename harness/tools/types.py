"""Contract of tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from harness.core import tracing
from harness.sandbox import Limits, Sandbox

Arguments = dict[str, JsonValue]


@dataclass(frozen=True)
class Bench:
    """Resources that tools may touch during one attempt.

    Attributes:
        workdir: the sample's work folder.
        sandbox: runs code, or None where no tool runs code.
        limits: of each execution.
        skill: skill directory, or None.
    """

    workdir: Path
    sandbox: Sandbox | None = None
    limits: Limits = field(default_factory=Limits)
    skill: Path | None = None


@dataclass(frozen=True)
class Tool:
    """A function that a model may call.

    Attributes:
        name: as the model names it.
        description: one or two sentences for the model.
        parameters: JSON schema of the arguments.
        run: takes checked arguments and the bench; returns the observation as text.
    """

    name: str
    description: str
    parameters: dict[str, JsonValue]
    run: Callable[[Arguments, Bench], Awaitable[str]]

    async def call(self, arguments: Arguments, bench: Bench, call_id: str = "") -> str:
        """Run it, before the eyes of whoever watches.

        Args:
            arguments: checked by the tool.
            bench: what it may touch.
            call_id: of the call, as the model gave it.

        Raises:
            ToolArgumentError: if the arguments do not fit.
        """
        with tracing.operation("execute_tool", self.name, call_id=call_id) as operation:
            result = await self.run(arguments, bench)
            operation.say(arguments=arguments, result=result)
            return result

    def schema(self) -> dict[str, JsonValue]:
        """The tool in the form of the OpenAI API."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


class ToolArgumentError(Exception):
    """The model called a tool with arguments that do not fit; the message goes back to it."""


def text_argument(arguments: Arguments, name: str) -> str:
    """The text argument `name`.

    Raises:
        ToolArgumentError: if it is missing, no text, or has a NUL character in it.
    """
    value = arguments.get(name)
    if not isinstance(value, str):
        kind = "nothing" if value is None else type(value).__name__
        raise ToolArgumentError(f"expected the text argument {name!r}, found {kind}")
    if "\0" in value:  # no path and no command can hold it
        raise ToolArgumentError(f"expected text in the argument {name!r}, found a NUL character")
    return value
