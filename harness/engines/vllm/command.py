"""Serving a model: a profile of what vLLM must be told about it, and the command line.

A profile is a YAML or JSON file. Names of parsers are those of vLLM 0.32 (`vllm/tool_parsers`,
`vllm/reasoning`); which model needs which is what its card says.
"""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from harness.core import BadInput, Value, first_fault, read_yaml

ServedTask = Literal["generate", "embed", "rerank"]
_SHIPPED = Path(__file__).with_name("profiles")


class ServingProfile(Value):
    """Options of vLLM for a model.

    Attributes:
        name: of the profile.
        match: regular expressions; the profile is found for models whose name (`owner/name` of the
            hub, or the last part of a path) one of them finds.
        task: what the server does.
        tool_parser: reads tool calls from the text; None where the model makes none.
        tool_strict_level: what a call is held to: `auto` asks each tool's `strict`, `function` the
            form of a call, `parameter` the schema of the arguments as well.
        reasoning_parser: splits reasoning from the answer; None leaves it in the text.
        chat_template: file beside the profile, in place of the model's own.
        prefix_caching: keep the attention state of prompts, which share skill and tools.
        structured_output: back end of JSON schemas (`auto`, `xgrammar`, `guidance`, `outlines`).
        max_model_len: tokens of prompt and answer; None takes the model's own limit.
        images: most images of a request; 0 for a model that sees none.
        trust_remote_code: run the Python code that comes with the weights.
        lora_rank: highest rank of LoRA adapters.
        gpu_memory: share of the GPU's memory; None takes vLLM's default.
        overrides: of the model's configuration.
        extra: further arguments, as they are.
    """

    name: str
    match: tuple[str, ...] = ()
    task: ServedTask = "generate"
    tool_parser: str | None = None
    tool_strict_level: Literal["auto", "function", "parameter"] = "auto"
    reasoning_parser: str | None = None
    chat_template: Path | None = None
    prefix_caching: bool = True
    structured_output: Literal["auto", "xgrammar", "guidance", "outlines"] = "auto"
    max_model_len: int | None = Field(default=None, ge=1)
    images: int = Field(default=0, ge=0)
    trust_remote_code: bool = False
    lora_rank: int = Field(default=64, ge=1)
    gpu_memory: float | None = Field(default=None, gt=0, le=1)
    overrides: dict[str, Any] = {}
    extra: tuple[str, ...] = ()


def find_profile(model: str, choice: str | None = None) -> ServingProfile:
    """The profile of a model.

    Args:
        model: name on the hub, or a folder.
        choice: name of a shipped profile, or a YAML or JSON file; None finds one by the model's
            name, else `generic`.

    Raises:
        BadInput: if there is no such profile, or it is malformed.
    """
    if choice is not None and Path(choice).suffix in (".yaml", ".yml", ".json"):
        return _read(Path(choice))
    shipped = shipped_profiles()
    if choice is not None:
        if choice not in shipped:
            raise BadInput(
                f"no profile {choice!r}; there is {', '.join(shipped)}, or give a .yaml or .json"
            )
        return shipped[choice]
    name, path = model, Path(model)
    if path.is_dir() or model.count("/") > 1 or model.startswith(("/", ".", "~")):
        # A folder has no owner, and those above it say nothing of the model.
        path = path if path.name not in ("", "..") else path.resolve()
        name = path.name
        if path.parent.name == "snapshots":  # the hub's cache: models--OWNER--NAME/snapshots/...
            name = path.parent.parent.name.rpartition("--")[2]
    for profile in shipped.values():
        if any(re.search(pattern, name, re.IGNORECASE) for pattern in profile.match):
            return profile
    return shipped["generic"]


@cache
def shipped_profiles() -> dict[str, ServingProfile]:
    """The profiles that come with the harness by name; the first that matches a model counts."""
    profiles = (_read(path) for path in sorted(_SHIPPED.glob("*.yaml")))
    return {profile.name: profile for profile in profiles}


