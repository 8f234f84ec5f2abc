"""Options of commands whose work may be done in many processes or on many machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


class _Amount(click.ParamType[tuple[str, float]]):
    """`NAME=AMOUNT`."""

    name = "name=amount"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        name, equals, amount = str(value).partition("=")
        try:
            found = float(amount)
        except ValueError:
            found = -1.0
        if not name or not equals or not 0 <= found < float("inf"):
            self.fail(f"expected NAME=AMOUNT such as GPU=0.5, got {value!r}", param, ctx)
        return name, found


def _as_dict(_: click.Context, __: click.Parameter, value: Any) -> dict[str, float]:
    return dict(value)


def fleet_options(command: CommandT) -> CommandT:
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
            type=_Amount(),
            multiple=True,
            callback=_as_dict,
            metavar="NAME=AMOUNT",
            help="That each worker asks Ray for: CPU, GPU, memory (bytes) or a node's own tag.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
