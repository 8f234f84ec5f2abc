"""The default: prose by word overlap, values by the rules."""

from __future__ import annotations

import pytest

from harness.rag.check import check
from harness.rag.check.checking import open_verifier

TEXT = "The harbour master opened the old lock in spring. It had cost 5 to 10 million euros."


def test_auto_is_overlap() -> None:
    assert open_verifier("auto").name == "overlap"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("The harbour master opened the old lock.", "PASS"),
        ("The harbour master painted a wooden ferry.", "FAIL"),
        ("The harbour master did not open the old lock.", "FAIL"),
        ("The lock cost 5-10 million euros.", "PASS"),
        ("The lock cost 15 million euros.", "FAIL"),
    ],
)
def test_overlap(claim: str, verdict: str) -> None:
    assert check(claim, TEXT, verifier="overlap").verdict == verdict


def test_another_document_takes_no_support_away() -> None:
    claim = "The harbour master opened the old lock."
    assert check(claim, [TEXT, "Rain fell all night."], verifier="overlap").verdict == "PASS"


def test_without_text_there_is_no_verdict() -> None:
    assert check("The lock was opened.", " ", verifier="overlap").verdict == "INVALID"