def _read(path: Path) -> ServingProfile:
    """A profile from a file; YAML reads JSON as well."""
    try:
        profile = ServingProfile.model_validate(read_yaml(path))
    except ValidationError as error:
        fault = first_fault(error, "the file")
        value = error.errors()[0]["input"]
        raise BadInput(f"profile {str(path)!r}, {fault}, found {value!r:.80}") from error
    for pattern in profile.match:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadInput(f"profile {str(path)!r}, match {pattern!r}: {error}") from error
    if profile.chat_template is None:
        return profile
    template = path.parent / profile.chat_template
    if not template.is_file():
        raise BadInput(f"profile {str(path)!r}: there is no chat template {str(template)!r}")
    return profile.model_copy(update={"chat_template": template.resolve()})


MODULE = "vllm.entrypoints.openai.api_server"
"""Started as a module: the console script of the CPU build does not start."""
_CHECK = """
import importlib.util, json, sys
if importlib.util.find_spec("vllm") is None:
    sys.exit(86)
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
parser = make_arg_parser(FlexibleArgumentParser())
for words in json.loads(sys.argv[1]):
    options = parser.parse_args(words)
    validate_parsed_serve_args(options)
    for name, registered in (
        (options.tool_call_parser, ToolParserManager.list_registered()),
        (options.reasoning_parser, ReasoningParserManager.list_registered()),
    ):
        if name and name not in registered:
            sys.exit(f"no parser {name!r}; there is {', '.join(sorted(registered))}")
"""
_OURS = {
    "--host": "use --host of this command",
    "--port": "use --port of this command",
    "--uds": "the harness asks it over HTTP",
    "--ssl-keyfile": "the harness asks it over HTTP",
    "--ssl-certfile": "the harness asks it over HTTP",
    "--api-key": "set VLLM_API_KEY, which no list of processes shows",
}
"""Where the server is found and who may ask it: what was checked must be what is started."""
_NOT_INSTALLED = 86
_CHECK_S = 300


class Launch(Value):
    """Everything that decides what is started.

    Attributes:
        model: name on the hub, or a folder.
        profile: of the model.
        python: interpreter that vLLM is installed for.
        host: address to listen on.
        port: to listen on; 0 takes a free one.
        name: of the model for clients; None keeps `model`.
        lora: folders of adapters by the name under which clients ask for them.
        tensor_parallel: GPUs that share one copy of the weights.
        data_parallel: copies of the weights behind one address, which vLLM balances.
        gpus: those to use; () leaves the choice to vLLM.
        drain_s: seconds that requests under way have when the server is stopped.
        extra: further arguments of vLLM; they come last and win, but not over the address.
    """

    model: str
    profile: ServingProfile
    python: str
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    name: str | None = None
    lora: dict[str, str] = {}
    tensor_parallel: int = Field(default=1, ge=1)
    data_parallel: int = Field(default=1, ge=1)
    gpus: tuple[str, ...] = ()
    drain_s: int = Field(default=60, ge=0)
    extra: tuple[str, ...] = ()

    @property
    def served_name(self) -> str:
        """Name by which clients call the model."""
        return self.name or self.model

    @property
    def visible_gpus(self) -> tuple[str, ...]:
        """The GPUs that the server sees; () leaves the choice to vLLM.

        Raises:
            BadInput: if there are too few of them.
        """
        needed = self.tensor_parallel * self.data_parallel
        if self.gpus and len(self.gpus) < needed:
            raise BadInput(
                f"expected {needed} GPUs (--tensor-parallel {self.tensor_parallel} times "
                f"--data-parallel {self.data_parallel}), found {len(self.gpus)}: "
                f"{','.join(self.gpus)!r}"
            )
        return self.gpus[:needed]


