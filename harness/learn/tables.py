"""Patterns that tell what the lines of a log say; they stand in tables beside this module."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__ or "").joinpath(f"{name}.toml").read_text("utf-8"))


@cache
def sign(name: str) -> re.Pattern[str]:
    """A pattern of `signs.toml`."""
    return re.compile("|".join(_table("signs")[name]))


@cache
def runners(kind: str) -> re.Pattern[str]:
    """A pattern over all rows of `runners.toml`: of their commands, or of lines they print.

    Args:
        kind: `command`, `fail`, or `pass`; a pass that speaks for the whole run is its group
            `whole`.
    """
    rows = _table("runners")["runner"]
    whole, some = ("|".join(row[key] for row in rows if key in row) for key in ("whole", kind))
    if kind == "command":
        return _begins(some)
    return re.compile(rf"^(?:(?P<whole>{whole if kind == 'pass' else '(?!)'})|{some})$", re.M)


@cache
def _begins(commands: str) -> re.Pattern[str]:
    """Lines that begin with a command, wherever its program lies."""
    return re.compile(rf"(?:\S*/)?(?:{commands})(?=\s|$)")


def leaves_out(command: str, line: str) -> bool:
    """Return True if a run of tests leaves some out, by its command line."""
    rows = (row for row in _table("runners")["runner"] if "part" in row)
    return any(
        _begins(row["command"]).match(command) and re.search(rf"[\s='\"](?:{row['part']})", line)
        for row in rows
    )


@cache
def kinds() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """(kind, form, what is harmless though it has the form) of `personal.toml`."""
    return [
        (kind, re.compile(form, re.I), re.compile(row.get("harmless", "(?!)"), re.I))
        for kind, row in _table("personal")["kind"].items()
        for form in row["forms"]
    ]


@cache
def ordinary_words() -> frozenset[str]:
    """Words of prose that are names somewhere in the world."""
    return frozenset(_table("personal")["ordinary"].split())
