"""The program: its commands by intent, and what its errors look like."""

from __future__ import annotations

import errno
import os
import sys

import click

from harness.cli.groups import LazyGroup

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)

INTENTS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "init": ("harness.cli.start:init", "A five-task suite of your own, ready to run."),
        "demo": ("harness.cli.start:demo", "Replay our recorded run; --live does it now."),
        "doctor": ("harness.cli.start:doctor", "What this machine can do, and what to do next."),
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
        "skill": ("harness.cli.skill:skill", "validate | show | diff | explain | export | install"),
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="agent-skill-harness", prog_name="harness")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Make agents better without training, and see why.

    Example: harness demo
    """
    context.obj = {"debug": debug}
    if any(name == "HARNESS_LOG" or name.startswith("OTEL_") for name in os.environ):
        from harness.core.telemetry import telemetry_by_variables

        context.with_resource(telemetry_by_variables())


def main() -> None:
    """Entry point: turns errors into one message and an exit code (DESIGN section 3)."""
    debug = "--debug" in sys.argv[1:]
    try:
        code: object = cli.main(prog_name="harness", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Abort:
        click.echo("harness: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os._exit(0)  # the reader went away (`| head`): nothing is left to say
    except Exception as error:  # the last resort: one line instead of a traceback
        if debug:
            raise
        # Imported here: the room of value types costs more than the whole of `--help`.
        from harness.core.errors import HarnessError

        if isinstance(error, HarnessError):
            message, code = str(error), error.exit_code
        elif isinstance(error, OSError) and error.errno in DISK_ERRORS:
            place = f" ({error.filename})" if error.filename else ""
            message, code = f"{error.strerror}{place}: make room, then resume", 2
        else:
            name = type(error).__name__
            message, code = f"fault of ours: {name}: {error} (--debug shows where)", 1
        click.echo(f"harness: {message}", err=True)
        sys.exit(code)
