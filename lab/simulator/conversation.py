"""The simulated model's view of a request: task, skill, observations, tools and protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

_OBSERVATION = re.compile(r"\s*(?:Observation|\[System Check\])", re.IGNORECASE)
_SKILL_TAG = re.compile(r"<skill\b[^>]*>(.*?)</skill>", re.DOTALL | re.IGNORECASE)
_PATH = re.compile(r"(?<!\S)/\S+")
_LABEL = re.compile(r"^\W*((?:final )?answer):", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Conversation:
    """A chat request as the scripted roles read it.

    Attributes:
        system: text of the system messages.
        opening: text of the first user message.
        task: text of the user message that holds the task.
        observations: what tools returned, oldest first.
        tools: names of native tools, empty where there are none.
        replies: what the model has said so far.
    """

    system: str
    opening: str
    task: str
    observations: tuple[str, ...]
    tools: tuple[str, ...]
    replies: tuple[str, ...]

    @property
    def identity(self) -> str:
        """The task without what differs between attempts (absolute paths)."""
        return _PATH.sub("", _SKILL_TAG.sub("", self.task)).strip()

    @property
    def skill(self) -> str:
        """Text that may hold a skill: system messages, files that were read, `<skill>` parts."""
        tagged = _SKILL_TAG.findall(self.task)
        return "\n".join((self.system, *tagged, *self.observations))

    @property
    def instructions(self) -> str:
        """Everything that may state the protocol."""
        return f"{self.system}\n{self.task}"

    @property
    def text_protocol(self) -> bool:
        """True if actions are written as text."""
        return not self.tools and re.search(r"^\W*Action:", self.instructions, re.M) is not None

    @property
    def label(self) -> str:
        """Label that introduces the final answer."""
        label = _LABEL.search(self.instructions)
        return label[1] if label else "Final answer"

    def can(self, tool: str) -> bool:
        """Return True if the tool may be called, natively or as text."""
        return tool in self.tools or (
            self.text_protocol and re.search(rf"\b{tool}\b", self.instructions) is not None
        )


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Read the body of a chat request."""
    parts: dict[str, list[str]] = {"system": [], "task": [], "observed": [], "replies": []}
    for message in cast("list[dict[str, Any]]", body.get("messages") or []):
        content = message.get("content")
        if isinstance(content, list):
            pieces = cast("list[dict[str, Any]]", content)
            content = "\n".join(str(piece.get("text") or "") for piece in pieces)
        text = str(content or "")
        role = message.get("role")
        if role in ("system", "developer"):
            parts["system"].append(text)
        elif role == "assistant":
            parts["replies"].append(text)
        elif role == "tool" or (parts["task"] and _OBSERVATION.match(text)):
            parts["observed"].append(text)
        else:
            parts["task"].append(text)
    tools = cast("list[dict[str, Any]]", body.get("tools") or [])
    system = "\n".join(parts["system"])
    # Without tools, earlier turns are worked examples and the task stands last; with tools, later
    # user messages are reminders and the task stands first.
    plain = not tools and "Action:" not in system
    return Conversation(
        system=system,
        opening=parts["task"][0] if parts["task"] else "",
        task=(parts["task"][-1 if plain else 0]) if parts["task"] else "",
        observations=tuple(parts["observed"]),
        tools=tuple(str(tool.get("function", {}).get("name", "")) for tool in tools),
        replies=tuple(parts["replies"]),
    )
