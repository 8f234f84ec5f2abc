"""One JSON object a line: what happened, with the ids of run, sample and call, never its text."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from harness.core.errors import BadInput
from harness.core.redaction import redact
from harness.core.terminal import printable
from harness.core.tracing import Operation, Watcher

LEVELS = ("debug", "info", "warning", "error")


class LogWatcher(Watcher):
    """Writes operations, and what the program warns of, to a file.

    `info` has runs and attempts; `debug` their beginnings, and every call. A file that cannot be
    written any more is given up with one line on stderr: a run is worth more than its log.
    """

    def __init__(self, file: FileIO, level: str) -> None:
        self._file, self._least = file, LEVELS.index(level)
        self._lock = threading.Lock()

    def began(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        level = "info" if operation.kind == "run" else "debug"
        if self._wants(level):
            self.write(level, f"{operation.kind} began", _facts(operation))

    def ended(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        level = "info" if operation.kind in ("run", "invoke_agent") else "debug"
        if operation.error is not None or operation.attributes.get("outcome") == "invalid":
            level = "warning"
        if not self._wants(level):
            return
        attributes = _facts(operation) | {"seconds": round(operation.seconds, 6)}
        if operation.error is not None:
            attributes["error"] = type(operation.error).__name__
        self.write(level, f"{operation.kind} ended", attributes)

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        self.write("warning", name, _ids(operation) | attributes)

    def _wants(self, level: str) -> bool:
        return LEVELS.index(level) >= self._least

    def write(self, level: str, event: str, attributes: dict[str, Any]) -> None:
        """Write a line, if its level is high enough; callers redact texts from outside."""
        if not self._wants(level):
            return
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        row = {"time": time, "level": level, "event": event, **attributes}
        line = json.dumps(row, ensure_ascii=False, default=str)
        with self._lock:
            try:
                self._file.write(line.encode("utf-8", errors="replace") + b"\n")
            except (OSError, ValueError) as error:
                self._least = len(LEVELS)
                print(printable(f"the log {self._file.name} ends here: {error}"), file=sys.stderr)


class _Warnings(logging.Handler):
    """Handler for messages of our modules through the standard library's logging."""

    def __init__(self, watcher: LogWatcher) -> None:
        super().__init__()
        self._watcher = watcher

    def emit(self, record: logging.LogRecord) -> None:
        level = record.levelname.lower()
        attributes = {"logger": record.name, "message": redact(record.getMessage())}
        self._watcher.write(level if level in LEVELS else "error", "log", attributes)


@contextmanager
def log_watcher(path: Path, level: str = "info") -> Generator[LogWatcher]:
    """A watcher that adds to the file at `path`, until the block ends.

    Raises:
        BadInput: if it cannot be opened, or for an unknown level.
    """
    if level not in LEVELS:
        raise BadInput(f"level of the log: expected one of {', '.join(LEVELS)}, got {level!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=0)  # a line is one write: processes may share a log
    except OSError as error:
        raise BadInput(f"log {str(path)!r}: {error.strerror}") from error
    logger = logging.getLogger("harness")
    with file:
        watcher = LogWatcher(file, level)
        handlers: list[logging.Handler] = [_Warnings(watcher)]
        if logging.lastResort is not None and not logger.hasHandlers():
            handlers.append(logging.lastResort)  # warnings appear on stderr, too, as before
        for handler in handlers:
            logger.addHandler(handler)
        try:
            yield watcher
        finally:
            for handler in handlers:
                logger.removeHandler(handler)


def _ids(operation: Operation | None) -> dict[str, Any]:
    ids: dict[str, Any] = {}
    while operation is not None:  # the nearest of each kind counts
        if operation.kind == "run":
            ids.setdefault("run", operation.name)
        elif operation.kind == "invoke_agent":
            ids.setdefault("sample", operation.attributes["sample"])
        elif operation.kind == "chat":
            ids.setdefault("call", operation.attributes["call_id"])
        operation = operation.parent
    return {name: ids[name] for name in ("run", "sample", "call") if name in ids}


def _facts(operation: Operation) -> dict[str, Any]:
    attributes = {key: value for key, value in operation.attributes.items() if key != "call_id"}
    name = {} if operation.kind == "run" else {"name": operation.label}
    if operation.kind == "execute_tool":
        name["tool_call"] = operation.attributes["call_id"]
    return _ids(operation) | name | attributes
