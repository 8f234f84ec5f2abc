"""The program: its commands by intent, each imported when it is used, and how errors look."""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from io import StringIO
from typing import Any, TypeVar

import click

from harness.cli.commands import echo, shared_option
from harness.cli.terminal import BAD, tinted
from harness.core.errors import BadInput, HarnessError, shortage
from harness.core.plugins import load, plugins
from harness.core.terminal import printable, shown

CommandT = TypeVar("CommandT", bound=click.Command)
PLUGIN_HEADING = "Plugins"
FIRST = ("init", "eval", "view", "compare", "evolve", "skill", "debug", "ask")
"""Commands that `harness --help` lists before all others, in the order of their use."""


def intent(heading: str) -> Callable[[CommandT], CommandT]:
    """Under which heading of `harness --help` a plugin's command is listed."""

    def mark(command: CommandT) -> CommandT:
        setattr(command, "intent", heading)  # noqa: B010 - click's commands have no such field
        return command

    return mark


class LazyGroup(click.Group):
    """Commands by intent: heading -> name -> (`module:attribute`, one-line help).

    Args:
        intents: the table of the group's own commands.
        path: words in front of a plugin's subcommand: "skill" for `skill audit`, "" at the top.
    """

    def __init__(
        self,
        *args: Any,
        intents: dict[str, dict[str, tuple[str, str]]],
        path: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.intents = intents
        self.path = path
        self._lazy = {name: entry for group in intents.values() for name, entry in group.items()}

    def plugin_names(self) -> list[str]:
        """Names of the commands that plugins add to this group."""
        if self.path is None:
            return []
        start = f"{self.path} ".lstrip()
        names = (name.removeprefix(start) for name in plugins("commands") if name.startswith(start))
        return [name for name in names if " " not in name]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, then those of plugins."""
        return [*self._lazy, *super().list_commands(ctx), *self.plugin_names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name in self._lazy:
            module, _, attribute = self._lazy[cmd_name][0].partition(":")
            command = getattr(import_module(module), attribute)
        elif cmd_name not in self.commands and cmd_name in self.plugin_names():
            command = load("commands", f"{self.path} {cmd_name}".lstrip())
        else:
            return super().get_command(ctx, cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"the command {cmd_name!r} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command like click, and suggest a name for a misspelt one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            message = error.format_message()
            close = get_close_matches(args[0], self.list_commands(ctx), 1)
            if close and "Did you mean" not in message:  # click says so of some
                message += f" Did you mean {close[0]!r}?"
                raise click.UsageError(message, ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their intents; only those of plugins are imported."""
        sections = {
            heading: [(name, help_) for name, (_, help_) in entries.items()]
            for heading, entries in self.intents.items()
        }
        if self.commands:
            rows = [
                (name, command.get_short_help_str(80)) for name, command in self.commands.items()
            ]
            sections.setdefault("Commands", [])[:0] = rows
        for name in self.plugin_names():
            usual = PLUGIN_HEADING if self.path == "" else next(iter(sections), "Commands")
            try:
                command = self.get_command(ctx, name)
            except (BadInput, TypeError) as error:  # of another package: ours still work
                reason = printable(f"does not load: {error}")
                sections.setdefault(usual, []).append((name, reason))
                continue
            assert command is not None, "it was listed"
            heading = getattr(command, "intent", usual)
            row = (name, command.short_help or command.get_short_help_str(80))
            sections.setdefault(heading, []).append(row)
        if self.path == "":
            rows = {row[0]: row for rows in sections.values() for row in rows}
            remaining = {
                heading: [row for row in rows if row[0] not in FIRST]
                for heading, rows in sections.items()
            }
            sections = {"Start here": [rows[name] for name in FIRST if name in rows], **remaining}
        for heading, rows in sections.items():
            if not rows:
                continue
            with formatter.section(heading):
                formatter.write_dl(rows)


class DefaultGroup(LazyGroup):
    """A group whose first command may be left out: `compress --query ...` is `compress keep`."""

    @property
    def default(self) -> str:
        """The command that is meant where none is named: the first of the table."""
        return next(name for group in self.intents.values() for name in group)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the first command before arguments that name none."""
        names_command = bool(args) and (
            args[0] in self.list_commands(ctx) or args[0] in ("-h", "--help")
        )
        return super().parse_args(ctx, args if names_command else [self.default, *args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options of the first command, then the others."""
        first = self.get_command(ctx, self.default)
        if first is not None:
            first.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


INTENTS: dict[str, dict[str, tuple[str, str]]] = {
    "Set up": {
        "try": ("harness.cli.start:try_tasks", "Your tasks and your agent: five of them, now."),
        "init": ("harness.cli.start:init", "A suite of your own, ready to run."),
        "doctor": ("harness.cli.start:doctor", "What this machine can do, and what to do next."),
        "completion": ("harness.cli.completion:completion", "Commands completed by the Tab key."),
        "corpora": ("harness.cli.corpora:corpora", "list | show | pull | generate | convert"),
    },
    "Answer": {},
    "Measure": {
        "eval": ("harness.cli.eval:evaluate", "Run an agent over a suite and score it; ctl."),
        "compare": ("harness.cli.runs:compare", "Two or more runs, paired, with intervals."),
        "runs": ("harness.cli.runs:runs", "list | prune"),
    },
    "Improve": {
        "evolve": ("harness.cli.evolve:evolve", "Distil a skill from trajectories, and gate it."),
        "skill": (
            "harness.cli.skill.commands:skill",
            "show | diff | explain | export | install",
        ),
    },
    "Look inside": {
        "trajectories": (
            "harness.cli.trajectories:trajectories",
            "import | export | list | show | replay | stats",
        ),
    },
}
"""Commands of the spine; wings add theirs as plugins (`harness.commands`)."""


@click.group(
    cls=LazyGroup,
    intents=INTENTS,
    path="",
    epilog="Words such as receipt, look, habit and detectable lift: docs/glossary.md.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="agent-skill-harness", prog_name="harness")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@shared_option("--yes", help="Fetch a model that is missing, without asking.")
@click.pass_context
def cli(context: click.Context, debug: bool, yes: bool) -> None:
    """Make agents better without training, and see why.

    Example: harness demo
    """
    context.obj = {"debug": debug}
    if yes:
        os.environ["HARNESS_AUTO_PULL"] = "1"  # for worker processes as well
    if any(name == "HARNESS_LOG" or name.startswith("OTEL_") for name in os.environ):
        from harness.core.telemetry import telemetry_by_variables

        context.with_resource(telemetry_by_variables())


def _make_printable() -> None:
    """Libraries warn with what stands in files: they print it as we do."""
    shape, handler = warnings.formatwarning, logging.lastResort

    def formatted(*words: Any, **options: Any) -> str:
        return printable(shape(*words, **options))

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return printable(super().format(record))

    warnings.formatwarning = formatted
    if handler is not None:
        handler.setFormatter(Formatter())


def _stop(*_: object) -> None:
    """Do on SIGTERM (a scheduler, `timeout`) what Ctrl-C does."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Entry point: turns errors into one message and an exit code."""
    debug = "--debug" in sys.argv[1:]
    _make_printable()
    signal.signal(signal.SIGTERM, _stop)
    # LangGraph leaves its tasks so when Ctrl-C ends them.
    warnings.filterwarnings("ignore", "coroutine 'arun_with_retry' was never", RuntimeWarning)
    try:
        code: object = cli.main(prog_name="harness", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        message = StringIO()
        error.show(message)
        echo(message.getvalue(), end="", err=True)
        sys.exit(2)
    except click.exceptions.Abort:
        echo("harness: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os._exit(0)  # the reader went away (`| head`): nothing is left to say
    except Exception as error:  # noqa: BLE001  # the last resort: one line, no traceback
        if debug:
            echo(traceback.format_exc(), end="", err=True)
        if isinstance(error, HarnessError):
            message, code = str(error), error.exit_code
        elif (lacking := shortage(error)) is not None:
            message, code = lacking, 2
        else:
            name = type(error).__name__
            message, code = f"fault of ours: {name}: {error} (--debug shows where)", 1
        echo(shown([tinted("harness:", BAD), message], " "), err=True)
        sys.exit(code)
