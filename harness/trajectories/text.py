"""Text of ATIF content, and times."""

from __future__ import annotations

from datetime import datetime

from harness.core.trajectory import Content


def content_text(content: Content) -> str:
    """The text of a message; an image or recording becomes `[image: path]`."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in content:
        if part.source is not None:
            parts.append(f"[{part.type}: {part.source.path}]")
        else:
            parts.append(part.text or "")
    return "\n".join(parts)


def isoformat_or_none(value: str | None) -> str | None:
    """`value` if ATIF accepts it as a timestamp."""
    if value is None:
        return None
    try:
        datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return value
