"""Votes and answers: ties, lost votes, numbers, and the hybrid of rule and judge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import Unreachable
from harness.synth.asking import majority, same_answer, verdict
from harness.synth.types import Unjudged
from lab.worlds.models import FunctionModel
from tests.synth.cases import run


@given(st.lists(st.sampled_from([True, False, None])))
def test_a_majority_ignores_order_and_a_tie_is_no(votes: list[bool | None]) -> None:
    counted = [vote for vote in votes if vote is not None]
    expected = None if not counted else counted.count(True) > counted.count(False)
    assert majority(votes) is expected
    assert majority(votes[::-1]) is expected


TRUTH = [
    ("1975", "It was 1975.", True), ("1975", "between 1970 and 1975", False),
    ("1,200", "1200", True), ("1200", "1201.8", True), ("1200", "1202", False),
    ("-3.5", "3.5", False), ("3.5", "35", False), ("3.5", "3.50", True), ("12 %", "12%", True),
    ("0", "0", True), ("0", "0.001", False), ("North Alder", "in north alder", True),
    ("North Alder", "North Alderton", False), ("North Alder", "Alder", False),
    ("the Mill", "Mill", True), ("Ann", "Ann and Bob", True), ("A", "A", True),
    ("Ann", " ".join(["Bob"] * 12) + " Ann", False), ("Ann", "", False),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "same"), TRUTH)
def test_the_rule(gold: str, answer: str, same: bool) -> None:
    assert same_answer(gold, answer) is same


def judged(gold: str, answer: str, *replies: str) -> bool | None:
    rows = iter(replies)
    model = FunctionModel(lambda messages, sampling: next(rows))
    return run(verdict(model, "q", gold, answer, votes=len(replies), seed=0))


HYBRID: list[tuple[str, str, tuple[str, ...], bool | None]] = [
    ("Ann", "Ann", (), True),
    ("Ann", "she", ("[[YES]]",), True),
    ("Ann", "she", ("[[NO]]",), False),
    ("Ann", "she", ("[[YES]]", "[[NO]]", "[[YES]]"), True),
    ("Ann", "she", ("[[YES]]", "[[NO]]"), False),
    ("Ann", "she", ("[[YES]]", "well", "hm"), True),
    ("Ann", "she", ("well", "hm"), None),
    ("Ann", "she", ("[[YES]] or [[NO]]",), None),  # both marks are no vote
    ("Ann", "", ("[[YES]]",), False),
    ("Ann", "she", ("<think>[[YES]]</think>[[NO]]",), False),
]


@pytest.mark.parametrize(("gold", "answer", "replies", "expected"), HYBRID)
def test_rule_or_majority(
    gold: str, answer: str, replies: tuple[str, ...], expected: bool | None
) -> None:
    assert judged(gold, answer, *replies) is expected


def test_votes_have_seeds_of_their_own_and_an_outage_is_no_verdict() -> None:
    seeds: list[Any] = []

    def vote(messages: Any, sampling: Any) -> str:
        seeds.append(sampling.seed)
        return "[[NO]]"

    run(verdict(FunctionModel(vote), "q", "a", "b", votes=3, seed=5))
    assert seeds == [5, 6, 7]
    down = FunctionModel(lambda messages, sampling: Unreachable("down"))
    with pytest.raises(Unjudged, match="down"):
        run(verdict(down, "q", "a", "b", votes=1, seed=0))
