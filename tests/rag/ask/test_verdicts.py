"""The checker on answers of ours: numbered citations, citations of places, nothing cited."""

from __future__ import annotations

from typing import Any

from harness.rag.ask import cited_verdict, verdict_of
from harness.rag.retrieve import Document

PUMP = Document("pump.md", "The pump was replaced in 2019. It moves 320 litres per minute.")
SEAL = Document("seal.md", "The seal was replaced in 2021.")
ASKED = "How much does the pump move?"


def test_numbers_of_citations_are_no_claims() -> None:
    answer = "It moves 320 litres per minute [1]. The pump was replaced in 2019 [1][2]."
    found = verdict_of(ASKED, answer, [PUMP])
    assert (found["verdict"], found["coverage"], found["faults"]) == ("PASS", 1.0, [])


def test_faults_stand_where_they_are_in_the_answer() -> None:
    answer = "The pump was replaced in 2019 [1]. It moves 420 litres per minute [1]."
    found: Any = verdict_of(ASKED, answer, [PUMP])
    assert found["verdict"] == "FAIL"
    (fault,) = found["faults"]
    assert answer[fault["start"] : fault["end"]] == fault["text"] == "420 litres per minute"


def test_what_is_cited_must_bear_it_out() -> None:
    right = "It moves 320 litres per minute. [pump.md:31-62]"
    wrong = "It moves 320 litres per minute. [seal.md:0-30]"
    assert cited_verdict(ASKED, right, [PUMP, SEAL])["verdict"] == "PASS"
    assert cited_verdict(ASKED, wrong, [PUMP, SEAL])["verdict"] == "FAIL"


def test_no_verdict_without_a_passage() -> None:
    for answer in ("320 litres", "320 litres [gone.md:0-9]", "320 litres [pump.md:900-999]"):
        assert cited_verdict(ASKED, answer, [PUMP])["verdict"] == "INVALID"
    assert verdict_of(ASKED, "[1]", [PUMP])["verdict"] == "INVALID"
    assert verdict_of(ASKED, "It moves 320 litres.", [])["verdict"] == "INVALID"
