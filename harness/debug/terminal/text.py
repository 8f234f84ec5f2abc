"""Values as text for a terminal. Nothing that a model wrote reaches the terminal as control."""

from __future__ import annotations

import json
import re
from typing import Any

from harness.core import Usage
from harness.debug.engine.compare import Comparison
from harness.debug.engine.history import Branch, Event
from harness.debug.engine.stops import Failure, Stop, TaskInfo

WIDTH = 100
"""Characters of a value on one line."""


_TURNING = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
"""Marks that turn the direction of writing."""
_IMAGE = re.compile(r"data:(image/[\w+.-]+);base64,([A-Za-z0-9+/=]+)")


def safe(text: str) -> str:
    """`text` with control characters, escapes among them, shown as codes; lines stay."""
    shown: list[str] = []
    for char in text:
        if char == "\n" or (char.isprintable() and char not in _TURNING):
            shown.append(char)
        else:
            shown.append(f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
    return "".join(shown)


def short(value: Any, width: int = WIDTH) -> str:
    """A value on one line, cut to `width`."""
    text = safe(_json(value, None)).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def full(value: Any) -> str:
    """A value over as many lines as it takes."""
    return safe(_json(value, 2))


def _json(value: Any, indent: int | None) -> str:
    """JSON text; images by their kind and size: nobody reads their bytes."""

    def plain(part: Any) -> Any:
        dump = getattr(part, "model_dump", None)
        return dump(mode="json") if callable(dump) else repr(part)

    def image(match: re.Match[str]) -> str:
        size = len(match[2]) * 3 // 4 - match[2][-2:].count("=")
        return f"<{match[1]}, {size} bytes>"

    return _IMAGE.sub(image, json.dumps(value, ensure_ascii=False, indent=indent, default=plain))


def task_line(task: TaskInfo) -> str:
    """One task."""
    pushed = "" if task.path[:1] == ("__pregel_pull",) else "  (sent)"
    return safe(f"{task.where}  visit {task.visit}, step {task.step}{pushed}")


def stop_text(stop: Stop) -> str:
    """Where a run stands, in a few lines."""
    number = "" if stop.breakpoint is None else f" {stop.breakpoint}"
    task = "" if stop.task is None else f" {task_line(stop.task)}"
    lines = [f"[{stop.reason}{number}]{task}"]
    lines += [f"  waiting  {task_line(task)}" for task in stop.waiting[1:]]
    lines += [f"  running  {task_line(task)}" for task in stop.running]
    lines += [safe(f"  {node} changed its input in place") for node in stop.mutated]
    lines += [safe(f"  {text} = ") + short(value) for text, value in stop.watches.items()]
    if stop.failure is not None:
        lines += [
            safe(f"  {frame.file}:{frame.line} in {frame.function}\n    {frame.code}")
            for frame in stop.failure.frames
        ]
        lines.append(safe(f"  {stop.failure.type}: {stop.failure.message}"))
    lines += [f"  {name}: {short(value)}" for name, value in stop.interrupts.items()]
    if stop.reason == "interrupt":
        lines.append("  answer with: answer JSON")
    if stop.reason == "done" and stop.values is not None:
        lines.append(full(stop.values))
    return "\n".join(lines)


def locals_text(failure: Failure) -> str:
    """The local variables of the innermost frame."""
    frame = failure.frames[-1]
    return "\n".join(safe(f"  {name} = {value}") for name, value in frame.locals.items())


def event_line(number: int, event: Event, usage: Usage | None = None) -> str:
    """One line of the timeline."""
    wrote = ", ".join(f"{key}={short(value, 40)}" for key, value in event.wrote)
    goes = f" → {', '.join(event.goes_to)}" if event.goes_to else ""
    state = "" if event.done else (f"  failed: {event.error}" if event.error else "  not finished")
    tokens = "" if usage is None else f"{usage_text(usage)}  "
    return safe(f"{number:>4}  {event.node}{goes}  {tokens}") + wrote + safe(state)


def usage_text(usage: Usage) -> str:
    """Tokens and money; an unknown price is a question mark."""
    cost = "$?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.tokens:,} tokens {cost}"


def usage_table(nodes: dict[str, list[Usage]]) -> str:
    """A line a node, with its executions, and the sum."""
    rows = [(node, len(usages), sum(usages, Usage())) for node, usages in nodes.items()]
    if rows:
        total = sum((usage for _, _, usage in rows), Usage())
        rows.append(("all", sum(visits for _, visits, _ in rows), total))
    width = max((len(node) for node, _, _ in rows), default=0)
    return safe(
        "\n".join(
            f"{node:<{width}}  {visits:>4} runs  {usage_text(usage)}"
            for node, visits, usage in rows
        )
    )


def branch_line(branch: Branch, current: bool) -> str:
    """One branch, with where it comes from."""
    mark = "*" if current else " "
    origin = "" if branch.parent is None else f"  {branch.kind} of {branch.parent}"
    live = "" if branch.left_at is None else f", left the recording at {branch.left_at}"
    return safe(f"{mark} {branch.name}{origin}{live}")


def comparison_text(result: Comparison) -> str:
    """Where two branches part."""
    parted = result.divergence
    if parted is None:
        return f"equal in all {len(result.pairs)} steps"
    names, step = parted.place
    lines = [safe(f"first difference at {'/'.join(names) or 'the main graph'}, step {step}")]
    if parted.first is None or parted.second is None:
        ended = "first" if parted.first is None else "second"
        lines.append(f"  the {ended} branch has no such step")
    for change in parted.changes:
        place = safe("".join(f"[{part!r}]" for part in change.path))
        if change.kind == "added":
            lines.append(f"  + {place} = {short(change.after)}")
        elif change.kind == "removed":
            lines.append(f"  - {place} = {short(change.before)}")
        else:
            before, after = short(change.before, 45), short(change.after, 45)
            lines.append(f"  ~ {place}: {before} → {after}")
    return "\n".join(lines)
