"""JSON as models write it."""

from __future__ import annotations

import pytest

from harness.evolve.analysts.json_reply import parse_object


@pytest.mark.parametrize(
    ("text", "expected", "repair"),
    [
        ('{"a": 1}', {"a": 1}, ()),
        ('Here it is:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}, ()),
        ('{"a": "x\\(y"}', {"a": "x\\(y"}, ("escapes",)),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, ("commas",)),
        ('{"a": [{ {"b": 1} }]}', {"a": [{"b": 1}]}, ("braces",)),
        ('{"a": "<>\\"\\\u201d"}', {"a": '<>""'}, ("quotes",)),
        ('{"a": {"b": [1, 2}', {"a": {"b": [1, 2]}}, None),
    ],
)
def test_repairs(text: str, expected: object, repair: tuple[str, ...] | None) -> None:
    if repair is None:
        with pytest.raises(ValueError, match="one JSON object"):
            parse_object(text)
        return
    assert parse_object(text) == (expected, repair)


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "[1, 2]", "{{{{"])
def test_what_is_no_object_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="expected one JSON object"):
        parse_object(text)
