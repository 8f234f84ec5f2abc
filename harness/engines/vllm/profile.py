"""How a model is served: a YAML or JSON file of what vLLM must be told about it.

Names of parsers are those of vLLM 0.32 (`vllm/tool_parsers`, `vllm/reasoning`); which model needs
which is what its card says.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from harness.core import BadInput, Value, first_fault

ServedTask = Literal["generate", "embed", "rerank"]
_SHIPPED = Path(__file__).with_name("profiles")


class ServingProfile(Value):
    """What vLLM is told about a model.

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
        profile = ServingProfile.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadInput(f"cannot read the profile {str(path)!r}: {error}") from error
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
