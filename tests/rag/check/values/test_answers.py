"""Bare answers to questions about tables: what was asked says what a value is of."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from harness.rag.check import check


class Case(NamedTuple):
    """An answer to a question about a document, and whether it is right."""

    kind: str
    document: str
    question: str
    answer: str
    right: bool


def cases() -> list[Case]:
    """The answers of answers.txt."""
    answers = list[Case]()
    text = (Path(__file__).parent / "answers.txt").read_text("utf-8")
    for section in text.split("\n== ")[1:]:
        document, *asked = section.split("\n@ ")
        kind, _, document = document.partition("\n")
        for part in asked:
            question, *lines = part.rstrip().split("\n")
            answers += [Case(kind, document, question, x[2:], x[0] == "=") for x in lines]
    return answers


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.kind}: {case.answer}")
def test_answers(case: Case) -> None:
    report = check(case.answer, case.document, question=case.question, verifier="rules")
    assert (report.verdict == "PASS") is case.right, report.claims
