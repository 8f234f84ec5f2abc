"""Model spec strings: the same in every command, file and run record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from harness.core import BadInput, Value
from harness.core.plugins import plugins
from harness.models.types import Role

KINDS = ("openai", "vllm", "replay")
"""Kinds of the spine; engines of wings and of other packages add theirs as plugins."""

DEFAULT_SPEC = "local/smollm2-135m"

_ROLES: tuple[Role, ...] = get_args(Role)

_FORMS = """\
  openai/<model>       any OpenAI-compatible endpoint (--base-url, OPENAI_API_KEY)
  vllm/<model>         a vLLM server (--base-url or VLLM_BASE_URL, several separated by commas)
  replay/<file>        recorded calls: a calls.sqlite or an exported .jsonl"""


class ModelSpec(Value):
    """Which model answers; `str()` gives the spec string back.

    Attributes:
        kind: what kind of endpoint.
        name: model name, file (replay) or profile.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def parse_spec(spec: str) -> ModelSpec:
    """Read a spec string such as `openai/gpt-4.1-mini`.

    Raises:
        BadInput: if the kind is unknown or the name is missing; the message lists the forms.
    """
    text = spec.strip()
    kind, _, name = text.partition("/")
    if name and (kind in KINDS or kind in plugins("engines")):
        return ModelSpec(kind=kind, name=name)
    engines = "".join(f"\n  {engine}/<name>" for engine in plugins("engines"))
    raise BadInput(f"unknown model spec {spec!r}; expected one of\n{_FORMS}{engines}")


def parse_roles(specs: Sequence[str]) -> dict[Role, ModelSpec]:
    """Read `[ROLE=]SPEC` strings into the model of every role.

    A spec without a role is the model of all roles that are not named; without one it is
    `local/smollm2-135m`. The last string for a role counts.

    Raises:
        BadInput: for an unknown role or spec.
    """
    roles = _ROLES
    default = parse_spec(DEFAULT_SPEC)
    named: dict[Role, ModelSpec] = {}
    for text in specs:
        before, equals, after = text.partition("=")
        if not equals or "/" in before:
            default = parse_spec(text)
            continue
        role: Role | None = next((known for known in roles if known == before.strip()), None)
        if role is None:
            raise BadInput(f"unknown role in {text!r}; expected one of {', '.join(roles)}")
        named[role] = parse_spec(after)
    return {role: named.get(role, default) for role in roles}
