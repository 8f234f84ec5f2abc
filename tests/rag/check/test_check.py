"""An answer against documents, without a model: reports, quotes, outcomes, batches, pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.api import check
from harness.core import BadInput
from harness.rag.check import Outcome, Report, Verdict, as_junit, as_text, check_batch, read_batch
from harness.rag.check.output import highlighted, write_html
from harness.rag.check.pytest_plugin import grounded
from harness.rag.retrieve import Document

NOTES = Document(
    "notes",
    "# Pump house\n\nPump P-7 was replaced by Nils Ackermann on 4 May 2019. It moves 320 litres "
    "per minute.\n\n| Part | 2018 | 2019 |\n| --- | --- | --- |\n| Seals | 12 | 15 |\n",
)
TRUE = "Pump P-7 was replaced by Nils Ackermann on 4 May 2019. In 2019 there were 15 seals."
FALSE = "Pump P-7 was replaced by Nils Ackermann on 4 May 2018."


def rules(answer: str, *documents: Document | str) -> Report:
    return check(answer, list(documents or (NOTES,)), verifier="rules")


def test_a_true_answer_passes_with_verbatim_evidence() -> None:
    found = rules(TRUE)
    assert (found.verdict, found.coverage) == (Outcome.PASS, 1.0)
    for claim in found.claims:
        assert TRUE[claim.start : claim.end] == claim.text
        assert claim.reason
        for one in claim.evidence:
            assert NOTES.text[one.start : one.end] == one.quote


def test_a_sentence_with_a_wrong_value_is_not_supported() -> None:
    report = check("The pump moves 420 litres.", "The pump moves 320 litres.")
    assert {claim.verdict for claim in report.claims} == {Verdict.CONTRADICTED}
    assert [claim.text for claim in report.faults] == ["420 litres"]


def test_a_false_date_fails_and_names_the_place() -> None:
    found = rules(FALSE)
    assert found.verdict is Outcome.FAIL
    wrong = [one for one in found.claims if one.verdict is Verdict.CONTRADICTED]
    assert [one.text for one in wrong] == [FALSE, "4 May 2018"]
    assert [one.text for one in found.faults] == ["4 May 2018"]
    assert "4 May 2019" in wrong[0].evidence[0].quote
    assert "4 May 2018" in as_text(found, FALSE)


LEASE = Document(
    "lease",
    "The deposit amounts to 220 euros. It is due within 14 days of signing.\n\n"
    "Pets are not allowed in the flat. The heating was renewed by Nils Ackermann in 2021.\n",
)


def test_clauses_of_a_compound_sentence_are_judged_apart_and_combined() -> None:
    found = rules(
        "The deposit is 220 euros, the heating was renewed in 2021, and pets are not allowed in "
        "the flat.",
        LEASE,
    )
    assert found.verdict is Outcome.PASS, found
    statement, amount = found.claims[0], found.claims[1]
    assert amount.text == "220 euros"
    assert amount.evidence[0].quote.startswith("The deposit amounts to 220 euros")
    assert len(statement.evidence) == 3


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        ("The deposit is 230 euros, and the heating was renewed in 2021.", {"230 euros"}),
        ("The deposit is 220 euros, and dogs are welcome in every garden.", {"whole"}),
        ("The deposit is 220 euros, and pets are allowed in the flat.", {"whole"}),
    ],
)
def test_one_wrong_clause_is_enough_to_fail(answer: str, verdicts: set[str]) -> None:
    found = rules(answer, LEASE)
    assert found.verdict is Outcome.FAIL
    faults = {"whole" if claim.text == answer else claim.text for claim in found.faults}
    assert verdicts <= faults


def test_no_context_is_invalid_never_a_pass() -> None:
    assert rules(TRUE, "  \n").verdict is Outcome.INVALID
    assert rules(TRUE, Document("empty", "")).verdict is Outcome.INVALID


def test_an_empty_answer_and_doubled_ids_are_bad_input() -> None:
    with pytest.raises(BadInput, match="answer to check"):
        check(" ", [NOTES])
    with pytest.raises(BadInput, match="'notes' twice"):
        check(TRUE, [NOTES, NOTES])
    with pytest.raises(BadInput, match="expected a verifier"):
        check(TRUE, [NOTES], verifier="oracle")


def test_files_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(NOTES.text)
    assert check(TRUE, path, verifier="rules").verdict is Outcome.PASS


def test_irrelevant_documents_change_nothing() -> None:
    noise = [Document(f"noise-{at}", f"Ship {at} sailed with {at + 40} men.") for at in range(9)]
    for answer in (TRUE, FALSE):
        alone, among = rules(answer), rules(answer, *noise, NOTES)
        assert [one.verdict for one in alone.claims] == [one.verdict for one in among.claims]


def test_batches_understand_the_names_that_others_use(tmp_path: Path) -> None:
    rows = [
        {"question": "When?", "answer": TRUE, "contexts": [NOTES.text], "reference": "2019"},
        {"user_input": "When?", "response": FALSE, "retrieved_contexts": [NOTES.text]},
        {"query": "q", "response": TRUE, "retrieved_context": [{"doc_id": "1", "text": ""}]},
        {"question": "q", "answer": "", "contexts": [NOTES.text], "id": "last"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(check_batch(read_batch(path), "zero-tolerance", "rules"))
    assert [one.report.verdict for one in found] == ["PASS", "FAIL", "INVALID", "INVALID"]
    assert [one.id for one in found] == ["1", "2", "3", "last"]
    path.write_text('{"answer": "x", "contexts": null}\n')
    assert read_batch(path)[0].contexts == ()
    path.write_text('{"answer": "x", "contexts": [3]}\n')
    with pytest.raises(BadInput, match=r"rows.jsonl:1: contexts"):
        read_batch(path)


def test_junit_counts_faults_as_failures() -> None:
    root = ElementTree.fromstring(as_junit([("a\x00b", rules(FALSE)), ("b", rules(TRUE))]))
    first, second = root.findall("testsuite")
    assert int(first.attrib["failures"]) == 2
    assert first.attrib["name"] == "a\ufffdb"
    assert second.attrib["failures"] == "0"
    assert len(second.findall("testcase")) == int(second.attrib["tests"])


def test_the_page_holds_the_whole_answer_escaped(tmp_path: Path) -> None:
    answer = FALSE + " <b>Ulm</b> & more."
    found = rules(answer)
    parts = highlighted(answer, found.claims)
    assert "".join(str(part["text"]) for part in parts) == answer
    write_html([("one", answer, found)], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>Ulm" not in page
    assert re.search(r'<mark class="CONTRADICTED"[^>]*>4 May 2018</mark>', page)


def test_assert_grounded() -> None:
    assert grounded(TRUE, [NOTES], verifier="rules").verdict is Outcome.PASS
    with pytest.raises(AssertionError, match="4 May 2018"):
        grounded(FALSE, [NOTES], verifier="rules")


def test_the_plug_in_serves_pytest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_grounded.py").write_text(
        """
