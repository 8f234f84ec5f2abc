"""A click group that imports a command's module when the command is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Commands by intent: heading -> name -> (`module:attribute`, one-line help)."""

    def __init__(self, *args: Any, intents: dict[str, dict[str, tuple[str, str]]], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.intents = intents
        self._lazy = {name: entry for group in intents.values() for name, entry in group.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return [*self._lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{attribute} is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their intents, from the table: nothing is imported."""
        for intent, entries in self.intents.items():
            with formatter.section(intent):
                formatter.write_dl([(name, help_) for name, (_, help_) in entries.items()])


class DefaultGroup(LazyGroup):
    """A group whose first command may be left out: `compress --query ...` is `compress keep`."""

    @property
    def default(self) -> str:
        """The command that is meant where none is named: the first of the table."""
        return next(name for group in self.intents.values() for name in group)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the first command before arguments that name none."""
        named = bool(args) and (args[0] in self.list_commands(ctx) or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else [self.default, *args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options of the first command, then the others."""
        first = self.get_command(ctx, self.default)
        if first is not None:
            first.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
