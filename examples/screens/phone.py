"""A scripted phone: screens, what can be tapped on them, a text field; for exact tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from examples.screens.environments import BACK, STOP, TYPE, Action

HOME = "home"


@dataclass
class Screen:
    """One screen.

    Attributes:
        text: that it shows; `{typed}` is what was typed.
        taps: label -> screen that it leads to; the same screen is no change.
        keyboard: whether it can be typed into.
    """

    text: str
    taps: dict[str, str] = field(default_factory=dict[str, str])
    keyboard: bool = False


@dataclass
class Phone:
    """Implements :class:`examples.screens.environments.Environment`.

    Attributes:
        screens: by name; `home` is the first.
        log: actions that were carried out.
    """

    screens: dict[str, Screen]
    stack: list[str] = field(default_factory=lambda: [HOME])
    typed: str = ""
    log: list[Action] = field(default_factory=list[Action])

    @property
    def actions(self) -> dict[str, str]:
        """See :class:`examples.screens.environments.Environment`."""
        offered = {"Tap": "a label on the screen", BACK: "to the screen before", "Home": "home",
                   STOP: "when all is done"}  # fmt: skip
        if self.screens[self.stack[-1]].keyboard:
            offered[TYPE] = "a text"
        return offered

    def observe(self) -> str:
        """The text of the screen, with what can be tapped."""
        screen = self.screens[self.stack[-1]]
        return f"{screen.text.format(typed=self.typed)} {sorted(screen.taps)}"

    def picture(self) -> None:
        """There is none: the text is all."""

    def act(self, action: Action) -> None:
        """Carry out an action; a label that is not there does nothing."""
        self.log.append(action)
        target = self.screens[self.stack[-1]].taps.get(action.argument)
        if action.name == "Tap" and target not in (None, self.stack[-1]):
            self.stack = [*self.stack, target]
        elif action.name == BACK and len(self.stack) > 1:
            self.stack = self.stack[:-1]
        elif action.name == "Home":
            self.stack = [HOME]
        elif action.name == TYPE and self.screens[self.stack[-1]].keyboard:
            self.typed = action.argument

    def save(self) -> JsonValue:
        """The stack of screens and what was typed."""
        return {"stack": [*self.stack], "typed": self.typed}

    def restore(self, state: JsonValue) -> None:
        """See :class:`examples.screens.environments.Environment`."""
        value: Any = state
        self.stack, self.typed = [*value["stack"]], value["typed"]
