"""`harness record -- COMMAND` and `harness record --replay DIR -- COMMAND`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import echo, emit, intent, json_option, shared_option

_PATH = click.Path(path_type=Path, file_okay=False)


@intent("Look inside")
@click.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Run an agent of any kind; record its model calls, or replay them.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@shared_option("--out", type=_PATH, help="Folder of the recording. Default: runs/record-<time>.")
@click.option("--replay", type=_PATH, help="Answer from this recording; the upstream is not asked.")
@shared_option(
    "--model",
    metavar="SPEC",
    help="Answers every request, whatever model it names: such as local/smollm2-135m.",
)
@shared_option(
    "--base-url",
    metavar="URL",
    help="Where requests go, or the endpoint of --model. Default: what OPENAI_BASE_URL and "
    "ANTHROPIC_BASE_URL name, else the providers.",
)
@click.option("--upstream", metavar="URL|SPEC", hidden=True, help="--model or --base-url, of old.")
@click.option(
    "--translate",
    is_flag=True,
    help="The server speaks chat completions only: messages and responses are translated for it.",
)
@click.option("--cache/--no-cache", default=True, help="Ask again what --out holds an answer to?")
@shared_option(
    "--context",
    "shortening",
    metavar="compress[:TOKENS]",
    help="Shorten large tool outputs to what the question needs (default 2000 tokens each); "
    "the model gets a tool that gives back what was left out.",
)
@shared_option("--critic")
@shared_option("--guard")
@shared_option("--budget-usd", help="Refuse calls that could cost more than this.")
@shared_option("--budget-tokens", help="The same in tokens.")
@shared_option("--budget-calls", help="The same in calls.")
@shared_option("--port", help="Default: a free one.")
@json_option
@click.pass_context
def record(
    context: click.Context,
    command: tuple[str, ...],
    out: Path | None,
    replay: Path | None,
    model: str | None,
    base_url: str | None,
    upstream: str | None,
    translate: bool,
    cache: bool,
    shortening: str | None,
    critic: str,
    guard: str | None,
    budget_usd: float | None,
    budget_tokens: int | None,
    budget_calls: int | None,
    port: int,
    as_json: bool,
) -> None:
    """Run COMMAND, an agent of any kind, and record all its model calls; or replay them.

    The base URLs of OpenAI's and Anthropic's clients lead to a proxy on 127.0.0.1. Keys pass
    through it and are never stored. The exit code is the command's.

    Example: harness record --out runs/mine -- python my_agent.py
    """
    from harness.core.rundir import new_run_id
    from harness.models import Budget
    from harness.record import Plan, find_upstream, parse_settings, run

    if upstream is not None:
        echo("--upstream is now --model SPEC, or --base-url URL", err=True)
    options = (out, model, base_url, upstream, guard)
    if replay is not None and (translate or any(option is not None for option in options)):
        raise click.UsageError(
            "--replay asks nobody and writes nothing: drop --out, --model, --base-url and --guard"
        )
    plan = Plan(
        replay or out or Path("runs") / new_run_id("record"),
        None
        if replay is not None
        else find_upstream(
            model or upstream or base_url,
            translate=translate or guard is not None,
            base_url=base_url if model or upstream else None,
        ),
        Budget(budget_usd, budget_tokens, budget_calls),
        cache=cache,
        port=port,
        context=parse_settings(shortening, critic) if shortening else None,
        guard=guard,
        quiet_stdout=as_json,
    )
    report = run(plan, command)
    if as_json:
        emit(report, as_json, "")
    counts = f"{report.requests} requests, {report.replayed} answered from the record"
    echo(f"{counts}, {len(report.trajectories)} trajectories: {report.folder}", err=True)
    if report.dropped_bytes:
        echo(f"{report.dropped_bytes} bytes of a torn record were dropped", err=True)
    if report.limit:
        echo(report.limit, err=True)
    for difference in report.missing:
        echo(f"not in the recording: {difference}", err=True)
    # A command that ended well in spite of a refused request exits as the refusal does.
    refused = 5 if report.missing else 3 if report.limit else 0
    context.exit(report.command_exit or refused)