def command_line(launch: Launch, port: int) -> list[str]:
    """The command that starts one server.

    Raises:
        BadInput: if adapters are asked for that do not exist, or further arguments set the address
            or the key.
    """
    for word in (*launch.profile.extra, *launch.extra):
        name = word.partition("=")[0].replace("_", "-")
        for flag, advice in _OURS.items():
            if len(name) > 3 and flag.startswith(name):  # vLLM's parser takes beginnings, too
                raise BadInput(
                    f"further arguments of vLLM: expected no {flag}, found {word!r}; {advice}"
                )
    for name, folder in launch.lora.items():
        if not (Path(folder) / "adapter_config.json").is_file():
            raise BadInput(
                f"LoRA adapter {name!r}: expected a folder with adapter_config.json, "
                f"found {folder!r}"
            )
    profile = launch.profile
    flags: dict[str, str | float | Path | list[str] | None] = {
        "--model": launch.model,
        "--served-model-name": launch.served_name,
        "--max-model-len": profile.max_model_len,
        "--tensor-parallel-size": launch.tensor_parallel if launch.tensor_parallel > 1 else None,
        "--data-parallel-size": launch.data_parallel if launch.data_parallel > 1 else None,
        "--trust-remote-code": profile.trust_remote_code,
        "--gpu-memory-utilization": profile.gpu_memory,
        "--hf-overrides": json.dumps(profile.overrides) if profile.overrides else None,
    }
    if profile.task != "generate":
        flags["--runner"] = "pooling"
    else:
        level, backend = profile.tool_strict_level, profile.structured_output
        modules = [f"{name}={Path(folder).resolve()}" for name, folder in launch.lora.items()]
        flags |= {
            "--enable-prefix-caching": profile.prefix_caching,
            "--no-enable-prefix-caching": not profile.prefix_caching,
            # Without the details `usage` does not say how much of a prompt came from the cache.
            "--enable-prompt-tokens-details": True,
            "--enable-auto-tool-choice": bool(profile.tool_parser),
            "--tool-call-parser": profile.tool_parser,
            "--tool-strict-level": level if level != "auto" else None,
            "--reasoning-parser": profile.reasoning_parser,
            "--chat-template": profile.chat_template,
            "--structured-outputs-config": (
                f'{{"backend": "{backend}"}}' if backend != "auto" else None
            ),
            "--limit-mm-per-prompt": (
                f'{{"image": {profile.images}, "video": 0}}' if profile.images else None
            ),
            "--enable-lora": bool(modules),
            "--max-loras": len(modules),
            "--max-lora-rank": profile.lora_rank if modules else None,
            "--lora-modules": modules,
        }
    words = [launch.python, "-m", MODULE]
    for flag, value in flags.items():
        if value:
            values = value if isinstance(value, list) else [] if value is True else [value]
            words += [flag, *map(str, values)]
    words += ["--shutdown-timeout", str(launch.drain_s), *profile.extra]
    return [*words, "--host", launch.host, "--port", str(port), *launch.extra]


def check_arguments(*commands: list[str]) -> bool:
    """Let the installed vLLM read the arguments, without starting anything.

    Args:
        commands: see :func:`command_line`; of one interpreter.

    Returns:
        False if there is no vLLM to ask.

    Raises:
        BadInput: if vLLM does not take them; the message quotes it.
    """
    python = commands[0][0]
    words = [command[command.index(MODULE) + 1 :] for command in commands]
    try:
        process = subprocess.run(
            [python, "-c", _CHECK, json.dumps(words)],
            check=False, capture_output=True, text=True, timeout=_CHECK_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"cannot run {python!r}: {error}; see --python") from error
    if process.returncode in (0, _NOT_INSTALLED):
        return process.returncode == 0
    lines = [line for line in process.stderr.splitlines() if line.strip()]
    reason = lines[-1] if lines else process.returncode
    raise BadInput(f"vLLM does not take these arguments: {reason}")
