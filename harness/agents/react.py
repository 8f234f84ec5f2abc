"""What the ReAct graph is given at run time, and how one attempt becomes a trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.agents.types import ToolProtocol
from harness.core import render
from harness.models import Model, Sampling
from harness.tools import Bench, Tool

MOST_FORMAT_ERRORS = 5
"""Format errors in a row after which an attempt is invalid. They use up no turn."""


@dataclass(frozen=True)
class ReactContext:
    """Runtime context of `graphs/react.py`: everything that is not state.

    Attributes:
        model: answers the calls.
        sampling: their parameters.
        bench: what tools may touch.
        tools: tools the model may call; none makes a single-call question answerer.
        protocol: native tool calls, or the text protocol.
        skill: the skill's part of the system prompt, or "".
        output_file: file that must exist at the end, or "".
        max_turns: model calls, format errors not counted.
        on_event: told of every event.
    """

    model: Model
    sampling: Sampling
    bench: Bench
    tools: tuple[Tool, ...] = ()
    protocol: ToolProtocol = "native"
    skill: str = ""
    output_file: str = ""
    max_turns: int = 100
    on_event: Callable[[dict[str, Any]], None] | None = None

    def system_prompt(self) -> str:
        """The system prompt, rendered when a call is made: it is never part of the state."""
        return self._rendered

    @cached_property
    def _rendered(self) -> str:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.tools
        ]
        return render(
            "react_system",
            skill=self.skill,
            tools=tools,
            protocol=self.protocol,
            output_file=self.output_file,
        )

    def tell(self, event: dict[str, Any]) -> None:
        """Pass an event on."""
        if self.on_event is not None:
            self.on_event(event)
