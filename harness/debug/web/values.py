"""Values of a state as trees of JSON, for a page that shows them, fetches nothing and runs nothing.

Images, workbook cells and messages are recognised and drawn as such; workbooks that a state names
are looked into when the user asks.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput
from harness.debug.engine.usage import mapping

DEPTH, ITEMS, TEXT = 12, 500, 20_000
"""Levels, entries of one container, and characters of one text that are shown."""
ROWS, COLUMNS, SHEETS = 40, 20, 10
"""What is shown of a table and of a workbook."""
MOST_BYTES = 1_000_000
"""Of an image that is shown; a larger one is named only."""
_DATA = re.compile(r"data:image/(png|jpeg|jpg|gif|webp);base64,([A-Za-z0-9+/=\s]+)\Z")
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})\Z")
_MARKS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
"""First bytes of the kinds of image that are shown (no SVG: it is a program)."""
_ROLES = {"human": "user", "ai": "assistant", "agent": "assistant"}
Cell = tuple[str, int, Any]
"""Letters of the column, number of the row, value."""


def tree(value: Any, depth: int = DEPTH) -> dict[str, Any]:
    """One value with a `kind`: text, number, map, list, message, object, image, cells, other, …"""
    if value is None or isinstance(value, (bool, int, float)):
        # What JSON has not, and whole numbers that a browser would round, are shown as text.
        odd = not math.isfinite(value) if isinstance(value, float) else abs(value or 0) > 2**53
        return {"kind": "number", "value": repr(value) if odd else value}
    if cells := _cells(value):
        return _grid(cells)
    if image := _image(value):
        return image
    if isinstance(value, str):
        return {"kind": "text", "value": value[:TEXT], "size": len(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"kind": "bytes", "size": len(value)}
    if depth <= 0:
        return {"kind": "other", "value": f"{type(value).__name__} …"}
    if message := _message(value):
        return {**message, "content": tree(message["content"], depth - 1)}
    if isinstance(value, (Sequence, Set)):
        items = list(cast("Sequence[Any]", value))
        members = [tree(item, depth - 1) for item in items[:ITEMS]]
        return {"kind": "list", "size": len(items), "items": members}
    kind = cast("Any", type(value))
    entries: list[tuple[Any, Any]]
    if isinstance(value, Mapping):
        entries = list(cast("Mapping[Any, Any]", value).items())
    elif dataclasses.is_dataclass(kind):
        entries = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(kind)]
    elif isinstance(names := getattr(kind, "model_fields", None), Mapping):
        entries = [(name, getattr(value, name)) for name in cast("Mapping[str, Any]", names)]
    else:
        return {"kind": "other", "value": repr(value)[:TEXT]}
    members = [[str(key), tree(item, depth - 1)] for key, item in entries[:ITEMS]]
    if isinstance(value, Mapping):
        return {"kind": "map", "size": len(entries), "items": members}
    return {"kind": "object", "size": len(entries), "items": members, "type": type(value).__name__}


def editable(value: Any) -> str:
    """A value as JSON text to edit: what JSON holds without loss, or messages.

    Raises:
        BadInput: for any other value.
    """
    from langchain_core.messages import BaseMessage, convert_to_openai_messages

    plain: Any = value
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if items and all(isinstance(item, BaseMessage) for item in items):
        plain = convert_to_openai_messages(items, include_id=True)
    with suppress(TypeError, ValueError, RecursionError):
        written = json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)
        if json.loads(written) == plain:
            return written
    raise BadInput(f"JSON cannot hold this {type(plain).__name__}: edit its parts in the source")


def sheets(name: str, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The first cells of every sheet of a workbook below one of `folders`.

    Raises:
        BadInput: if there is none, it lies elsewhere, or it cannot be read.
    """
    from openpyxl.utils import get_column_letter

    from harness.tasks import UnreadableWorkbook, open_workbook

    for folder in folders:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
        if inside and path.suffix.lower() == ".xlsx" and path.is_file():
            break
    else:
        raise BadInput(f"expected a workbook (.xlsx) of this session's folders, found {name!r}")
    tables: list[dict[str, Any]] = []
    try:
        with open_workbook(path) as book:
            filled = [sheet for sheet in book.sheet_names if book.has_cells(sheet)]
            for sheet in filled[:SHEETS]:
                cells = [
                    (get_column_letter(column), row, value)
                    for row, values in enumerate(book.head(sheet, ROWS, COLUMNS), start=1)
                    for column, value in enumerate(values, start=1)
                ]
                tables.append({"sheet": sheet, **_grid(cells)})
    except UnreadableWorkbook as error:
        raise BadInput(str(error)) from error
    return tables


