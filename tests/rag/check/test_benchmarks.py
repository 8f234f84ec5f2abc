"""benchmarks/check calls `check` as users do: on whole sentences, with the default verifier."""

from __future__ import annotations

from benchmarks.check.labelled import Labelled
from benchmarks.check.table_values import Statement, document_of, flagged, statements
from benchmarks.check.whole import facts
from harness.api import check

TABLE = {
    "table": {
        "uid": "mill",
        "table": [["", "2021", "2020"], ["Flour sold", "4,310", "3,975"], ["Bran", "812", "640"]],
    },
    "paragraphs": [{"text": "The mill stood still for eleven days in 2020."}],
}


def statement(sentence: str, value: str) -> Statement:
    return Statement("mill", "paraphrase", sentence, value)


def test_a_statement_is_judged_as_a_whole_and_not_by_its_value_alone() -> None:
    document = document_of(TABLE)
    assert not flagged(document, statement("Flour sold was 4,310 in 2021.", "4,310"))
    assert flagged(document, statement("Flour sold was 4,370 in 2021.", "4,370"))
    burned = "Flour sold was 4,310 in 2021, when the warehouse burned down."
    assert flagged(document, statement(burned, "4,310"))


def test_statements_are_made_of_every_cell() -> None:
    kinds = [made.kind for _, made in statements(TABLE)]
    assert kinds.count("paraphrase") == 8
    assert {"digit", "unit", "scale", "sign", "period"} <= set(kinds)


def test_whole_answers_have_the_verdict_of_the_command() -> None:
    note = "The bridge at Vael was built of oak. It was closed in 1974 after a flood."
    for text in ("The bridge was closed in 1974.", "The bridge was closed in 1984.",
                 "The bridge is open, and ships pass below it."):  # fmt: skip
        judged = facts(Labelled("notes", text, note, supported=True))
        assert judged["overlap"] == (check(text, note).verdict == "PASS")
        assert judged["rules"] == (check(text, note, verifier="rules").verdict == "PASS")
