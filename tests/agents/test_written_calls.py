"""Calls that a model wrote as text: read where the text is nothing else, never elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents import written_calls

NAMES = ("convert", "weather")
CALL = '{"name": "convert", "arguments": {"amount": 3}}'
OTHER = '{"arguments": {"city": "Łódź"}, "name": "weather"}'

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters) | st.sampled_from(["```", "</tool_call>", "}", '"', "\n"])
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(texts, values, max_size=3)
calls = st.fixed_dictionaries({"name": st.sampled_from(NAMES), "arguments": arguments})
wrappers = st.sampled_from(
    ["{}", "```json\n{}\n```", "```\n{}\n```", "<tool_call>\n{}\n</tool_call>", "<tools>{}</tools>"]
)


def _read(text: str) -> list[Any]:
    found = written_calls(text, NAMES)
    return [{"name": call.name, "arguments": call.arguments} for call in found]


@given(st.lists(calls, min_size=1, max_size=3), wrappers, st.booleans(), st.sampled_from([None, 2]))
def test_every_form_of_calls_gives_the_calls(
    calls: list[Any], wrapper: str, in_list: bool, indent: int | None
) -> None:
    lines = [json.dumps(call, indent=indent, ensure_ascii=False) for call in calls]
    inner = json.dumps(calls, indent=indent) if in_list else "\n".join(lines)
    assert _read(f"\n{wrapper.replace('{}', inner)} ") == calls
    assert _read("\n".join(wrapper.replace("{}", line) for line in lines)) == calls


@given(texts.filter(str.strip), calls)
def test_a_call_beside_any_other_text_is_none(prose: str, call: Any) -> None:
    written = json.dumps(call)
    if prose.strip() == "[]":  # an empty list of calls
        return
    assert _read(f"{prose}\n{written}") == []
    assert _read(f"{written}\n{prose}") == []


@given(values.filter(lambda value: value != []))
def test_other_json_is_no_call(value: Any) -> None:
    assert _read(json.dumps(value)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        CALL[:-1],
        f"I call it now: {CALL}",
        f"{CALL} is what I would call",
        f"{CALL}, {CALL}",
        f"```python\n{CALL}\n```",
        f"```json\n{CALL}",
        f"<tool_call>{CALL}</tools>",
        f"<tool_call>{CALL}",
        "<tool_call></tool_call>",
        f"[{CALL}, 7]",
        f"[[{CALL}]]",
        f'{CALL}\n{{"name": "unknown", "arguments": {{}}}}',
        '{"name": "convert"}',
        '{"name": "convert", "arguments": "{}"}',
        '{"name": "convert", "arguments": []}',
        '{"name": ["convert"], "arguments": {}}',
        '{"name": "convert", "description": "Converts.", "arguments": {}}',
        '{"name": "convert", "arguments": {"amount": NaN}}',
        '{"name": "convert", "arguments": {"amount": 1e999}}',
        '{"name": "convert", "arguments": {"unit": "\\ud800"}}',
        '{"name": "convert", "arguments": ' + '{"a": ' * 100_000,
    ],
)
def test_what_is_not_made_of_calls_only_stays_text(text: str) -> None:
    assert written_calls(text, NAMES) == ()


def test_any_name_will_do_where_none_are_given() -> None:
    assert [call.name for call in written_calls(f"{OTHER}\n{CALL}")] == ["weather", "convert"]
    assert written_calls(f"{OTHER}\n{CALL}", ("convert",)) == ()


def test_line_ends_in_strings_may_be_left_as_they_are() -> None:
    (call,) = written_calls('{"name": "convert", "arguments": {"text": "a\nb"}}', NAMES)
    assert call.arguments == {"text": "a\nb"}
