"""Environments of plan-act-reflect agents: the protocol, and reading an action.

The state of an environment is JSON, so that a checkpoint holds it and a resumed loop goes on in the
same place. A reply is one action in a line, `Action: Name (argument)`; it is compared with what the
environment offers, and nothing else is carried out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from harness.core import Value
from harness.models import Model
from harness.synth.asking import say
from harness.tasks.answers import normalise

BACK, STOP, TYPE = "Back", "Stop", "Type"
Mark = Literal["A", "B", "C", "unread"]
"""Of a reflection: as intended, a wrong page, no change; unread counts as none of them."""
_ACTION = re.compile(r"^\W*action\W*?:\s*([A-Za-z ]+?)\s*(?:\((.*)\))?\W*$", re.I | re.MULTILINE)
_OPERATION = re.compile(r"^\W*operation\W*?:\s*(\S.*)$", re.I | re.MULTILINE)
_MARK = re.compile(r"^\W*result\W*?:\W*([ABC])\W*$", re.MULTILINE | re.I)
Step = tuple[Any, ...]
"""JSON values."""
_NOTHING = ("none", "nothing", "na", "")


class Action(Value):
    """Action to take.

    Attributes:
        operation: in the agent's words, for the history.
    """

    name: str
    argument: str = ""
    operation: str = ""


class Environment(Protocol):
    """Something with screens."""

    @property
    def actions(self) -> dict[str, str]:
        """Name -> what it does and takes, of all that can be done now; `Back` and `Stop` included.

        `Type` is there only while something can be typed into.
        """
        ...

    def observe(self) -> str:
        """The screen as text."""
        ...

    def picture(self) -> bytes | None:
        """The screen as a PNG for a model that sees; None if the text is all there is."""
        ...

    def act(self, action: Action) -> None:
        """Carry out an action that is offered; one without effect is no error."""
        ...

    def save(self) -> JsonValue:
        """The state."""
        ...

    def restore(self, state: JsonValue) -> None:
        """Go back to a state."""
        ...


class Trail(ABC):
    """An environment whose state is the steps that led to its screen; `Back` drops the last.

    A step that cannot be carried out, or changes nothing that can be seen, is not taken.
    """

    def __init__(self, start: Step) -> None:
        self.steps = [start]
        self._shown: tuple[list[Step], str | None] = [], None

    @abstractmethod
    def step(self, action: Action) -> Step | None:
        """The step that an action is; None if it is none."""

    @abstractmethod
    def show(self, steps: list[Step]) -> str | None:
        """The screen after steps; None if they cannot be carried out."""

    def picture(self) -> bytes | None:
        """See :class:`Environment`."""
        return None

    def observe(self) -> str:
        """See :class:`Environment`."""
        return self._screen(self.steps) or ""

    def act(self, action: Action) -> None:
        """See :class:`Environment`."""
        if action.name == BACK:
            self.steps = self.steps[:-1] or self.steps
        elif (step := self.step(action)) is not None:
            before, steps = self.observe(), [*self.steps, step]
            if self._screen(steps) not in (None, before):
                self.steps = steps

    def save(self) -> JsonValue:
        """The steps."""
        return [[*step] for step in self.steps]

    def restore(self, state: JsonValue) -> None:
        """See :class:`Environment`."""
        value: Any = state
        self.steps = [tuple(step) for step in value]

    def _screen(self, steps: list[Step]) -> str | None:
        if self._shown[0] != steps:
            self._shown = steps, self.show(steps)
        return self._shown[1]


@dataclass
class Agent:
    """The context of `examples/screens/plan_act_reflect.py`.

    Attributes:
        sees: decides, remembers and reflects, by the screen.
        plans: writes the progress, by text alone.
        steps: actions, at most.
        pictures: whether `sees` takes pictures of the screen beside its text.
    """

    environment: Environment
    sees: Model
    plans: Model
    steps: int = 20
    seed: int = 41
    pictures: bool = False

    async def look(self, prompt: str, *states: JsonValue) -> str:
        """The reply of the model that sees to a prompt on the screens of states, in their order.

        The environment is in the last of the states afterwards.

        Raises:
            Unjudged: if the model cannot be asked.
        """
        parts: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
        for state in states if self.pictures else ():
            self.environment.restore(state)
            if (picture := self.environment.picture()) is not None:
                url = f"data:image/png;base64,{b64encode(picture).decode('ascii')}"
                parts.append({"type": "image_url", "image_url": {"url": url}})
        return await self.ask(self.sees, parts if len(parts) > 1 else prompt)

    async def ask(self, model: Model, content: str | list[dict[str, Any]]) -> str:
        """The reply to a prompt.

        Raises:
            Unjudged: if the model cannot be asked.
        """
        messages = [{"role": "user", "content": content}]
        return await say(model, messages, seed=self.seed, temperature=0.0, tokens=400)


def read_action(reply: str, offered: Sequence[str]) -> tuple[Action | None, str]:
    """The action of a reply, or why there is none: it must be one that is offered."""
    rows = _ACTION.findall(reply)
    if len(rows) != 1:
        return None, f"expected one line 'Action: Name (argument)', found {len(rows)}"
    name, argument = rows[0]
    known = {normalise(other): other for other in offered}.get(normalise(name))
    if known is None:
        return None, f"{name!r} cannot be done now: only {', '.join(offered)}"
    operation = _OPERATION.search(reply)
    text = operation[1].strip() if operation else f"{known} {argument}".strip()
    return Action(name=known, argument=argument.strip(), operation=text), ""


def read_mark(reply: str) -> Mark:
    """The letter of a reflection: a line of its own, not any capital A of a text."""
    marks: dict[str, Mark] = {"A": "A", "B": "B", "C": "C"}
    letters = {letter.upper() for letter in _MARK.findall(reply)}
    return marks[letters.pop()] if len(letters) == 1 else "unread"


def remembered(memory: Sequence[str], reply: str) -> list[str]:
    """The memory with what a reply adds: nothing new is added twice, and "None" as a whole is
    nothing, where a text that holds the word is something."""
    text = " ".join(reply.split())
    same = {normalise(row) for row in memory}
    return [*memory] if normalise(text) in {*same, *_NOTHING} else [*memory, text]
