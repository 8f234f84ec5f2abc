"""The gate: significant gains only, and it says when it cannot tell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.evolve.gate import gate, planned
from tests.evolve.conftest import items


def _arm(passed: int, total: int) -> dict[str, bool]:
    return {f"t{number:03d}": number < passed for number in range(total)}


def test_a_clear_gain_is_accepted() -> None:
    result = gate(items(_arm(20, 200)), items(_arm(60, 200)))
    assert result.verdict == "accepted"
    assert (result.before, result.after, len(result.fixed), result.broken) == (0.1, 0.3, 40, ())
    assert result.p is not None and result.p < 1e-6


def test_a_clear_loss_is_refused() -> None:
    assert gate(items(_arm(60, 200)), items(_arm(20, 200))).verdict == "refused"


def test_no_change_on_many_tasks_is_refused() -> None:
    before = _arm(100, 400)
    after = dict(before) | {"t000": False, "t399": True}
    result = gate(items(before), items(after))
    assert (result.verdict, result.more_tasks) == ("refused", 0)


def test_few_tasks_are_not_gated_and_it_says_how_many_are_missing() -> None:
    result = gate(items(_arm(4, 20)), items(_arm(7, 20)))
    assert result.verdict == "not gated"
    assert result.more_tasks > 100
    assert str(result.more_tasks) in result.reason


def test_a_margin_is_demanded() -> None:
    assert gate(items(_arm(20, 200)), items(_arm(60, 200)), margin=0.3).verdict == "refused"


def test_nothing_in_common_is_not_gated() -> None:
    assert gate(items({"a": True}), items({"b": True})).verdict == "not gated"


def test_what_can_be_detected_is_said_beforehand() -> None:
    assert "200 tasks detect a lift of 9." in planned(200, 0.25)
    assert "can detect no lift" in planned(3, 0.25)


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.tuples(st.booleans(), st.booleans())))
def test_swapping_the_arms_negates_the_difference(pairs: dict[str, tuple[bool, bool]]) -> None:
    one = items({task: pair[0] for task, pair in pairs.items()})
    two = items({task: pair[1] for task, pair in pairs.items()})
    there, back = gate(one, two), gate(two, one)
    assert there.p == back.p
    assert there.difference is None or there.difference == -(back.difference or 0.0)
