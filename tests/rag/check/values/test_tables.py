"""Which table speaks of a sentence, which of its rows, and what its headings are."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from harness.rag.check import Report, as_junit, check
from harness.rag.retrieve import Document

HIRE = Document(
    "hire",
    "No. | Item | Per | Weekday EUR | Weekend EUR\nB-1 | Folding kayak | day | 24.00 | 31.00\n"
    "B-2 | Second paddle | day | 3.50 | 4.00\nB-3 | Life vest | day | 2.00 | 2.50\n",
)
DEPOSITS = Document(
    "deposits",
    "Boat | Weekday (EUR) | Weekend (EUR) | Boats at 30 Sep 2024\n"
    "Rowing boat | 3500 | 900 | 14\nKayak, folding | 150 | 31 | 22\nPunt | 60 | 80 | 5\n",
)
FINES = Document(
    "fines",
    "Report | Inspector | Fine per week (EUR)\n"
    "Slipway inspection | Ada Norrman | 120\nMooring count | Finn Brandt | 3,500\n",
)
NOTICE = Document(
    "notice", "In 2024 there were 812 visitors. The guest pays at most EUR 40 for a lost vest."
)
SHELF = [HIRE, DEPOSITS, FINES, NOTICE]


def verdicts(report: Report) -> dict[str, str]:
    return {claim.text: claim.verdict.value for claim in report.claims}


@pytest.mark.parametrize("documents", [[HIRE], SHELF])
@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("A second paddle costs EUR 3.50 per day on a weekday.", "PASS"),
        ("A second paddle costs EUR 3.50 on a weekday and EUR 4.00 on a weekend.", "PASS"),
        ("A folding kayak costs EUR 24.00 on a weekday.", "PASS"),
        ("A second paddle costs EUR 777.00 per day on a weekday.", "FAIL"),
        ("A second paddle costs 777.00 euros per day on a weekday.", "FAIL"),
        ("A second paddle costs EUR 24.00 per day on a weekday.", "FAIL"),  # of the row above
        ("A second paddle costs EUR 3.75 per day on a weekday.", "FAIL"),  # the mean of both
    ],
)
def test_a_currency_in_a_heading_is_no_value_and_codes_name_no_row(
    claim: str, outcome: str, documents: list[Document]
) -> None:
    assert check(claim, documents).verdict == outcome


@pytest.mark.parametrize("documents", [[FINES], SHELF])
@pytest.mark.parametrize(
    ("report", "outcome"), [("slipway inspection", "FAIL"), ("mooring count", "PASS")]
)
def test_a_table_that_does_not_name_the_row_neither_supports_nor_denies(
    report: str, outcome: str, documents: list[Document]
) -> None:
    claim = f"The highest fine, EUR 3,500 per week, is that of the {report}."
    assert check(claim, documents).verdict == outcome


def test_half_a_label_is_no_row() -> None:
    inspection = "Harbour inspections cost up to EUR 120."
    assert check(inspection, [FINES]).verdict != "PASS"


def test_a_year_is_no_number_of_a_row() -> None:
    table = "Item | Sold 2022\nBolt 1234 zinc | 40\nBolt 2022 zinc | 55\n"
    assert check("Bolt 1234 zinc: 40 sold in 2022.", [table]).verdict == "PASS"
    assert check("Bolt 1234 zinc: 55 sold in 2022.", [table]).verdict == "FAIL"


def test_words_of_headings_are_named() -> None:
    report = check("Norrman wrote to the Inspector.", [FINES])
    assert verdicts(report)["Inspector"] == "SUPPORTED"


@pytest.mark.parametrize(
    ("date", "verdict"), [("30 September 2024", "SUPPORTED"), ("29 September 2024", "NOT_FOUND")]
)
def test_a_date_in_a_heading_is_the_same_however_it_is_written(date: str, verdict: str) -> None:
    report = check(f"There were 5 punts, and 14 of the rowing boat, at {date}.", [DEPOSITS])
    assert verdicts(report)[date] == verdict


def test_headings_within_an_answer_are_no_claims() -> None:
    answer = "The fines:\n\nTask | Officer | Fine\nMooring count | Finn Brandt | 3,500\n"
    assert {"Task", "Officer", "Fine"}.isdisjoint(verdicts(check(answer, [FINES])))
    texts = "Mooring count | Finn Brandt\nSlipway inspection | Finn Brandt\n"
    assert "Mooring count | Finn Brandt" in verdicts(check(texts, [FINES]))


def test_most_of_is_left_open_where_nothing_says_it() -> None:
    report = check("In 2024 there were 812 visitors, most of them from the islands.", SHELF)
    assert report.verdict == "REVIEW"
    assert "'most of' was not checked" in report.claims[0].reason
    said = "Of the 812 visitors of 2024, 700 came in August."
    assert check("Most of the visitors of 2024 came in August.", said).verdict == "PASS"


def test_a_message_names_the_qualifiers_that_differ() -> None:
    report = check("The guest pays more than EUR 40 for a lost vest.", [NOTICE])
    assert "claimed 'more than EUR 40'" in report.claims[1].reason
    assert "says 'at most EUR 40'" in report.claims[1].reason


def test_junit_counts_what_the_report_counts() -> None:
    report = check("A punt costs EUR 61 on a weekday. A tent costs EUR 9.", SHELF)
    suite = ElementTree.fromstring(as_junit([("answer", report)]))[0]
    faults = [claim for claim in report.claims if claim.verdict in ("CONTRADICTED", "NOT_FOUND")]
    assert suite.attrib["tests"] == str(len(report.claims))
    assert suite.attrib["failures"] == str(len(faults))
    assert str(len(faults)) in report.reason
    assert verdicts(report)["A punt costs EUR 61 on a weekday."] == "CONTRADICTED"


def test_what_a_row_denies_follows_from_no_other_document() -> None:
    rules = (
        "A pass with visits per month is valid for twelve months. "
        "A gold pass and its visits per month are checked over three months."
    )
    passes = "Pass | Visits per month\nSilver | 3\nGold | 9\n"
    claim = "The Gold pass includes 4 visits per month."
    assert check(claim, [passes, rules]).verdict == "FAIL"
