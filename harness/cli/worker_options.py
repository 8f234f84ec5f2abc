"""Options of commands whose work may be done in many processes or on many machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def _amounts(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """`NAME=AMOUNT`, several times."""
    found: dict[str, float] = {}
    for text in values:
        name, _equals, amount = text.partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            found[name] = -1.0
        if not name or not 0 <= found[name] < float("inf"):
            raise click.BadParameter(f"expected NAME=AMOUNT such as GPU=0.5, got {text!r}")
    return found


def worker_options(command: CommandT) -> CommandT:
    """Add --executor, --workers and --worker-resource."""
    options = (
        click.option(
            "--executor",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="This machine, or the Ray cluster of RAY_ADDRESS (without it: one begun here).",
        ),
        click.option(
            "--workers",
            type=click.IntRange(0),
            default=0,
            help="Worker processes. Default: none; with ray, as many as the cluster has room for.",
        ),
        click.option(
            "--worker-resource",
            "worker_resources",
            multiple=True,
            callback=_amounts,
            metavar="NAME=AMOUNT",
            help="That each worker asks Ray for: CPU, GPU, memory (bytes) or a node's own tag.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
