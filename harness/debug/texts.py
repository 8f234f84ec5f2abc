"""Values, usage and stops as the terminal writes them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, cast

from harness.core import Usage
from harness.debug.engine.stops import Stop, TaskInfo

WIDTH = 100
"""Characters of a value on one line."""
_IMAGE = re.compile(r"data:(image/[\w+.-]+);base64,([A-Za-z0-9+/=]+)")


def short(value: Any, width: int = WIDTH) -> str:
    """A value on one line, cut to `width`."""
    text = full(value, None).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def full(value: Any, indent: int | None = 2) -> str:
    """A value as JSON; images by their kind and size: nobody reads their bytes."""

    def plain(part: Any) -> Any:
        dump = getattr(part, "model_dump", None)
        with suppress(Exception):  # of a model that holds what JSON has not
            return dump(mode="json") if callable(dump) else repr(part)
        return repr(part)

    def image(match: re.Match[str]) -> str:
        size = len(match[2]) * 3 // 4 - match[2][-2:].count("=")
        return f"<{match[1]}, {size} bytes>"

    def named(part: Any) -> Any:
        """With keys that JSON has: others are shown by their `repr`."""
        if isinstance(part, dict):
            entries = cast("dict[Any, Any]", part).items()
            return {
                key if isinstance(key, str | int | float | None) else repr(key): named(item)
                for key, item in entries
            }
        return [named(item) for item in cast("list[Any]", part)] if type(part) is list else part

    text = json.dumps(named(value), ensure_ascii=False, indent=indent, default=plain)
    return _IMAGE.sub(image, text)


def stop_text(stop: Stop) -> str:
    """Where a run stands, in a few lines."""

    def line(task: TaskInfo) -> str:
        pushed = "" if task.path[:1] == ("__pregel_pull",) else "  (sent)"
        return f"{task.where}  visit {task.visit}, step {task.step}{pushed}"

    number = "" if stop.breakpoint is None else f" {stop.breakpoint}"
    task = "" if stop.task is None else f" {line(stop.task)}"
    lines = [f"[{stop.reason}{number}]{task}"]
    lines += [f"  waiting  {line(task)}" for task in stop.waiting[1:]]
    lines += [f"  running  {line(task)}" for task in stop.running]
    lines += [f"  {node} changed its input in place" for node in stop.mutated]
    lines += [f"  {text} = " + short(value) for text, value in stop.watches.items()]
    if stop.failure is not None:
        lines += [
            f"  {frame.file}:{frame.line} in {frame.function}\n    {frame.code}"
            for frame in stop.failure.frames
        ]
        lines.append(f"  {stop.failure.type}: {stop.failure.message}")
    lines += [f"  held in memory, not stored: {', '.join(stop.held)}"] if stop.held else []
    lines += [
        f"  {name} ({stop.asked_by.get(name, 'a node')}): " + short(value)
        for name, value in stop.interrupts.items()
    ]
    if stop.reason == "done" and stop.values is not None:
        lines.append(full(stop.values))
    command, more = stop.hint
    if stop.ended or stop.failure is not None:
        lines.append(f"  next: {command}" + (f"  ({more})" if more else ""))
    return "\n".join(lines)


def usage_text(usage: Usage) -> str:
    """Tokens and money; an unknown price is a question mark."""
    cost = "$?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.tokens:,} tokens {cost}"
