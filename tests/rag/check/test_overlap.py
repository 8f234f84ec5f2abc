"""The default: prose by word overlap, values by the rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.check.labelled import is_tuning
from benchmarks.check.whole import missing_values
from harness.rag.check import check
from harness.rag.check.checking import open_verifier
from harness.rag.check.overlap import Source, read, stem

TEXT = "The harbour master opened the old lock in spring. It had cost 5 to 10 million euros."
MILL = (
    "The mill in Arlen opened in 1912. It never paid a dividend. In 1950 the council bought it "
    "for 3,200 crowns. Net debt fell to below $25 billion."
)


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


def test_stems_join_irregular_forms() -> None:
    assert stem("sold") == stem("selling") == stem("Sell")
    assert stem("children's") == stem("child")
    assert stem("3,200") == "3,200"


def test_function_words_and_signs_carry_no_statement() -> None:
    reading = read("The mill was sold for $40.")
    assert reading.content_stems == (stem("mill"), stem("sold"), "40")


def test_source_finds_sentences_by_words() -> None:
    source = Source(MILL)
    best = source.nearest(read("Who bought the mill for crowns?"))[0]
    assert "council bought" in source.sentences[best].text
    assert all(MILL[each.start : each.end] == each.text for each in source.sentences)


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("It opened in 1912.", []),
        ("It opened in 1913.", ["1913"]),
        ("Bought for 3200 crowns.", []),
        ("Reduced its net debt to under $25 billion.", []),
        ("Net debt below $26 billion.", ["$26 billion"]),
        ("Two owners had it.", []),
    ],
)
def test_values_that_a_document_lacks(claim: str, missing: list[str]) -> None:
    assert [value.text for value in missing_values(claim, MILL)] == missing


def test_the_tuning_part_is_three_tenths_by_the_document_alone() -> None:
    share = sum(is_tuning(f"document {number}") for number in range(2000)) / 2000
    assert 0.27 < share < 0.33
    assert [is_tuning(letter) for letter in "abcd"] == [False, False, False, True]


def test_a_small_check_imports_no_framework(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("The plant ran 14 pumps. The seal was replaced in May.\n")
    (tmp_path / "answer.txt").write_text("The seal was replaced in June.\n")
    program = (
        "import sys\nfrom harness.cli import main\n"
        "sys.argv = ['harness', 'check', '--answer', 'answer.txt', '--documents', 'report.md']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    print('exit', ended.code)\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == ["exit 5", "[]"], done.stdout
    assert done.stderr == ""
