"""When two cell values count as equal: the semantics of SpreadsheetBench's official scorer."""

from __future__ import annotations

import datetime

from pydantic import JsonValue

_EXCEL_EPOCH = datetime.datetime(1899, 12, 30)


def comparable(value: object) -> object:
    """What a cell value is compared as.

    Numbers and numeric strings: `round(float, 2)`. Booleans are numbers there (Python's bool is an
    int), so TRUE equals 1 and "1". Datetimes: Excel serial rounded to whole days, hence equal to
    the number that Excel stores. Times: `HH:MM`. The empty string is no value. All else stays.
    """
    if isinstance(value, (int, float)):
        return round(float(value), 2)
    if isinstance(value, datetime.time):
        return str(value)[:-3]
    if isinstance(value, datetime.datetime):
        elapsed = value.replace(tzinfo=None) - _EXCEL_EPOCH
        return float(round(elapsed.days + elapsed.seconds / 86400.0, 0))
    if isinstance(value, str):
        try:
            return round(float(value), 2)
        except ValueError:
            return value or None
    return value


def cells_equal(expected: object, got: object) -> bool:
    """Whether two cell values are equal: same type and value after :func:`comparable`."""
    left, right = comparable(expected), comparable(got)
    return type(left) is type(right) and left == right


def shown(value: object) -> JsonValue:
    """A cell value as JSON, cut at 200 characters."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
