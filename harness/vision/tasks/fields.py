"""Key fields of a document, as in SROIE task 3 (Huang et al. 2019): exact, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def read_fields(reply: str) -> dict[str, str] | None:
    """The fields that a reply gives as a JSON object; None where it holds none."""
    start = reply.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(reply[start:])
    except (ValueError, RecursionError):
        return None
    record: dict[str, Any] = value
    return {str(key).lower(): _plain(str(one)) for key, one in record.items() if one is not None}


def matching_fields(given: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, bool]:
    """Field -> whether it is given exactly, but for runs of spaces."""
    return {name: given.get(name.lower()) == _plain(value) for name, value in wanted.items()}


def _plain(text: str) -> str:
    return " ".join(text.split())
