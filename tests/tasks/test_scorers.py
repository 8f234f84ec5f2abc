"""Checks by pattern, as JSON, by meaning, and several at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from harness.core import BadInput, Score, Task
from harness.tasks import family

REPLY = """Here you are:
```json
{"city": "Oslo", "sizes": [1, 2], "open": true, "deep": {"a": [{"b": 7}]}}
```
Anything else?"""


def score(check: str, gold: JsonValue, answer: str | None, **meta: Any) -> Score:
    task = Task(id="t", prompt="p", answer=gold, check=check, meta=meta)
    judge = family(task)
    judge.prepare(task, Path(), Path())
    return judge.score(task, Path(), Path(), answer)


@pytest.mark.parametrize(
    ("gold", "answer", "ok"),
    [
        (r"^\d+ km$", "12 km", True),
        (r"^\d+ km$", "about 12 km", False),
        (["cats?", "(?i)DOG"], "one dog", True),
        ("x", None, False),
    ],
)
def test_a_pattern_matches_somewhere(gold: JsonValue, answer: str | None, ok: bool) -> None:
    assert (score("regex", gold, answer).outcome == "pass") is ok


@pytest.mark.parametrize(
    ("gold", "meta", "fault"),
    [
        ({"city": "Oslo", "deep": {"a": [{"b": 7}]}}, {}, ""),
        ({"city": "Rome"}, {}, "answer.city: expected 'Rome', got 'Oslo'"),
        ({"town": "Oslo"}, {}, "answer lacks 'town'"),
        ({"sizes": [1]}, {}, "answer.sizes has another length"),
        ({"open": 1}, {}, "answer.open: expected 1, got True"),
        (7, {"path": "deep.a[0].b"}, ""),
        ([1, 2], {"path": "sizes"}, ""),
        (7, {"path": "deep.a[1].b"}, "the answer has no 'deep.a[1].b'"),
        (7, {"path": "city.a"}, "the answer has no 'city.a'"),
    ],
)
def test_json_holds_what_is_expected(gold: JsonValue, meta: dict[str, Any], fault: str) -> None:
    result = score("json", gold, REPLY, **meta)
    assert (result.outcome == "pass") is (not fault)
    assert result.reason.startswith(fault)


@pytest.mark.parametrize("answer", [None, "", "no JSON", "{half", "[" * 100_000])
def test_what_is_no_json_fails(answer: str | None) -> None:
    assert "expected JSON" in score("json", {}, answer).reason


def test_json_may_stand_in_a_text() -> None:
    assert score("json", {"a": 1}, 'It is {"a": 1, "b": 2}, I think.').outcome == "pass"
    assert score("json", 5, "5").outcome == "pass"
    # As a table has it: there it can only be text.
    assert score("json", '{"a": 1}', 'It is {"a": 1, "b": 2}, I think.').outcome == "pass"
    assert score("json_schema", '{"required": ["city"]}', REPLY).outcome == "pass"


def test_a_schema_names_what_does_not_fit() -> None:
    schema: JsonValue = {"properties": {"sizes": {"items": {"maximum": 1}}}, "required": ["city"]}
    assert score("json_schema", {"required": ["city"]}, REPLY).outcome == "pass"
    assert score("json_schema", schema, REPLY).reason.startswith("$.sizes[1]: 2 is greater than")
    with pytest.raises(BadInput, match=r"JSON schema .* cannot be used"):
        score("json_schema", {"type": 5}, REPLY)


@pytest.mark.wing("rag")
def test_similarity_is_a_soft_value() -> None:
    near = score("similarity", "The car is fast.", "The automobile is quick.", threshold=0.5)
    far = score("similarity", "The car is fast.", "Bananas ripen in the dark.", threshold=0.5)
    assert near.outcome == "pass" and far.outcome == "fail"
    assert far.value < near.value < 1
    assert score("similarity", "a", None).reason == "there is no final answer"


def test_several_checks_have_weights() -> None:
    checks: list[JsonValue] = [
        {"check": "contains", "answer": "Oslo", "weight": 3},
        {"check": "regex", "answer": "never"},
    ]
    result = score("all", None, REPLY, checks=checks)
    assert (result.outcome, result.value) == ("fail", 0.75)
    assert result.reason.startswith("regex: no match of 'never'")
    assert result.detail["checks"] == {"1 contains": 1.0, "2 regex": 0.0}
    assert score("all", None, REPLY, checks=checks, threshold=0.7).outcome == "pass"


@pytest.mark.parametrize(
    ("check", "gold", "meta", "message"),
    [
        ("regex", "(", {}, "pattern .* cannot be used"),
        ("regex", None, {}, "expected 'answer' to be a text"),
        ("all", None, {}, "needs a list 'checks'"),
        ("all", None, {"checks": [{"check": "fuzzy"}]}, "expected one of em, .*found 'fuzzy'"),
        ("all", None, {"checks": [{"check": "em", "answer": "x", "weight": 0}]}, "weight > 0"),
        ("all", None, {"checks": [{"check": "all"}]}, "found 'all'"),
    ],
)
def test_what_cannot_judge_is_refused_before_the_attempt(
    check: str, gold: JsonValue, meta: dict[str, Any], message: str
) -> None:
    task = Task(id="t", prompt="p", answer=gold, check=check, meta=meta)
    with pytest.raises(BadInput, match=message):
        family(task).prepare(task, Path(), Path())
