"""The logs of the two clients: where they lie, which are whole, and where a quote stands."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, cast

from harness.core import STREAMED_BYTES, BadInput, read_foreign
from harness.core.segments import read_segment
from harness.learn.acts import plain
from harness.learn.types import Client
from harness.trajectories.lenient import load

_AGO = re.compile(r"(\d+)\s*([dwh])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_LOGS = (".jsonl", ".json")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
NESTED = 4  # levels of JSON within texts of JSON that are looked into


def session_files(
    paths: Sequence[Path], client: Client = "all", environment: Mapping[str, str] = os.environ
) -> list[Path]:
    """The logs to read, those that were written last first.

    Args:
        paths: files and folders; without any, the folders of the clients are looked into.
        client: whose folders.
        environment: for `CLAUDE_CONFIG_DIR`, `CODEX_HOME` and `HOME`.

    Raises:
        BadInput: if a path does not exist, or no client has left a log.
    """
    logs: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BadInput(f"expected a log or a folder of logs, found nothing at {str(path)!r}")
        if path.is_file():
            logs.append(path)
        elif (path / "trajectories.seg").is_file():
            logs.append(path / "trajectories.seg")
        else:
            logs += [f for f in path.rglob("*") if f.suffix in _LOGS and _is_log(f)]
    if not paths:
        home = Path(environment.get("HOME") or Path.home())
        moved = environment.get("CLAUDE_CONFIG_DIR")
        claude = [Path(moved)] if moved else [home / ".claude", home / ".config" / "claude"]
        codex = Path(environment.get("CODEX_HOME") or home / ".codex")
        by_client = {
            "claude": [root / "projects" for root in claude],
            "codex": [codex / "sessions", codex / "archived_sessions"],
        }
        folders = [*chain(*by_client.values())] if client == "all" else by_client[client]
        logs = [file for folder in folders for file in folder.rglob("*.jsonl") if _is_log(file)]
        if not logs:
            raise BadInput(
                f"no sessions found in {', '.join(map(str, folders))}: give files or folders"
            )
    return sorted(dict.fromkeys(logs), key=lambda file: (-file.stat().st_mtime, str(file)))


def _is_log(file: Path) -> bool:
    """Return True for a session's own file; a helper's log is read with its session."""
    return not file.name.startswith("agent-") and file.is_file()


def since_time(text: str, now: datetime | None = None) -> datetime:
    """A point in time from `2026-03-01`, `2026-03-01T12:00`, `30d`, `2w` or `12h`.

    Raises:
        BadInput: if it is none of these.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return (now or datetime.now(UTC)) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise BadInput(
            f"expected a date such as 2026-03-01, or an age such as 30d, got {text!r}"
        ) from error
    return moment if moment.tzinfo else moment.astimezone()


class Spans:
    """The lines of one session file, by what they say.

    Args:
        path: a JSONL log, a JSON document, or the segment of a store.

    Attributes:
        damaged: first line of a JSONL log that is no JSON object, from 1; 0 if there is none. A
            last line without its end is no damage: the client may still be writing it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        self._lines: list[tuple[int, list[str]]] = list(self._read())

    def line_of(self, quote: str, keys: Sequence[str] = ()) -> int | None:
        """The line that holds `quote`, from 1; None if none does.

        Args:
            quote: text without terminal colours.
            keys: a call id or a time: of several lines, one that names it too is taken, and of
                those the last.
        """
        if not quote.strip():
            return None
        holding = [
            (number, texts) for number, texts in self._lines if any(quote in text for text in texts)
        ]
        with_key = [number for number, texts in holding if any(key in texts for key in keys)]
        return (with_key or [number for number, _ in holding] or [None])[-1]

    def _read(self) -> Iterator[tuple[int, list[str]]]:
        if self.path.suffix == ".seg":
            records = read_segment(self.path)
            yield from ((number, list(_texts(row))) for number, row in enumerate(records, start=1))
            return
        raw = read_foreign(self.path, STREAMED_BYTES).split(b"\n")
        for number, line in enumerate(raw, start=1):
            value = load(line)
            if self.path.suffix != ".jsonl":  # a document over many lines
                value = [load(string) for string in _STRING.findall(line)]
            elif line.strip() and number < len(raw) and not isinstance(value, dict):
                self.damaged = self.damaged or number
            yield number, list(_texts(value))


def _texts(value: Any, levels: int = NESTED) -> Iterable[str]:
    """Every text of a JSON value, and of JSON that is written out in its texts."""
    if isinstance(value, str):
        yield plain(value)
        if levels and value[:1] in ("{", "["):
            yield from _texts(load(value.encode("utf-8", "replace")), levels - 1)
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _texts(item, levels)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item, levels)
