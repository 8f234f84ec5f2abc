"""Citations name and open the page on which the cited words stand, not that of their passage."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.rag.api import ask
from tests.rag.retrieve.parse.test_rich import pdf

FIRST = "The harbour was dredged in spring and reopened for small boats."
SECOND = "The lighthouse keeper retired in October and nobody followed."
QUESTION = "When did the lighthouse keeper retire?"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf(FIRST, SECOND))
    return path


def test_a_sentence_on_the_second_page_of_a_passage_is_cited_there(report: Path) -> None:
    answer = ask(QUESTION, report, extract=True, verifier="none")
    assert [passage.page for passage in answer.passages] == [1], "one passage holds both pages"
    citation = answer.citations[0]
    assert citation.text == SECOND
    assert citation.page == 2
    assert citation.uri.endswith("#page=2")
    assert "p. 2" in citation.where


def test_a_passage_that_a_model_cites_opens_where_it_says_the_answer(
    report: Path, tmp_path: Path
) -> None:
    script = tmp_path / "replies.jsonl"
    script.write_text('{"text": "The lighthouse keeper retired in October [1]."}\n')
    answer = ask(QUESTION, report, model=f"scripted/{script}", verifier="none")
    assert [(citation.page, citation.uri[-7:]) for citation in answer.citations] == [(2, "#page=2")]
    answer = ask("When was the harbour dredged?", report, extract=True, verifier="none")
    assert answer.citations[0].page == 1
