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
    whole_runs, some = ("|".join(row[key] for row in rows if key in row) for key in ("whole", kind))
    if kind == "command":
        return _begins("|".join(row[kind] for row in rows if "asked" not in row))
    return re.compile(rf"^(?:(?P<whole>{whole_runs if kind == 'pass' else '(?!)'})|{some})$", re.M)


@cache
def _begins(commands: str) -> re.Pattern[str]:
    """Lines that begin with a command, wherever its program lies."""
    return re.compile(rf"(?:\S*/)?(?:{commands})(?=\s|$)")


@cache
def builds() -> re.Pattern[str]:
    """Commands that build without testing."""
    rows = _table("runners")["runner"]
    return _begins("|".join(row["command"] for row in rows if "build" in row))


def leaves_out(command: str, line: str) -> bool:
    """Return True if a run of tests leaves some out, by its command line."""
    rows = (row for row in _table("runners")["runner"] if "part" in row)
    return any(
        _begins(row["command"]).match(command) and re.search(rf"[\s='\"](?:{row['part']})", line)
        for row in rows
    )


def is_asked(command: str, words: str) -> bool:
    """Return True if a command checks what the user's words are about: a build, types, style."""
    return any(
        _begins(row["command"]).match(command) and re.search(row["asked"], words, re.I)
        for row in _table("runners")["runner"]
        if "asked" in row
    ) or (" ".join(command.split()[:2]) in words and bool(sign("must_run").search(words)))


@cache
def kinds() -> list[tuple[str, bool, re.Pattern[str], re.Pattern[str]]]:
    """(kind, whether it must hold a known name, form, what is harmless though it has the form) of
    `personal.toml`.
    """
    return [
        (
            kind,
            key == "known",
            re.compile(form, re.I),
            re.compile(row.get("harmless", "(?!)"), re.I),
        )
        for kind, row in _table("personal")["kind"].items()
        for key in ("forms", "known")
        for form in row.get(key, ())
    ]


@cache
def ordinary_words() -> frozenset[str]:
    """Words of prose that are names somewhere in the world."""
    return frozenset(_table("personal")["ordinary"].split())
