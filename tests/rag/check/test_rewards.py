"""Rewards of verdicts."""

from __future__ import annotations

import pytest

from harness.core import BadInput
from harness.rag.check import check
from harness.rag.check.rewards import compute_score, reward
from harness.rag.check.types import Checked, Outcome, Report, Verdict


def report(*verdicts: str, coverage: float = 1.0, outcome: Outcome = Outcome.FAIL) -> Report:
    claims = tuple(
        Checked(
            text="x", type="number", start=at, end=at + 1, verdict=Verdict(one), evidence=(),
            reason="r", confidence=1.0,
        )
        for at, one in enumerate(verdicts)
    )  # fmt: skip
    return Report(
        verdict=outcome, claims=claims, coverage=coverage, policy="zero-tolerance", reason="r",
        verifier="test",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "ztr", "err", "scaled"),
    [
        (("SUPPORTED", "DERIVED"), 0.0, 0.0, 0.0),
        (("SUPPORTED", "CONTRADICTED"), -1.0, -0.1, -0.5),
        (("NOT_FOUND", "CONTRADICTED", "SUPPORTED", "SUPPORTED"), -1.0, -0.2, -0.5),
        (("SUPPORTED", "INVALID"), 0.0, 0.0, 0.0),
        (("CONTRADICTED",) * 20, -1.0, -1.3, -1.0),
        ((), 0.0, 0.0, 0.0),
    ],
)
def test_rewards(verdicts: tuple[str, ...], ztr: float, err: float, scaled: float) -> None:
    found = report(*verdicts)
    assert reward(found) == ztr
    assert reward(found, "err") == pytest.approx(err)
    assert reward(found, "scaled") == pytest.approx(scaled)


def test_asking_less_does_not_pay_and_no_verdict_teaches_nothing() -> None:
    evasive = report("SUPPORTED", coverage=0.2)
    assert (reward(evasive, "ztr"), reward(evasive, "scaled")) == (-1.0, -1.0)
    assert reward(report("INVALID", outcome=Outcome.INVALID)) is None
    with pytest.raises(BadInput, match="ztr, err, scaled"):
        reward(evasive, "best")  # pyright: ignore[reportArgumentType]  # what a user may type


def test_as_a_reward_function_of_verl() -> None:
    info = {"documents": ["The pump moves 320 litres per minute."], "question": "How much?"}
    said = "The pump moves {} litres per minute."
    assert compute_score("any", f"<think>\n420?\n</think>{said.format(320)}", "", info) == 0.0
    assert compute_score("any", said.format(420), None, info) == -1.0
    assert compute_score("any", said.format(420), None, info, reward="err") < 0
    assert compute_score("any", " ", None, info) == 0.0
    with pytest.raises(BadInput, match="documents"):
        compute_score("any", "x", None)


def test_rewards_follow_a_real_report() -> None:
    text = "The pump was replaced in 2019. It moves 320 litres per minute."
    right = check(text, [text], verifier="rules")
    wrong = check(text.replace("320", "420"), [text], verifier="rules")
    assert (reward(right), reward(wrong)) == (0.0, -1.0)
    assert -1.0 < (reward(wrong, "scaled") or 0.0) < 0.0
