"""Values as text for a terminal. Nothing that a model wrote reaches the terminal as control."""

from __future__ import annotations

import json
import re
from typing import Any

from harness.core import Usage
from harness.debug.branches import Branch
from harness.debug.compare import Comparison, Difference
from harness.debug.timeline import Event
from harness.debug.types import Failure, Stop, TaskInfo

WIDTH = 100
"""Characters of a value on one line."""


def safe(text: str) -> str:
    """`text` with control characters, escapes among them, shown as codes; lines stay."""
    return "".join(
        char
        if char == "\n" or (char.isprintable() and char.isascii()) or _plain(char)
        else _code(char)
        for char in text
    )


def _plain(char: str) -> bool:
    """Letters and signs of every script; not the marks that turn the direction of writing."""
    return char.isprintable() and char not in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"


def _code(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def short(value: Any, width: int = WIDTH) -> str:
    """A value on one line, cut to `width`."""
    text = safe(_json(value, None)).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def whole(value: Any) -> str:
    """A value over as many lines as it takes."""
    return safe(_json(value, 2))


_IMAGE = re.compile(r"data:(image/[\w+.-]+);base64,([A-Za-z0-9+/=]+)")


def _json(value: Any, indent: int | None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_other)
    return _IMAGE.sub(_image_text, text)


def _image_text(found: re.Match[str]) -> str:
    """An image by its kind and size: nobody reads its bytes."""
    size = len(found[2]) * 3 // 4 - found[2][-2:].count("=")
    return f"<{found[1]}, {size} bytes>"


def _other(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else repr(value)


def task_line(task: TaskInfo) -> str:
    """One task."""
    pushed = "" if task.path[:1] == ("__pregel_pull",) else "  (sent)"
    return safe(f"{task.where}  visit {task.visit}, step {task.step}{pushed}")


def stop_text(stop: Stop) -> str:
    """Where a run stands, in a few lines."""
    lines = [_headline(stop)]
    lines += [f"  waiting  {task_line(task)}" for task in stop.waiting[1:]]
    lines += [f"  running  {task_line(task)}" for task in stop.running]
    lines += [safe(f"  {node} changed its input in place") for node in stop.mutated]
    lines += [safe(f"  {text} = ") + short(value) for text, value in stop.watches.items()]
    if stop.failure is not None:
        lines.append(failure_text(stop.failure))
    lines += [f"  {name}: {short(value)}" for name, value in stop.interrupts.items()]
    if stop.reason == "interrupt":
        lines.append("  answer with: answer JSON")
    if stop.reason == "done" and stop.values is not None:
        lines.append(whole(stop.values))
    return "\n".join(lines)


def _headline(stop: Stop) -> str:
    number = "" if stop.breakpoint is None else f" {stop.breakpoint}"
    return f"[{stop.reason}{number}]" + ("" if stop.task is None else f" {task_line(stop.task)}")


def failure_text(failure: Failure) -> str:
    """An exception with its frames; the local variables are shown by `locals`."""
    lines = [
        safe(f"  {frame.file}:{frame.line} in {frame.function}\n    {frame.code}")
        for frame in failure.frames
    ]
    return "\n".join([*lines, safe(f"  {failure.type}: {failure.message}")])


def locals_text(failure: Failure) -> str:
    """The local variables of the innermost frame."""
    frame = failure.frames[-1]
    return "\n".join(safe(f"  {name} = {value}") for name, value in frame.locals.items())


def event_line(number: int, event: Event, usage: Usage | None = None) -> str:
    """One line of the timeline."""
    wrote = ", ".join(f"{key}={short(value, 40)}" for key, value in event.wrote)
    goes = f" → {', '.join(event.goes_to)}" if event.goes_to else ""
    state = "" if event.done else (f"  failed: {event.error}" if event.error else "  not finished")
    used = "" if usage is None else f"{used_text(usage)}  "
    return safe(f"{number:>4}  {event.node}{goes}  {used}") + wrote + safe(state)


def used_text(usage: Usage) -> str:
    """Tokens and money; an unknown price is a question mark."""
    cost = "$?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.tokens:,} tokens {cost}"


def usage_table(nodes: dict[str, list[Usage]]) -> str:
    """A line a node, with its executions, and the sum."""
    rows = [(node, len(used), sum(used, Usage())) for node, used in nodes.items()]
    if rows:
        total = sum((usage for _, _, usage in rows), Usage())
        rows.append(("all", sum(visits for _, visits, _ in rows), total))
    width = max((len(node) for node, _, _ in rows), default=0)
    return safe(
        "\n".join(
            f"{node:<{width}}  {visits:>4} runs  {used_text(usage)}" for node, visits, usage in rows
        )
    )


def branch_line(branch: Branch, current: bool) -> str:
    """One branch, with where it comes from."""
    mark = "*" if current else " "
    origin = "" if branch.parent is None else f"  {branch.kind} of {branch.parent}"
    left = "" if branch.left is None else f", left the recording at {branch.left}"
    return safe(f"{mark} {branch.name}{origin}{left}")


def difference_line(change: Difference) -> str:
    """One difference of two states."""
    place = safe("".join(f"[{part!r}]" for part in change.path))
    if change.kind == "added":
        return f"  + {place} = {short(change.after)}"
    if change.kind == "removed":
        return f"  - {place} = {short(change.before)}"
    return f"  ~ {place}: {short(change.before, 45)} → {short(change.after, 45)}"


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
    return "\n".join([*lines, *(difference_line(change) for change in parted.changes)])
