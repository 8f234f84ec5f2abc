"""Prompt templates: Jinja2 with StrictUndefined, versioned by digest."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from harness.core import assets
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from jinja2 import Environment, Template


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(assets.find("prompts")),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  # prompts are Markdown for models, never served as HTML
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _template(name: str) -> Template:
    assets.find(f"prompts/{name}.md.j2")
    return _environment().get_template(f"{name}.md.j2")


def render(name: str, /, **variables: object) -> str:
    """Render `prompts/<name>.md.j2`; the header comment of the template lists its variables.

    Raises:
        BadInput: if the template is missing or a variable it uses was not given.
    """
    from jinja2 import UndefinedError

    try:
        return _template(name).render(**variables).strip()
    except UndefinedError as error:
        raise BadInput(f"prompt {name!r}: {error}") from error


def prompt_digest(name: str) -> str:
    """SHA-256 of a template's bytes: the version that run files record."""
    return hashlib.sha256(assets.find(f"prompts/{name}.md.j2").read_bytes()).hexdigest()
