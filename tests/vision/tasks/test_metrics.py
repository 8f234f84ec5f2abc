"""The scorers: worked examples, properties, and the verdicts that authors gave themselves."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.objectives.spans import format_reward, global_reward, local_reward, read_spans
from harness.vision.metrics import (
    anls,
    consensus,
    edit_distance,
    evalai_form,
    matching_fields,
    mathvista_form,
    read_fields,
    relaxed_match,
    tabmwp_form,
    tabmwp_prediction,
)
from harness.vision.questions import visual_task
from harness.vision.tasks import JUDGES, metric_of
from tests.vision.tasks.recorded_verdicts import recorded_verdicts

words = st.text(alphabet="abc 1.", max_size=8)


@pytest.mark.parametrize(
    ("said", "accepted", "value"),
    [
        ("Paris", ["paris"], 1.0),
        ("  new   YORK ", ["New York"], 1.0),
        ("Pariss", ["Paris"], 1 - 1 / 6),
        ("ab", ["abcd"], 0.5),  # at the threshold it still counts, as in the official script
        ("a", ["abcd"], 0.0),
        ("abcx", ["wxyz", "abcd"], 0.75),
        ("", ["a"], 0.0),
        # Edits are divided by the length of the raw text.
        ("hello   wrld", ["hello world"], 1 - 1 / 12),
        ("hello wrld", ["hello   world"], 1 - 1 / 13),
        (" a b ", ["ab"], 1 - 1 / 5),
        ("ab", ["a     "], 1 - 1 / 6),
        ("a" + " " * 9, ["bc"], 1 - 2 / 10),
        ("stra\u00dfa", ["stra\u00dfe"], 1 - 1 / 7),  # six letters, seven in capitals
        ("", [""], 1.0),
        (" ", [""], 1.0),
        ("", ["   "], 1.0),
        ("abc", ["abd", "xyz   abc", "ABC"], 1.0),
        ("ab\ncd", ["ab cd"], 1.0),
        ("12,5", ["12.5"], 0.75),
    ],
)
def test_anls(said: str, accepted: list[str], value: float) -> None:
    assert anls(said, accepted) == pytest.approx(value)


@given(words, words, words)
def test_edit_distance_is_a_metric(one: str, two: str, three: str) -> None:
    assert edit_distance(one, two) == edit_distance(two, one)
    assert (edit_distance(one, two) == 0) == (one == two)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_anls_is_zero_or_at_least_a_half(said: str, accepted: list[str]) -> None:
    value = anls(said, accepted)
    assert value == 0 or 0.5 <= value <= 1


@pytest.mark.parametrize(
    ("said", "wanted", "right"),
    [
        ("104.9", "100", True),
        ("105.1", "100", False),
        ("-95", "-100", True),
        ("0.25", "25%", True),
        ("25", "25%", False),
        ("0", "0", True),
        ("0.0", "0", False),
        ("yes", "Yes", True),
        ("1,000", "1000", False),
        ("nan", "5", False),
        ("5%%", "5%", True),
        ("0.05", "5%%", True),
        ("5% ", "5%", False),  # no number, and not the same text
        ("5% ", "0.05", False),
        ("5% ", "5% ", True),
        (" 5 ", "5", True),  # a number for all the spaces
        ("yes ", "yes", False),
        ("Yes", "yes ", False),
        ("5 %", "5%", True),
        ("%", "5%", False),
        ("%", "%", True),
        ("1_000", "1000", True),
        ("inf", "inf", False),
        ("0%", "0", False),
        ("1e2", "100", True),
        ("", "", True),
    ],
)
def test_relaxed_accuracy(said: str, wanted: str, right: bool) -> None:
    assert relaxed_match(said, [wanted]) is right


def test_consensus_counts_people() -> None:
    assert consensus("red", ["red"] * 4 + ["blue"] * 6) == pytest.approx(1.0)
    # Three agree: for each of them two others are left, for the seven others all three.
    assert consensus("red", ["red"] * 3 + ["blue"] * 7) == pytest.approx((3 * 2 / 3 + 7) / 10)
    assert consensus("red", ["red"] + ["blue"] * 9) == pytest.approx(0.3)
    assert consensus("green", ["red"] * 10) == 0.0
    assert consensus("The Bus.", ["bus"]) == 1.0


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The two dogs!", "2 dogs"),
        ("1,000.50", "1000.50"),
        ("dont stop", "don't stop"),
        ("bob's", "bob 's"),
        ("a/b", "b"),
        ("Yes.", "yes"),
    ],
)
def test_evalai_form(text: str, form: str) -> None:
    assert evalai_form(text) == form


def test_mathvista_forms() -> None:
    options = ["Yes", "No", "Perhaps"]
    assert mathvista_form("B", choices=options) == "No"
    assert mathvista_form("The answer is (c), I think", choices=options) == "Perhaps"
    assert mathvista_form("Perhap", choices=options) == "Perhaps"
    assert mathvista_form("Z", choices=["Yes", "No"]) == "No"
    assert mathvista_form("12", answer_type="integer") == "12"
    assert mathvista_form("12 years", answer_type="integer") is None
    assert mathvista_form("1.256", answer_type="float", precision=2) == "1.26"
    assert mathvista_form("inf", answer_type="integer") is None


def test_tabmwp_forms() -> None:
    assert (
        tabmwp_prediction("9 x $0.43 = $3.87\\nMadelyn needs it. The answer is $3.87.") == "$3.87"
    )
    assert tabmwp_prediction("It is (B).", ["one", "two"]) == "one"
    assert tabmwp_prediction("(b)", ["one", "two"]) == "two"
    assert tabmwp_prediction("the two of them", ["number one", "number two"]) == "number two"
    assert tabmwp_form("$1,200.50") == "1200.5"
    assert tabmwp_form("3/4") == "0.75"
    assert tabmwp_form("3/0") == "3/0"
    assert tabmwp_form("5.00") == "5"
    assert tabmwp_form("12 pounds", "pounds") == "12"
    assert tabmwp_form("7:25 P.M.") == "7:25 p.m"


def test_fields() -> None:
    wanted = {"total": "9.00", "date": "25/12/2018"}
    said = 'Here: {"TOTAL": "9.00", "date": "25-12-2018"} done'
    assert matching_fields(read_fields(said) or {}, wanted) == {"total": True, "date": False}
    assert read_fields("no object") is None
    assert read_fields("{broken") is None


def test_museg_golden(shared: Path) -> None:
    golden = json.loads((shared / "golden" / "golden.json").read_text())["museg"]
    wanted = [(start, end) for start, end in golden["gt"]]
    for number, reply in enumerate(golden["completions"]):
        spans = read_spans(reply)
        assert format_reward(reply) == golden["format"][number]
        assert format_reward(reply, cited=False) == golden["format_no_ts"][number]
        assert global_reward(spans, wanted) == pytest.approx(golden["glob"][number], abs=1e-6)
        assert local_reward(spans, wanted) == pytest.approx(golden["loc"][number], abs=1e-6)


spans = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 20)).map(
        lambda pair: (float(pair[0]), float(pair[0] + pair[1]))
    ),
    min_size=1,
    max_size=4,
)


@given(spans, spans)
def test_span_rewards_are_bounded_symmetric_and_perfect_for_the_same(
    left: list[tuple[float, float]], right: list[tuple[float, float]]
) -> None:
    for reward in (global_reward, local_reward):
        assert 0 <= reward(left, right) <= 1
        assert reward(left, right) == pytest.approx(reward(right, left), abs=1e-5)
        assert reward(left, left) == pytest.approx(1.0, abs=1e-5)


def test_moving_a_span_away_never_pays() -> None:
    wanted = [(10.0, 20.0)]
    for reward in (global_reward, local_reward):
        values = [reward([(10.0 + step, 20.0 + step)], wanted) for step in range(30)]
        assert all(later <= sooner for sooner, later in pairwise(values))


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        ("<think>1 2</think><answer>1-2</answer>", 1.0),
        (f"<think>{'1 ' * 11}2</think><answer>1-2</answer>", 0.6),
        ("<think>1 2</think><answer>2-1</answer>", 0.2),
        ("<think>1 2</think><answer></answer>", 0.2),
        ("<answer>1-2</answer>", 0.0),
    ],
)
def test_forms_of_a_reply_with_spans(reply: str, form: float) -> None:
    assert format_reward(reply) == form


@pytest.mark.parametrize(
    ("name", "count"), [("mathvista_textmode", 636), ("tabmwp", 53), ("chartqa", 72)]
)
def test_recorded_answers_get_the_verdict_of_their_authors(
    shared: Path, name: str, count: int
) -> None:
    verdicts = list(recorded_verdicts(shared / "data" / "dev" / f"vqa_{name}.jsonl"))
    assert len(verdicts) == count
    assert 0 < sum(one.right for one in verdicts) < count
    for one in verdicts:
        task = visual_task(one.question, {})
        # The scorers themselves: an empty reply is a fail of the family before they are asked.
        judged = JUDGES[metric_of(task)](task, one.question.answers, one.answer or "")
        assert judged.ok is one.right, (one.system, one.question.id, one.answer)
