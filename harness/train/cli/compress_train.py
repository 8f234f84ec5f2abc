"""The old name of the training of the token critic, for one release."""

from __future__ import annotations

import click

from harness.core import BadInput

MOVED = "compress train has moved: python -m lab.training.compressor, from a checkout"


@click.command(
    short_help="Moved: python -m lab.training.compressor.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def train() -> None:
    """Name the command that replaces this one: python -m lab.training.compressor.

    Example: harness compress train
    """
    raise BadInput(MOVED)
