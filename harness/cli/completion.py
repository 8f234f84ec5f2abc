"""`harness completion`: commands, options and files completed by the Tab key."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from harness.cli.commands import echo, shared_option
from harness.core import assets, write_atomic
from harness.core.errors import BadInput
from harness.core.plugins import plugins

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


def candidates(name: str, typed: str) -> list[CompletionItem]:
    """List values of a parameter that begin with what is typed; without one, paths are offered.

    Args:
        name: of the parameter; all but `check`, `suite`, `model` and `models` take a skill.
        typed: so far.
    """
    if name == "check":
        from harness.tasks import check_names

        values = check_names()
    elif name == "suite":
        values = [path.stem for path in (assets.root() / "evals").glob("*.yaml")]
        values += map(str, Path().glob("[!.]*"))
    elif name in ("model", "models"):
        point, role = plugins("weights").get("local"), typed[: typed.find("=") + 1]
        local = getattr(import_module(point.module), "KNOWN", ()) if point else ()
        kinds = ("openai/", "vllm/", "replay/", "simulated/", "scripted/", "none")
        values = [role + spec for spec in (*kinds, *(f"local/{weights}" for weights in local))]
    else:
        client_folders = (".agents", ".claude", ".cursor", ".gemini", ".github")
        folders = [path for path in Path().glob("[!.]*") if path.is_dir()]
        folders += [Path(name) for name in client_folders]
        values = [
            str(path.parent)
            for folder in folders
            for depth in ("", "*/", "*/*/")
            for path in folder.glob(f"{depth}SKILL.md")
        ]
    items = [CompletionItem(value) for value in sorted(values) if value.startswith(typed)]
    return items or [CompletionItem(typed, type="file")]


def completion_script(shell: str) -> str:
    """Return the script that the shell must read."""
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
