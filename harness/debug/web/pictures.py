"""Images and cells in the values of a state, for a page that fetches nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, cast

MOST_BYTES = 1_000_000
"""Of an image that is shown; a larger one is named only."""
_DATA = re.compile(r"data:image/(png|jpeg|jpg|gif|webp);base64,([A-Za-z0-9+/=\s]+)\Z")
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})\Z")
_MARKS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
"""First bytes of the kinds of image that are shown (no SVG: it is a program)."""
_KEYS = ("data", "base64", "url")
Cell = tuple[str, int, Any]
"""Letters of the column, number of the row, value."""


def image(value: Any) -> dict[str, Any] | None:
    """An image as a tree: a data URL, bytes, or a part of a message that holds one.

    Only what begins like the kind that it says is an image; an address elsewhere is not fetched.
    """
    if isinstance(value, (bytes, bytearray)):
        return _shown(bytes(value))
    if isinstance(value, str):
        found = _DATA.match(value) if value.startswith("data:image/") else None
        return None if found is None else _decoded(found[2])
    if isinstance(value, Mapping):
        return _part(cast("Mapping[str, Any]", value))
    return None


def _part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Image parts of OpenAI's messages, LangChain's blocks, and Anthropic's sources."""
    if part.get("type") not in ("image_url", "image", "input_image"):
        return None
    inner = part.get("image_url") or part.get("source") or part
    if isinstance(inner, str):
        return image(inner)
    if not isinstance(inner, Mapping):
        return None
    found = cast("Mapping[str, Any]", inner)
    texts = [found[name] for name in _KEYS if isinstance(found.get(name), str)]
    return next((one for text in texts if (one := image(text) or _decoded(text))), None)


def _decoded(text: str) -> dict[str, Any] | None:
    if len(text) > 2 * MOST_BYTES:
        return {"kind": "image", "src": None, "size": len(text) * 3 // 4}
    try:
        return _shown(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _shown(data: bytes) -> dict[str, Any] | None:
    kind = next((kind for mark, kind in _MARKS.items() if data.startswith(mark)), None)
    if kind is None or (kind == "webp" and data[8:12] != b"WEBP"):
        return None
    large = len(data) > MOST_BYTES
    src = None if large else f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return {"kind": "image", "src": src, "size": len(data), "format": kind}


def cells(value: Any) -> list[Cell] | None:
    """Places and values, where a mapping or a list is made of workbook cells.

    A mapping of one column is none: `Q1` to `Q4` may be quarters.
    """
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(cast("Mapping[Any, Any]", value).items())
    elif isinstance(value, list):
        named = [_named(one) for one in cast("list[Any]", value)]
        pairs = [one for one in named if one is not None] if None not in named else []
    found = [(match[1], int(match[2]), one) for at, one in pairs if (match := _place(at, one))]
    if not found or len(found) < len(pairs):
        return None
    several = len({column for column, _, _ in found}) > 1
    return found if several or isinstance(value, list) else None


def _named(one: Any) -> tuple[Any, Any] | None:
    """Address and value of a cell that is an object of its own."""
    if not isinstance(one, Mapping):
        return None
    found = cast("Mapping[str, Any]", one)
    at = next((found[name] for name in ("cell", "address", "coordinate") if name in found), None)
    return (at, found["value"]) if at is not None and "value" in found else None


def _place(at: Any, value: Any) -> re.Match[str] | None:
    return _CELL.match(at) if isinstance(at, str) and _plain(value) else None


def grid(found: list[Cell], rows: int = 40, columns: int = 20) -> dict[str, Any]:
    """Cells as a table: letters of the columns, numbers of the rows, texts; both cut."""
    held = {(row, column): value for column, row, value in found}
    wide = sorted({column for column, _, _ in found}, key=lambda name: (len(name), name))
    long = sorted({row for _, row, _ in found})
    table = [
        [row, *(_text(held.get((row, column))) for column in wide[:columns])] for row in long[:rows]
    ]
    cut = len(wide) > columns or len(long) > rows
    return {"kind": "cells", "columns": wide[:columns], "rows": table, "cut": cut}


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:200]
