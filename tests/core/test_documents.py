"""JSON and YAML of strangers: a value, or an error that names the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import BadInput, parse_row, parse_yaml, read_json, read_rows, read_yaml


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5000, '{"a": ', "[1]", "nothing"])
def test_a_row_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^x:7: expected"):
        parse_row(text, "x:7")
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(BadInput, match=r"a\.jsonl:1"):
        list(read_rows(tmp_path / "a.jsonl"))


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    """A character that cannot be stored would end the command that stores it."""
    text = '{"a\\ud800": ["\\uDC00x", "\\ud83d\\ude00"]}'
    assert parse_row(text, "x") == {"a\ufffd": ["\ufffdx", "\U0001f600"]}
    (tmp_path / "a.json").write_text(text)
    assert read_json(tmp_path / "a.json") == {"a\ufffd": ["\ufffdx", "\U0001f600"]}
    assert parse_yaml('"\\ud800": ["\\U0000DC00x", 1]') == {"\ufffd": ["\ufffdx", 1]}


def test_yaml_is_plain() -> None:
    assert parse_yaml("a: 1\nb: [x, {c: 1.5}]") == {"a": 1, "b": ["x", {"c": 1.5}]}
    assert parse_yaml("version: 1.0", as_text=True) == {"version": "1.0"}
    assert parse_yaml('{"a": [null, true]}') == {"a": [None, True]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &b 1\nc: *b", "line 2: an alias"),
        ("a: " + "[" * 41 + "]" * 41, "line 1: more than 40 levels"),
        ("a: " + "x" * 200_000, "more than 200,000 characters"),
        ("a: !!python/object:os.system {}", "could not determine a constructor"),
        ("a: !!bool x", "'x'"),
        ("a: [", "line 1"),
    ],
)
def test_other_yaml_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        parse_yaml(text)
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(BadInput, match=r"a\.yaml: not YAML"):
        read_yaml(tmp_path / "a.yaml")


def test_a_folder_is_no_yaml(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected a YAML file"):
        read_yaml(tmp_path)
    with pytest.raises(BadInput, match="cannot read"):
        read_yaml(tmp_path / "nowhere.yaml")
