"""`harness completion`: commands, options and files completed by the Tab key."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness.cli.commands import echo, shared_option
from harness.core import write_atomic
from harness.core.errors import BadInput

SHELLS = ("bash", "zsh", "fish")
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


@click.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@shared_option("--install", help="Write it where the shell finds it.")
def completion(shell: str | None, install: bool) -> None:
    """Print the script that completes commands and options in SHELL, or install it.

    SHELL is the one of $SHELL where none is named.

    Example: harness completion --install
    """
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise BadInput(f"expected one of {', '.join(SHELLS)}, found {name!r}: name your shell")
    script = completion_script(name)
    if not install:
        echo(script, end="")
        return
    files = install_completion(name, script, Path.home())
    echo("\n".join(f"wrote {path}" for path in files))
    echo("open a new shell, type `harness ` and press Tab")


def completion_script(shell: str) -> str:
    """Return the script that the shell must read."""
    from click.shell_completion import get_completion_class

    from harness.cli.program import cli

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    script = kind(cli, {}, "harness", "_HARNESS_COMPLETE").source()
    return (_COMPINIT if shell == "zsh" else "") + script


def install_completion(shell: str, script: str, home: Path) -> list[Path]:
    """Write the script, and a line that reads it into the shell's own file, once.

    Args:
        shell: one of `SHELLS`.
        script: of :func:`completion_script`.
        home: of the user.

    Returns:
        The files that were written.
    """
    if shell == "fish":
        path = home / ".config" / "fish" / "completions" / "harness.fish"
        write_atomic(path, script)
        return [path]
    path = home / ".local" / "share" / "harness" / f"completion.{shell}"
    write_atomic(path, script)
    start = home / f".{shell}rc"
    text = start.read_text("utf-8") if start.is_file() else ""
    line = f'[ -r "{path}" ] && . "{path}"\n'
    if line in text:
        return [path]
    start.write_text(text + ("\n" if text and not text.endswith("\n") else "") + line, "utf-8")
    return [path, start]
