"""Rewards of verdicts, and that they survive padding (the defect of the released MARCH code)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.core import BadInput
from harness.rag.check import check
from harness.rag.check.rewards import compute_score, on_last_valid, reward
from harness.rag.check.types import Checked, Outcome, Report, Verdict

GAMMA, LAMBDA = 0.998, 0.95


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


def advantages(rewards: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float64]:
    """Generalised advantage estimation as a PPO trainer does it: masked positions carry nothing.

    A_t = d_t + gamma lambda A_(t+1), d_t = r_t + gamma V_(t+1) - V_t, with V = 0 here; where the
    mask is 0, A_(t+1) is handed on as it is (Schulman et al. 2016, with the mask of verl).
    """
    found = np.zeros(rewards.shape)
    for row in range(len(rewards)):
        following = 0.0
        for at in range(rewards.shape[1] - 1, -1, -1):
            if mask[row, at]:
                following = float(rewards[row, at]) + GAMMA * LAMBDA * following
            found[row, at] = following if mask[row, at] else 0.0
    return found


def test_a_reward_behind_the_padding_is_lost_and_ours_is_not() -> None:
    mask = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
    padded = np.zeros(mask.shape, dtype=np.float32)
    padded[:, -1] = -1.0  # where the released code puts it
    lost = advantages(padded, mask)
    assert not lost[0].any()
    assert lost[1].any()  # only a response that fills the length keeps it
    placed = on_last_valid([-1.0, -1.0], mask)
    kept = advantages(placed, mask)
    assert kept[0, :3].max() < -0.85
    assert kept[0, 2] == -1.0
    assert not kept[0, 3:].any()
    np.testing.assert_allclose(kept[1], lost[1])


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5).filter(any), min_size=1))
def test_each_row_carries_its_scalar_once_on_its_last_valid_token(rows: list[list[bool]]) -> None:
    scalars = [float(-at - 1) for at in range(len(rows))]
    placed = on_last_valid(scalars, rows)
    assert placed.shape == (len(rows), 5)
    for row, valid, scalar in zip(placed, rows, scalars, strict=True):
        last = max(at for at, one in enumerate(valid) if one)
        assert row[last] == scalar
        assert np.count_nonzero(row) == 1


def test_a_mask_that_cannot_carry_a_reward_is_refused() -> None:
    with pytest.raises(BadInput, match="response 1 has no valid token"):
        on_last_valid([0.0, -1.0], [[1, 0], [0, 0]])
    with pytest.raises(BadInput, match="a mask of 2 rows"):
        on_last_valid([0.0, -1.0], [[1, 0]])


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
