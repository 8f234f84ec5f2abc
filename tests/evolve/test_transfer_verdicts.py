"""The comparisons of a transfer are judged together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import Task
from harness.evals import ItemRecord, LoadedSuite, Suite
from harness.evolve.baselines.transfer import TransferPlan, TransferRow, holm, judged
from tests.evolve.conftest import items

SUITE = LoadedSuite(
    suite=Suite(name="s"),
    split=None,
    tasks=(Task(id="t0", prompt="What is it?", answer="x"),),
    base=Path(),
    root=Path(),
)


def rows_of(
    *sides: tuple[dict[str, bool], dict[str, bool]], margin: float = 0.0
) -> list[TransferRow]:
    users = tuple(f"simulated/u{number}" for number in range(len(sides)))
    plan = TransferPlan(author="a", users=users, suites=(SUITE,), margin=margin)
    return judged(plan, [(items(before), items(after)) for before, after in sides])


def results(passes: int, of: int) -> dict[str, bool]:
    return {f"t{number}": number < passes for number in range(of)}


def test_the_comparisons_share_one_error() -> None:
    # Six tasks fixed, none broken: p = 1/32 alone.
    alone = rows_of((results(0, 100), results(6, 100)))
    assert (alone[0].p, alone[0].verdict) == (pytest.approx(2 / 2**6), "accepted")
    both = rows_of((results(0, 100), results(6, 100)), (results(0, 100), results(0, 100)))
    assert both[0].p == pytest.approx(4 / 2**6)
    assert both[0].verdict != "accepted"
    loss, above = rows_of((results(9, 9), results(0, 9)), (results(0, 9), results(9, 9)))
    assert (loss.verdict, loss.reason[:5], len(loss.broken)) == ("refused", "worse", 9)
    assert above.verdict == "accepted"
    assert rows_of((results(0, 20), results(9, 20)), margin=0.5)[0].verdict == "refused"


def test_invalid_attempts_are_counted_and_never_scored() -> None:
    lost = [ItemRecord(id=f"x{n}", task_id=f"x{n}", outcome="invalid", value=0.0) for n in range(3)]
    before = [*items(results(2, 4)), *lost]
    after = [*items(results(4, 4)), *items({"x0": True, "x1": True, "x2": False})]
    plan = TransferPlan("a", ("simulated/u",), (SUITE,))
    (row,) = judged(plan, [(before, after)])
    assert (row.n, row.invalid, row.without, row.with_skill) == (4, 3, 0.5, 1.0)
    (none,) = judged(plan, [(lost, after)])
    assert (none.n, none.difference, none.p, none.verdict) == (0, None, None, "not gated")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_corrected_p_values_lie_between_none_and_bonferroni(values: list[float]) -> None:
    found = holm(values)
    assert all(p <= q <= min(1.0, p * len(values)) for p, q in zip(values, found, strict=True))
    assert min(found) == min(1.0, min(values) * len(values))
    ranked = sorted(range(len(values)), key=values.__getitem__)
    assert [found[at] for at in ranked] == sorted(found)
