"""Options for telemetry: spans, metrics and logs of what a command does."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import click

from harness.cli.shared import CommandT


def telemetry_options(command: CommandT) -> CommandT:
    """Add --otel, --metrics, --log-json and --log-level, and run the command watched by them."""

    @functools.wraps(command)
    def watched(
        *args: Any,
        otel: bool,
        metrics: int | None,
        log_json: Path | None,
        log_level: str | None,
        **options: Any,
    ) -> Any:
        if not otel and metrics is None and log_json is None:
            return command(*args, **options)
        from harness.core.telemetry import spans_asked, telemetry

        otel = otel and not spans_asked(os.environ)  # they are on for every command then
        with telemetry(otel=otel, metrics=metrics, log=log_json, level=log_level) as url:
            if url is not None:
                click.echo(f"metrics: {url}", err=True)
            return command(*args, **options)

    options = (
        click.option("--otel", is_flag=True, help="Send OpenTelemetry spans (OTEL_* variables)."),
        click.option(
            "--metrics", type=click.IntRange(0, 65535), metavar="PORT",
            help="Serve Prometheus metrics on 127.0.0.1; 0 takes a free port.",
        ),
        click.option(
            "--log-json", type=click.Path(path_type=Path), metavar="FILE",
            help="Add one JSON object a line to this file; no prompts, no keys.",
        ),
        click.option(
            "--log-level", type=click.Choice(["debug", "info", "warning", "error"]),
            help="Default: info.",
        ),
    )  # fmt: skip
    decorated: Any = watched
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def follow_variables(context: click.Context) -> None:
    """Watch the command that follows where HARNESS_LOG or OpenTelemetry's variables ask for it."""
    if any(name == "HARNESS_LOG" or name.startswith("OTEL_") for name in os.environ):
        from harness.core.telemetry import telemetry_by_variables

        context.with_resource(telemetry_by_variables())