def test_true(assert_grounded):
    assert_grounded("The pump is blue.", "The pump is blue.", verifier="rules")

def test_false(assert_grounded):
    assert_grounded("The pump weighs 5 kg.", "The pump weighs 7 kg.", verifier="rules")
"""
    )
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "harness.rag.check.pytest_plugin"]
    code = pytest.main([*arguments, "--rootdir", str(tmp_path), str(tmp_path)])
    said = capsys.readouterr().out
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed" in said
    assert "7 kg" in said


def test_a_text_that_names_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policies").mkdir()
    Path("policies/pump.md").write_text("The pump was replaced in 2019.")
    said = "The pump was replaced in 2019."
    with pytest.raises(BadInput, match=r"a string is a text, .*: Path\('policies'\)"):
        check(said, ["policies"], verifier="rules")
    assert check(said, [Path("policies")], verifier="rules").verdict == Outcome.PASS
    assert check(said, "policies say so\0", verifier="rules").verdict != Outcome.PASS


@pytest.mark.parametrize(
    ("answer", "document", "verdict"),
    [
        (
            "You may return goods and get a refund within 60 days.",
            "You may get a refund within 30 days. A refund after 30 days is refused.",
            "FAIL",
        ),
        (
            "You may return goods and get a refund within 44 days.",
            "You may return goods within 30 days. You may get a refund within 14 days.",
            "FAIL",
        ),
        (
            "The fees are 60 euros in total.",
            "The entry fee is 30 euros. The exit fee is 30 euros.",
            "PASS",
        ),
    ],
)
def test_a_deadline_stated_twice_is_no_sum(answer: str, document: str, verdict: str) -> None:
    assert check(answer, [document]).verdict == verdict
