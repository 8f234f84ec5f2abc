"""Metrics of the reading families against hand-computed and recorded vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import read_rows
from harness.corpora import Evidence
from harness.rag.tasks.reading import (
    best_overlap,
    chosen_letter,
    chosen_letters,
    cited_support,
    exact_match,
    joint,
    match_all,
    match_classes,
    match_numbers,
    match_part,
    official_normal,
    overlap,
    rouge,
    split_citations,
    support,
    yes_or_no,
)

ABCD = dict.fromkeys("ABCD", "")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Old, man's   Hat!", "old mans hat"),
        ("A", ""),
        ("theatre of an ant", "theatre of ant"),
        ("U.S.-based", "usbased"),
        ("“quoted” – dash", "“quoted” – dash"),  # noqa: RUF001  # only ASCII marks are dropped
    ],
)
def test_normal_form(text: str, normal: str) -> None:
    assert official_normal(text) == normal


def test_token_f1_by_hand() -> None:
    found = overlap("the red big house", "big red barn red")
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 4)
    assert found.f1 == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))
    assert overlap("x", "y").f1 == 0.0
    assert best_overlap("red", ["blue", "red hat", "a red"]).f1 == 1.0


def test_nothing_left_is_equal_to_nothing_left_only() -> None:
    assert overlap("the", "a").f1 == 1.0  # SQuAD 2.0: both empty
    assert overlap("the", "a house").f1 == 0.0
    assert overlap("the", "a", closed=True).f1 == 0.0  # HotpotQA counts tokens in common


def test_yes_and_no_earn_nothing_by_overlap_where_closed() -> None:
    assert overlap("no it is", "no", closed=True).f1 == 0.0
    assert overlap("yes", "yes it is", closed=True).f1 == 0.0
    assert overlap("no it is", "no").f1 == pytest.approx(0.5)
    assert overlap("Yes.", "yes", closed=True).f1 == 1.0


def test_em_and_f1_agree_with_1164_recorded_scores(shared: Path) -> None:
    count = 0
    for _, row in read_rows(shared / "data/dev/hotpotqa_agent.jsonl"):
        for recorded in row["_recorded"].values():
            said = recorded["prediction"]
            assert exact_match(said, [row["answer"]]) == bool(recorded["em"])
            f1 = overlap(said, row["answer"]).f1
            assert f1 == pytest.approx(recorded["f1"], abs=6e-4), (said, row["answer"])
            count += 1
    assert count == 4 * 291


def test_support_and_joint_by_hand() -> None:
    gold = {("A", 0), ("B", 2)}
    facts = support({("A", 0), ("B", 1), ("C", 0)}, gold)
    assert facts.precision == pytest.approx(1 / 3)
    assert facts.recall == pytest.approx(1 / 2)
    assert (facts.em, facts.f1) == (0.0, pytest.approx(0.4))
    assert support(gold, gold) == (1.0, 1.0, 1.0, 1.0)
    assert support(set(), gold) == (0.0, 0.0, 0.0, 0.0)
    em, f1 = joint(overlap("red hat", "red"), False, facts)  # P 1/2, R 1
    precision, recall = 1 / 2 * 1 / 3, 1 * 1 / 2
    assert (em, f1) == (0.0, pytest.approx(2 * precision * recall / (precision + recall)))
    assert joint(overlap("red", "red"), True, support(gold, gold)) == (1.0, 1.0)


def test_cited_stretches_count_where_they_overlap() -> None:
    gold = [Evidence(doc="a", start=10, end=20), Evidence(doc="b", start=0, end=5)]
    cited = [
        Evidence(doc="a", start=0, end=11),
        Evidence(doc="a", start=20, end=30),  # begins where the evidence ends
        Evidence(doc="c", start=0, end=5),
    ]
    found = cited_support(cited, gold)
    assert (found.precision, found.recall) == (pytest.approx(1 / 3), 0.5)
    assert cited_support(gold, gold) == (1.0, 1.0, 1.0, 1.0)
    assert cited_support([], gold).f1 == 0.0


def test_citations_are_taken_off_the_answer() -> None:
    answer, cited = split_citations(
        "Vilma Grell [a b.txt:10-20], [x:1-2]\nCitations: [x:1-2] [y:5-5]\n"
    )
    assert answer == "Vilma Grell"
    assert [(one.doc, one.start, one.end) for one in cited] == [("a b.txt", 10, 20), ("x", 1, 2)]
    assert split_citations("in [1994] it was [a:b]") == ("in [1994] it was [a:b]", [])


def test_rouge_by_hand() -> None:
    found = rouge("the cat sat on the mat", ["the cat was on the mat"])
    assert found["rouge1"] == pytest.approx(5 / 6)
    assert found["rouge2"] == pytest.approx(3 / 5)
    assert found["rougeL"] == pytest.approx(5 / 6)
    assert found["geometric"] == pytest.approx((5 / 6 * 3 / 5 * 5 / 6) ** (1 / 3))
    assert rouge("runs", ["running"])["rouge1"] == 1.0
    assert rouge("runs", ["running"], stemmer=False)["rouge1"] == 0.0
    assert rouge("x y", ["a", "x y"])["rougeL"] == 1.0  # the best reference counts


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("B", "B"),
        ("(C)", "C"),
        ("b", None),
        ("B. Because it rained", "B"),
        ("The correct answer is (D).", "D"),
        ("**The answer is C**", "C"),
        ("I first thought the answer is A, but the answer is B.", "B"),
        ("According to the text it rained.", None),
        ("A or B", None),
        ("E", None),
        ("Mill Street", "A"),
        ("the mill street.", "A"),
    ],
)
def test_letter_of_a_choice(said: str, letter: str | None) -> None:
    assert chosen_letter(said, {**ABCD, "A": "Mill street"}) == letter


@pytest.mark.parametrize(
    ("said", "letters"),
    [
        ("AC", "AC"),
        ("C, A", "AC"),
        ("A and D", "AD"),
        ("The correct answers are A, B and D.", "ABD"),
        ("answer: BC", "BC"),
        ("none of them", ""),
    ],
)
def test_letters_of_an_exam(said: str, letters: str) -> None:
    assert chosen_letters(said, ABCD) == letters


def test_ruler_matches() -> None:
    assert match_all("It is ABC and def.", ["abc", "DEF", "ghi"]) == pytest.approx(2 / 3)
    assert match_part("It is ABC.", ["x", "abc"]) == 1.0
    assert match_part("It is ABC.", ["x"]) == 0.0
    assert match_all("a\tb", ["a\nb"]) == 1.0  # control characters read as line ends


def test_longbench_matches() -> None:
    assert match_numbers("Paragraph 3, not 4", "Paragraph 3") == 0.5
    assert match_numbers("none", "Paragraph 3") == 0.0
    classes = ["City", "Other location", "Other"]
    assert match_classes("It is City", "City", classes) == 1.0
    assert match_classes("City or Other", "City", classes) == 0.5
    assert match_classes("Other location", "Other location", classes) == 1.0


@pytest.mark.parametrize(
    ("said", "wanted"),
    [("Yes.", True), ("No, yes was wrong", False), ("True", True), ("nobody knows", None)],
)
def test_yes_or_no(said: str, wanted: bool | None) -> None:
    assert yes_or_no(said) is wanted
