"""Where the logs of the two clients lie, and which of them are whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from harness.core import BadInput
from harness.learn.types import Skipped
from harness.trajectories.lenient import MAX_LINE, load

Client = Literal["all", "claude", "codex"]
CLIENTS = ("all", "claude", "codex")
_AGO = re.compile(r"(\d+)\s*([dwh])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_LOGS = (".jsonl", ".json")


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
    found = list(dict.fromkeys(_given(paths) if paths else _left(client, environment)))
    if not found and not paths:
        looked = ", ".join(str(one) for one in client_folders(client, environment))
        raise BadInput(f"no sessions found in {looked}: give files or folders of logs")
    return sorted(found, key=lambda file: (-file.stat().st_mtime, str(file)))


def client_folders(client: Client, environment: Mapping[str, str]) -> list[Path]:
    """Where the clients keep their sessions."""
    home = Path(environment.get("HOME") or Path.home())
    folders: list[Path] = []
    if client in ("all", "claude"):
        named = environment.get("CLAUDE_CONFIG_DIR")
        roots = [Path(named)] if named else [home / ".claude", home / ".config" / "claude"]
        folders += [root / "projects" for root in roots]
    if client in ("all", "codex"):
        root = Path(environment.get("CODEX_HOME") or home / ".codex")
        folders += [root / "sessions", root / "archived_sessions"]
    return folders


def _left(client: Client, environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in client_folders(client, environment):
        for file in folder.rglob("*.jsonl"):
            # A helper's log is read with the session that called it.
            if not file.name.startswith("agent-") and file.is_file():
                yield file


def _given(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise BadInput(f"expected a log or a folder of logs, found nothing at {str(path)!r}")
        if path.is_file():
            yield path
        elif (path / "trajectories.seg").is_file():
            yield path / "trajectories.seg"
        else:
            files = (file for file in path.rglob("*") if file.suffix in _LOGS and file.is_file())
            yield from (file for file in files if not file.name.startswith("agent-"))


def fault(path: Path) -> Skipped | None:
    """Where a JSONL log is damaged; None if it is whole.

    A last line without its end is no damage: the client may still be writing it.
    """
    if path.suffix != ".jsonl":
        return None
    with path.open("rb") as handle:
        number = 0
        while line := handle.readline(MAX_LINE + 1):
            number += 1
            if not line.strip() or (not line.endswith(b"\n") and len(line) <= MAX_LINE):
                continue
            if len(line) > MAX_LINE:
                return _at(path, number, f"a line of more than {MAX_LINE:,} bytes")
            if not isinstance(load(line), dict):
                start = line[:40].decode("utf-8", "replace").strip()
                return _at(path, number, f"expected a JSON object, found {start!r}")
            if _broken(line):
                return _at(path, number, "not UTF-8 text")
    return None


def _broken(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _at(path: Path, line: int, reason: str) -> Skipped:
    return Skipped(file=str(path), line=line, reason=f"damaged, skipped: {reason}")


def since_time(text: str, now: datetime | None = None) -> datetime:
    """A point in time from `2026-03-01`, `2026-03-01T12:00`, `30d`, `2w` or `12h`.

    Raises:
        BadInput: if it is none of these.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return (now or datetime.now(UTC)) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise BadInput(
            f"expected a date such as 2026-03-01, or an age such as 30d, got {text!r}"
        ) from error
    return found if found.tzinfo else found.astimezone()
