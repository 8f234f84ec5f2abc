"""Packages of the extras of this wing, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from harness.core import BadInput


def require(module: str, need: str, install: str = "'agent-skill-harness[rag]'") -> Any:
    """A module of an optional package.

    Args:
        module: its dotted name.
        need: begins the message, such as "the vector index needs FAISS".
        install: what to install.

    Raises:
        BadInput: if it cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise BadInput(f"{need} ({error}): pip install {install}") from error