def _message(value: Any) -> dict[str, Any] | None:
    """A chat message, of LangChain, in OpenAI's form, or a step of a trajectory (ATIF)."""
    body = mapping(value)
    if "step_id" in body and "message" in body:
        thought, metrics = body.get("reasoning_content"), mapping(body.get("metrics"))
        tokens = sum(metrics.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
        role = str(body.get("source"))
        content = {"reasoning": thought, "message": body["message"]} if thought else body["message"]
        calls, usage = body.get("tool_calls"), {"total_tokens": tokens or None}
    elif "step_id" in body:  # the result of a tool
        role, content, calls, usage = "tool", body.get("content"), None, None
    elif isinstance(body.get("role"), str) and "content" in body:
        role, content = body["role"], body["content"]
        calls, usage = body.get("tool_calls"), body.get("usage")
    else:
        kind = getattr(value, "type", None)
        if not isinstance(kind, str) or not hasattr(value, "content") or not hasattr(value, "id"):
            return None
        role, content = kind, value.content
        calls, usage = getattr(value, "tool_calls", None), getattr(value, "usage_metadata", None)
    return {
        "kind": "message",
        "role": role if body and "step_id" not in body else _ROLES.get(role, role),
        "content": content,
        "calls": [_call(call) for call in cast("list[Any]", calls)]
        if isinstance(calls, list)
        else [],
        "tokens": mapping(usage).get("total_tokens"),
    }


def _call(call: Any) -> dict[str, Any]:
    """A tool call in any of the three forms, its arguments read where they are JSON."""
    body = mapping(call)
    inner = mapping(body.get("function", body))
    arguments = inner.get("arguments", inner.get("args"))
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    name = inner.get("name", inner.get("function_name"))
    return {"name": str(name), "arguments": tree(arguments)}


def _image(value: Any) -> dict[str, Any] | None:
    """An image as a tree: a data URL, bytes, or a part of a message that holds one.

    Only what begins like the kind that it says is an image; an address elsewhere is not fetched.
    Parts are those of OpenAI's messages, LangChain's blocks, and Anthropic's sources.
    """
    if isinstance(value, (bytes, bytearray)):
        return _picture(bytes(value))
    if isinstance(value, str):
        match = _DATA.match(value) if value.startswith("data:image/") else None
        return None if match is None else _decoded(match[2])
    part = mapping(value)
    if part.get("type") not in ("image_url", "image", "input_image"):
        return None
    inner = part.get("image_url") or part.get("source") or part
    if isinstance(inner, str):
        return _image(inner)
    texts = [mapping(inner).get(name) for name in ("data", "base64", "url")]
    images = (_image(text) or _decoded(text) for text in texts if isinstance(text, str))
    return next(filter(None, images), None)


def _decoded(text: str) -> dict[str, Any] | None:
    if len(text) > 2 * MOST_BYTES:
        return {"kind": "image", "src": None, "size": len(text) * 3 // 4}
    try:
        return _picture(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _picture(data: bytes) -> dict[str, Any] | None:
    kind = next((kind for mark, kind in _MARKS.items() if data.startswith(mark)), None)
    if kind is None or (kind == "webp" and data[8:12] != b"WEBP"):
        return None
    large = len(data) > MOST_BYTES
    src = None if large else f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return {"kind": "image", "src": src, "size": len(data), "format": kind}


def _cells(value: Any) -> list[Cell] | None:
    """Places and values, where a mapping or a list is made of workbook cells.

    A mapping of one column is none: `Q1` to `Q4` may be quarters.
    """
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(cast("Mapping[Any, Any]", value).items())
    elif isinstance(value, list):
        for item in map(mapping, cast("list[Any]", value)):
            names = ("cell", "address", "coordinate")
            address = next((item[name] for name in names if name in item), None)
            if address is None or "value" not in item:
                return None
            pairs.append((address, item["value"]))
    cells: list[Cell] = []
    for address, content in pairs:
        match = _CELL.match(address) if isinstance(address, str) else None
        if match is None or not isinstance(content, (str, int, float, bool, type(None))):
            return None
        cells.append((match[1], int(match[2]), content))
    several = len({column for column, _, _ in cells}) > 1
    return cells if cells and (several or isinstance(value, list)) else None


def _grid(cells: list[Cell]) -> dict[str, Any]:
    """Cells as a table: letters of the columns, numbers of the rows, texts; both cut."""
    contents = {(row, column): value for column, row, value in cells}
    columns = sorted({column for column, _, _ in cells}, key=lambda name: (len(name), name))
    numbers = sorted({row for _, row, _ in cells})
    table: list[list[Any]] = []
    for row in numbers[:ROWS]:
        values = (contents.get((row, column)) for column in columns[:COLUMNS])
        table.append([row, *("" if value is None else str(value)[:200] for value in values)])
    cut = len(columns) > COLUMNS or len(numbers) > ROWS
    return {"kind": "cells", "columns": columns[:COLUMNS], "rows": table, "cut": cut}
