"""The base of our value types: frozen, closed, JSON in and out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class Value(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_fault(error: ValidationError, document: str = "document") -> str:
    """What does not fit a model, as `field: message`; of many faults the first.

    Args:
        error: of the validation.
        whole: stands for the field where the value itself is at fault.
    """
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc']) or document}: {first['msg']}"


@dataclass(frozen=True)
class Option:
    """How a field of settings is given on the command line: `Annotated[int, Option("Help.")]`.

    Attributes:
        help: one sentence, for `--help` and the reference page.
        names: such as `--model`, where that is not the field's own name.
        metavar: in place of the type's.
        choices: where the field's type does not list them.
        callback: a click callback that turns the words into the field's value.
        multiple: whether it may be repeated; a tuple without a callback always may.
        show_default: whether the help states the default.
    """

    help: str = ""
    names: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    callback: Callable[..., Any] | None = None
    multiple: bool = False
    show_default: bool = True
