"""The forms of replies, for engines that are known to hold a model to a JSON schema.

The embedded engine is one: a small model that knows what it would answer, but not how to write it
down, can take part. Other endpoints are asked in words alone and read leniently.
"""

from __future__ import annotations

from pydantic import JsonValue

from harness.models import Model

MOST_PAIRS = 10
"""Pairs of a Proposer (the number of the paper's prompt)."""
LONGEST = 200
"""Characters of a text in a reply."""

Format = dict[str, JsonValue]
_TEXT: dict[str, JsonValue] = {"type": "string", "maxLength": LONGEST}


def answers_format(model: Model, questions: int) -> Format | None:
    """One quote and answer for every question; None where the model's engine may not know it."""
    return _array(model, {"evidence": _TEXT, "answer": _TEXT}, questions, questions)


def pairs_format(model: Model) -> Format | None:
    """Questions with their answers."""
    return _array(model, {"question": _TEXT, "answer": _TEXT}, 1, MOST_PAIRS)


def parts_format(model: Model, parts: int) -> Format | None:
    """Replacements of numbered parts."""
    number: dict[str, JsonValue] = {"type": "integer", "minimum": 1, "maximum": parts}
    return _array(model, {"part": number, "text": _TEXT}, 1, parts)


def _array(model: Model, fields: dict[str, JsonValue], least: int, most: int) -> Format | None:
    if not model.spec.startswith("local/"):
        return None
    item: dict[str, JsonValue] = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    schema: dict[str, JsonValue] = {
        "type": "array", "items": item, "minItems": least, "maxItems": most,
    }  # fmt: skip
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
