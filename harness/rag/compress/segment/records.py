"""JSON and JSON lines as records: array items and object members, with offsets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

LARGEST = 1500
"""Characters up to which a value stays one record; a larger array or object is entered."""
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Record(NamedTuple):
    """One array item, object member or JSON line.

    Attributes:
        start: first character.
        end: character behind the last one, a comma behind it included.
        path: of the array or object that holds it (`$.items`).
    """

    start: int
    end: int
    path: str


def json_records(text: str) -> list[Record] | None:
    """Records of a JSON document or of JSON lines; None where `text` is neither.

    Brackets of what was entered, and names of members that were entered, belong to the first
    record inside or, closing ones, to the last.
    """
    start = _skip(text, 0)
    if text[start : start + 1] not in ("{", "["):
        return None
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if _skip(text, end) == len(text):
        return list(_descend(text, start, end, "$")) if end - start > 2 else None
    return _lines(text)


def _lines(text: str) -> list[Record] | None:
    records: list[Record] = []
    for match in re.finditer(r"[^\r\n]+", text):
        line = match[0].strip()
        if not line:
            continue
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return None
        records.append(Record(match.start(), match.end(), "$lines"))
    return records if len(records) > 1 else None


def _descend(text: str, start: int, end: int, path: str) -> Iterator[Record]:
    """Records of the array or object in `text[start:end]`, brackets of it included."""
    found = [part for one in _parts(text, start, end, path) for part in _entered(text, one)]
    if not found:
        yield Record(start, end, path)
        return
    first, last = found[0], found[-1]
    found[0] = first._replace(start=start)
    found[-1] = found[-1]._replace(end=max(end, last.end))
    yield from found


class _Part(NamedTuple):
    start: int
    value: int
    value_end: int
    end: int
    path: str
    inner: str


def _parts(text: str, start: int, end: int, path: str) -> Iterator[_Part]:
    is_object = text[start] == "{"
    place, number = _skip(text, start + 1), 0
    while place < end - 1:
        begin, name = place, f"[{number}]"
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
            name = f".{key}"
        value = place
        _, value_end = _DECODER.raw_decode(text, value)
        place = _skip(text, value_end)
        comma = place + 1 if text[place : place + 1] == "," else value_end
        yield _Part(begin, value, value_end, comma, path, path + name)
        place, number = _skip(text, comma), number + 1


def _entered(text: str, part: _Part) -> Iterator[Record]:
    """The part as one record, or, where it is large or an array of objects, its own records."""
    value = text[part.value : part.value_end]
    is_list = re.match(r"\[\s*[\[{]", value) is not None
    if value[0] not in "{[" or (len(value) <= LARGEST and not is_list) or len(value) <= 2:
        yield Record(part.start, part.end, part.path)
        return
    inner = list(_descend(text, part.value, part.value_end, part.inner))
    inner[0] = inner[0]._replace(start=part.start)
    inner[-1] = inner[-1]._replace(end=part.end)
    yield from inner


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
