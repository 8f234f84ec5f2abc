"""The options of `harness models serve` that are vLLM's, and the command it starts."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.shared import emit
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from harness.engines.vllm import Fleet, Launch

CommandT = TypeVar("CommandT", bound=Callable[..., Any])
PYTHON_VARIABLE = "HARNESS_VLLM_PYTHON"
DRAIN_S = 60


def vllm_options(command: CommandT) -> CommandT:
    """Add what vLLM can be told."""
    number = click.IntRange(min=1)
    options = (
        click.option("--profile", help="A shipped one, or a .yaml or .json; default by the name."),
        click.option(
            "--python",
            type=click.Path(dir_okay=False),
            help=f"Interpreter with vLLM; default {PYTHON_VARIABLE}, else this one.",
        ),
        click.option("--name", help="Name of the model for clients; default MODEL."),
        click.option("--host", help="Address to listen on; default 127.0.0.1."),
        click.option("--replicas", type=number, help="Servers of their own port, from --port on."),
        click.option("--gpus", metavar="N,N,...", help="GPUs to use, shared out to the replicas."),
        click.option("--tensor-parallel", type=number, help="GPUs that share one copy."),
        click.option("--data-parallel", type=number, help="Copies behind one address."),
        click.option("--max-model-len", type=number, help="Tokens of prompt and answer."),
        click.option("--images", type=number, help="Most images of a request; takes memory."),
        click.option("--lora", multiple=True, metavar="NAME=DIR", help="An adapter; may repeat."),
        click.option(
            "--warm",
            type=click.Path(path_type=Path, exists=True),
            help="Fill the prefix cache: a request (.json), a run, or its recorded calls.",
        ),
        click.option(
            "--drain",
            type=click.IntRange(min=0),
            help=f"Seconds for requests under way when stopped; default {DRAIN_S}.",
        ),
        click.option("--logs", type=click.Path(path_type=Path), help="Folder of the log files."),
        click.option("--dry-run", is_flag=True, help="Print the commands; let vLLM check them."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def serve_vllm(
    model: str, port: int, extra: tuple[str, ...], options: dict[str, Any], as_json: bool
) -> None:
    """Serve a model with vLLM until stopped, or print how."""
    from harness.engines.vllm import Fleet, serve
    from harness.engines.vllm.warm import warm_bodies

    launch = _launch(model.removeprefix("vllm/"), port, extra, options)
    if options["dry_run"]:
        _show(launch, as_json)
        return
    fleet = Fleet(launch, options["logs"], _say, warm_bodies(options["warm"]))
    serve(fleet, lambda one: _ready(one, launch, as_json), _say)


def _launch(model: str, port: int, extra: tuple[str, ...], options: dict[str, Any]) -> Launch:
    from harness.engines.vllm import Launch, find_profile

    profile = find_profile(model, options["profile"])
    if options["images"] and options["images"] > (most := profile.images):
        raise BadInput(
            f"--images: profile {profile.name!r} of {model!r} takes {most} at most, found "
            f"{options['images']!r}"
        )
    for name in ("max_model_len", "images"):
        if options[name]:
            profile = profile.model_copy(update={name: options[name]})
    pairs = [one.partition("=") for one in options["lora"]]
    for name, _, folder in pairs:
        if not name or not folder:
            raise BadInput(f"--lora: expected NAME=DIR, found {f'{name}{_}{folder}'!r}")
    gpus = tuple(part.strip() for part in (options["gpus"] or "").split(",") if part.strip())
    return Launch(
        model=model,
        profile=profile,
        python=options["python"] or os.environ.get(PYTHON_VARIABLE) or sys.executable,
        host=options["host"] or "127.0.0.1",
        port=port,
        name=options["name"],
        lora={name: folder for name, _, folder in pairs},
        tensor_parallel=options["tensor_parallel"] or 1,
        data_parallel=options["data_parallel"] or 1,
        replicas=options["replicas"] or 1,
        gpus=gpus,
        drain_s=DRAIN_S if options["drain"] is None else options["drain"],
        extra=extra,
    )


def _show(launch: Launch, as_json: bool) -> None:
    from harness.engines.vllm import check_arguments, command_line

    commands = [
        command_line(launch, launch.port and launch.port + replica)
        for replica in range(launch.replicas)
    ]
    gpus = [",".join(launch.gpus_of(replica)) for replica in range(launch.replicas)]
    checked = check_arguments(*commands)
    lines = [
        f"CUDA_VISIBLE_DEVICES={gpu} {shlex.join(words)}" if gpu else shlex.join(words)
        for gpu, words in zip(gpus, commands, strict=True)
    ]
    outcome = "vLLM takes these arguments" if checked else f"{launch.python} has no vLLM to ask"
    click.echo(f"profile {launch.profile.name}; {outcome}", err=True)
    result = {"profile": launch.profile.name, "checked": checked, "commands": commands}
    emit(result, as_json, "\n".join(lines))


def _ready(fleet: Fleet, launch: Launch, as_json: bool) -> None:
    urls = ",".join(fleet.urls)
    names = [launch.served_name, *launch.lora]
    result = {"base_url": urls, "models": [f"vllm/{name}" for name in names]}
    used = " or ".join(f"--model vllm/{name}" for name in names)
    emit(result, as_json, f"serves {urls} (stop with Ctrl-C)\nuse it with {used} --base-url {urls}")
    sys.stdout.flush()


def _say(line: str) -> None:
    click.echo(line, err=True)
