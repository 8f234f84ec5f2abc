"""Claims of every kind with exact spans; coverage that asking less cannot raise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rag.check.claims import checkable, coverage, extract, names, statements

ANSWER = (
    "Paris is the capital of France. Beer revenue in 2019 was $4.2 million. Total revenue grew "
    "1.2% over the year. The Hague is not a capital. Ulm is larger than Aalen. There are 12 "
    "bridges in Ulm. The museums are the Louvre, the Orsay, and the Rodin. Do you want more?"
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("relation", "Paris is the capital of France."),
        ("entity", "France"),
        ("cell", "$4.2 million"),
        ("date", "2019"),
        ("derived", "1.2%"),
        ("negation", "The Hague is not a capital."),
        ("comparison", "Ulm is larger than Aalen."),
        ("existence", "There are 12 bridges in Ulm."),
        ("number", "12"),
        ("list", "The museums are the Louvre, the Orsay, and the Rodin."),
    ],
)
def test_every_kind(kind: str, text: str) -> None:
    found = [claim for claim in extract(ANSWER) if claim.text == text]
    assert [claim.type for claim in found] == [kind]


def test_spans_are_verbatim_and_questions_state_no_value() -> None:
    for claim in extract(ANSWER, "Tell me about Ulm."):
        assert ANSWER[claim.start : claim.end] == claim.text
        assert claim.sentence in ANSWER
        assert claim.asked == "Tell me about Ulm."
        assert claim.question
        assert claim.text not in claim.question


def test_questions_and_courtesies_claim_nothing() -> None:
    assert extract("Sure! Do you want more? I hope this helps.") == []
    assert coverage("Do you want more?", []) == 1.0


def test_a_bare_value_is_one_claim() -> None:
    assert [(claim.type, claim.text) for claim in extract("42 km")] == [("number", "42 km")]


def test_names() -> None:
    sentence = "The University of Ulm beat Aalen, said Mary O'Neil on Monday in March."
    assert [sentence[start:end] for start, end in names(sentence)] == [
        "University of Ulm", "Aalen", "Mary O'Neil",
    ]  # fmt: skip


def test_all_claims_cover_everything_and_fewer_cover_less() -> None:
    claims = extract(ANSWER)
    shares = [coverage(ANSWER, claims[:count]) for count in range(0, len(claims) + 1)]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_a_claim_about_the_sentence_does_not_cover_its_values() -> None:
    claims = [claim for claim in extract(ANSWER) if claim.type == "relation"]
    assert coverage(ANSWER, claims) < 0.5


@given(st.text(max_size=80))
def test_any_answer(answer: str) -> None:
    claims = extract(answer)
    assert all(answer[claim.start : claim.end] == claim.text for claim in claims)
    assert coverage(answer, claims) == 1.0
    assert len(checkable(answer)) >= len({(claim.start, claim.end) for claim in claims}) - 1


FEE = "The fee is 9 euros."


@pytest.mark.parametrize(
    ("letter", "claimed"),
    [
        (f"Dear Ms Süß, thank you for your message. {FEE}\n\nKind regards,\nTom Meyer", [FEE]),
        (f"Hello Mr Brown,\n\n{FEE} Best regards, Tom Meyer", [FEE]),
        (f"Liebe Frau Kern, vielen Dank für alles.\n{FEE}\nViele Grüße\nIhr Team", [FEE]),
        ("Thanks to Ann Roe the fee is low.", ["Thanks to Ann Roe the fee is low."]),
        ("Thank you for 9 euros.", ["Thank you for 9 euros."]),
        (f"Kind regards. {FEE}", ["Kind regards.", FEE]),
    ],
)
def test_courtesies_of_a_letter_are_no_claims(letter: str, claimed: list[str]) -> None:
    sentences = dict.fromkeys(claim.sentence for claim in extract(letter))
    assert list(sentences) == claimed


@pytest.mark.parametrize(
    "title",
    ["# Pumps of 2019", "Pumps", "**Pumps**", "Pumps\n=====", "Pumps in use:", "## Pumps\n\n1."],
)
def test_headings_and_marks_of_a_list_claim_nothing(title: str) -> None:
    answer = f"{title}\nThe pump moves 320 litres."
    assert [answer[a:b] for a, b in statements(answer)] == ["The pump moves 320 litres."]


@pytest.mark.parametrize("rule", ["|---|---:|", "| :-- | --- |"])
def test_the_heads_of_a_table_claim_nothing_and_its_rows_do(rule: str) -> None:
    answer = f"Results:\n\n| Region | Units |\n{rule}\n| North | 140 |\n| South | 90 |\n"
    stated = [answer[a:b].strip(" |") for a, b in statements(answer)]
    assert stated == ["North | 140", "South | 90"]


@pytest.mark.parametrize("answer", ["Pumps", "The pump was moved\nThe seal leaked", "Flow: 320"])
def test_a_line_that_states_something_is_no_heading(answer: str) -> None:
    assert [answer[a:b] for a, b in statements(answer)] == answer.split("\n")
