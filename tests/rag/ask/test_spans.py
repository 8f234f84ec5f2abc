"""Spans that answer: with the label, the columns or the titles that make them readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.api import ask
from harness.rag.retrieve import sentence_spans

FORM = """Harbour Supplies

Invoice number
NL-20931

Due date
13 April 2025

VAT (19 %)
794.20 EUR

Questions about this invoice: Ms. Elke Brandt, telephone 0431 555 0182.
"""
STAFF = "name,department,start\nMarta Klein,Finance,2019\nPriya Nair,Research,2017\n"
NOTES = """# Kestrel

## Installation

Python 3.10 or newer is required.

## Changelog

### 2.3.0 (2026-05-11)

- Added support for WebSockets.
- Dropped support for Python 3.9.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"form.txt": FORM, "staff.csv": STAFF, "notes.md": NOTES}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [
        ("form.txt", "What is the invoice number?", "Invoice number NL-20931 [1]"),
        ("form.txt", "How much VAT is charged?", "VAT (19 %) 794.20 EUR [1]"),
        ("form.txt", "Who answers questions about this invoice?", "Ms. Elke Brandt, telephone"),
        (
            "staff.csv",
            "In which department does Priya Nair work?",
            "name: Priya Nair | department: Research | start: 2017 [1]",
        ),
        (
            "notes.md",
            "Which version added support for WebSockets?",
            "Kestrel > Changelog > 2.3.0 (2026-05-11): - Added support for WebSockets. [1]",
        ),
        ("notes.md", "Which Python version is required?", "Installation: Python 3.10 or newer"),
    ],
)
def test_an_answer_has_what_makes_it_readable(
    folder: Path, name: str, question: str, answer: str
) -> None:
    path = folder / name
    found = ask(question, path, extract=True, arm="lexical")
    assert found.answer is not None
    assert answer in found.answer
    assert all(cited.text in path.read_text() or name == "staff.csv" for cited in found.citations)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("form.txt", "Which discount was agreed for early payment?"),
        ("notes.md", "Who founded the company behind the broker?"),
    ],
)
def test_what_the_files_do_not_say_is_declined(folder: Path, name: str, question: str) -> None:
    found = ask(question, folder / name, extract=True, arm="lexical")
    assert (found.answered, found.citations) == (False, ())


def test_lines_broken_within_a_sentence_of_chinese_are_one() -> None:
    text = (
        "本合同自双方签字之日起生效并且在有效期内\n对双方均具有约束力。任何修改均须以书面形式作出。"
    )
    assert [text[start:end] for start, end in sentence_spans(text, "zh")] == [
        text[: text.index("。") + 1],
        text[text.index("。") + 1 :],
    ]


def test_an_empty_cell_shifts_no_column(tmp_path: Path) -> None:
    path = tmp_path / "flaws.csv"
    path.write_text("flaw,note,total,2001,2002\nXSS,,2595,31,187\nSQL injection,,1530,6,36\n")
    found = ask("How many XSS flaws are there in total?", path, extract=True, arm="lexical")
    assert found.answer is not None
    assert found.answer.startswith("flaw: XSS | total: 2595 | 2001: 31 | 2002: 187 [1]")


LAKE = """Islands

We landed on James Island, and walked to the salt lake. It is three inches deep. Nobody lives there.
The governor of Charles Island has two hundred people.
"""


def test_a_sentence_is_quoted_with_those_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(LAKE)
    found = ask("How deep is the salt lake on James Island?", path, extract=True, arm="lexical")
    assert found.answer is not None
    assert "It is three inches deep." in found.answer
    assert all(len(quote.text.split()) <= 60 for quote in found.citations)


def test_a_name_that_stands_nowhere_is_declined(tmp_path: Path) -> None:
    path = tmp_path / "papers.csv"
    path.write_text("paper,circulation\nDenver Post,416676\nBoston Globe,245572\n")
    asked = "What is the circulation of the {}?"
    assert ask(asked.format("Denver Post"), path, extract=True, arm="lexical").answered
    assert not ask(asked.format("Guardian"), path, extract=True, arm="lexical").answered
