"""Command lines that the documentation shows: fenced blocks of pages, and examples of `--help`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from harness.cli import cli

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHELL = ("sh", "console")
_PROGRAMS = re.compile(r"(?:[A-Z_]+=\S+ )*(?:harness|python3?|pip|make|pytest|printf|optimum-cli) ")
_VARIABLE = re.compile(r"[A-Z_]+=\S*")


class Line(NamedTuple):
    """A command as it stands somewhere.

    Attributes:
        place: page or command of the help.
        text: what is typed, continuation lines joined.
    """

    place: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """Its simple commands as words; comments are left out."""
        commands: list[list[str]] = [[]]
        for word in shlex.split(self.text, comments=True):
            if word == "&&":
                commands.append([])
            else:
                commands[-1].append(word)
        return commands


def parse(words: list[str]) -> None:
    """Read words behind `harness` as the command line does, and run nothing.

    Raises:
        click.UsageError: if there is no such command, option or value.
    """
    command: click.Command = cli
    name, parent = "harness", None
    while isinstance(command, click.Group):
        parent = command.make_context(name, list(words), parent=parent)
        inner, found, words = command.resolve_command(
            parent,
            [*parent._protected_args, *parent.args],  # pyright: ignore[reportPrivateUsage]  # click has no public name
        )
        assert inner is not None and found is not None
        name, command = inner, found
    command.make_context(name, words, parent=parent)


def without_variables(words: list[str]) -> list[str]:
    """A command without the variables that are set for it alone."""
    return [word for n, word in enumerate(words) if n or not _VARIABLE.fullmatch(word)]


def page_lines(page: Path) -> Iterator[Line]:
    """The commands of a page's fenced blocks, in order; transcripts mark them with `$ `."""
    for language, body in BLOCK.findall(page.read_text("utf-8")):
        lines = body.replace("\\\n", " ").splitlines()
        marked = [line[2:] for line in lines if line.startswith("$ ")]
        typed = marked or [line for line in lines if language in _SHELL or _PROGRAMS.match(line)]
        if language in ("", *_SHELL):
            yield from (Line(page.name, line.strip()) for line in typed if line.strip())


def help_lines(command: click.Command = cli, path: str = "harness") -> Iterator[Line]:
    """The examples of `--help`, of all commands."""
    context = click.Context(command, info_name=path)
    for example in re.findall(r"Example: (.*)", command.help or ""):
        yield Line(f"{path} --help", example.strip())
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from help_lines(inner, f"{path} {name}")
