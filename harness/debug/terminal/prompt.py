"""A prompt with history and completion (GNU readline, where Python has it)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROMPT = "(debug) "


@contextmanager
def prompted(complete: Callable[[str], list[str]], history: Path) -> Generator[Generator[str]]:
    """Lines that the user types, until the end of the input; the history is kept in a file."""
    readline = _readline() if sys.stdin.isatty() else None
    if readline is None:
        yield _lines()
        return
    if history.is_file():
        readline.read_history_file(history)

    def candidate(start: str, number: int) -> str | None:
        found = complete(start)
        return found[number] if number < len(found) else None

    readline.set_completer(candidate)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield _lines()
    finally:
        history.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(1000)
        readline.write_history_file(history)


def _readline() -> Any | None:
    try:
        import readline
    except ImportError:
        return None
    return readline


def _lines() -> Generator[str]:
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            return
        except KeyboardInterrupt:
            print()
