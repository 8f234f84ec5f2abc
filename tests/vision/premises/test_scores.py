"""Aggregators, reliability and the gate: golden vectors and what must hold for any scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vision.premises import (
    AGGREGATORS,
    Finding,
    Severity,
    Solution,
    Step,
    Verified,
    best_of,
    gate,
    reliability,
    solution_score,
    verified,
)

SEVERITIES: tuple[Severity, ...] = ("high", "low")
findings = st.lists(
    st.builds(
        Finding,
        step=st.just(0),
        claim=st.just("c"),
        constraint=st.just("f"),
        severity=st.sampled_from(SEVERITIES),
    ),
    max_size=9,
)
steps = st.lists(
    st.tuples(st.floats(-1, 1) | st.sampled_from((-1.0, 1.0)), st.booleans()),
    min_size=1,
    max_size=8,
)


def _solution(visual: list[bool]) -> Solution:
    made = (Step(text="s", premise="p" if one else None) for one in visual)
    return Solution(steps=tuple(made), answer="a")


def test_the_golden_vectors(shared: Path) -> None:
    golden = json.loads((shared / "golden" / "golden.json").read_text())["evpv_aggr"]
    assert len(golden) == 5
    for scores, wanted in golden.items():
        assert set(wanted) == set(AGGREGATORS)
        for name, aggregate in AGGREGATORS.items():
            assert aggregate(json.loads(scores)) == pytest.approx(wanted[name], abs=1e-6), name


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_aggregates_stay_between_zero_and_one(scores: list[float]) -> None:
    for aggregate in AGGREGATORS.values():
        assert -1e-12 <= aggregate(scores) <= 1 + 1e-12


@given(findings)
def test_reliability_is_bounded_and_falls_with_every_finding(found: list[Finding]) -> None:
    assert 0 <= reliability(found) <= 1
    for more in SEVERITIES:
        another = Finding(step=0, claim="c", constraint="f", severity=more)
        assert reliability([*found, another]) <= reliability(found)


def test_reliability_by_severity() -> None:
    high = Finding(step=0, claim="c", constraint="f", severity="high")
    low = high.model_copy(update={"severity": "low"})
    assert reliability([]) == 1
    assert reliability([high]) == 0.5
    assert reliability([high, low]) == pytest.approx(0.3)
    assert reliability([high, high, low]) == 0


@given(steps, st.floats(0, 1))
def test_the_gate_never_raises_a_score(given_steps: list[tuple[float, bool]], p: float) -> None:
    scores = [score for score, _ in given_steps]
    visual = [one for _, one in given_steps]
    gated = gate(scores, _solution(visual), p)
    for before, after, seen in zip(scores, gated, visual, strict=True):
        assert after <= before
        assert -1 <= after <= 1
        if not seen or before <= 0:
            assert after == before
    assert gate(scores, _solution(visual), 1.0) == tuple(scores)


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_less_reliable_premises_never_make_a_better_solution(
    visual: list[bool], one: float, two: float
) -> None:
    low, high = sorted((one, two))
    solution, judged = _solution(visual), [1.0] * len(visual)
    for aggregate in AGGREGATORS.values():
        below, above = (aggregate(gate(judged, solution, p)) for p in (low, high))
        assert below <= above + 1e-12


def test_the_gate_wants_one_score_a_step_and_a_reliability() -> None:
    with pytest.raises(ValueError, match="argument 2"):
        gate([1.0], _solution([True, True]), 0.5)
    with pytest.raises(ValueError, match=r"found 1\.5"):
        gate([1.0], _solution([True]), 1.5)


def test_best_of_ranks_by_the_gated_scores() -> None:
    plausible, sound = _solution([True, True]), _solution([True, False])
    wrong = Finding(step=0, claim="c", constraint="f", severity="high")
    first = verified(plausible, (1.0, 1.0), [wrong], 0.5)
    second = verified(sound, (1.0, 1.0), [], 1.0)
    # Without the gate both have the same scores and the first would win.
    assert AGGREGATORS["geometric_mean"](first.judged) == 1.0
    assert best_of([first, second]) == 1
    assert best_of([first, second], "first_error_position") == 0  # it only sees scores of -1
    for name in ("correctness_rate", "weighted_correctness", "streak_score"):
        assert best_of([first, second], name) == 1


def test_invalid_verdicts_are_neither_best_nor_wrong() -> None:
    broken = Verified(solution=_solution([True]), invalid="an audit could not be read")
    poor = verified(_solution([True]), (-1.0,), [], 1.0)
    assert solution_score(broken, "correctness_rate") is None
    assert best_of([broken, poor]) == 1
    assert best_of([broken]) is None
    assert best_of([broken, broken]) is None
    assert best_of([]) is None


def test_what_could_not_be_audited_never_loses_to_what_was_contradicted() -> None:
    wrong = Finding(step=0, claim="c", constraint="f", severity="high")
    contradicted = verified(_solution([True, False]), (1.0, 1.0), [wrong], 0.5)
    clean = verified(_solution([True, False]), (-1.0, 1.0), [], 1.0)
    unread = Verified(solution=_solution([True, True]), judged=(1.0, -1.0), invalid="unreadable")
    better = unread.model_copy(update={"judged": (1.0, 1.0)})
    partly = better.model_copy(update={"findings": (wrong,)})
    assert best_of([contradicted, unread]) == 1
    assert best_of([contradicted, unread, better]) == 2
    assert best_of([contradicted, clean, unread]) == 2
    assert best_of([unread, clean]) == 1
    assert best_of([contradicted, partly]) == 0
    assert best_of([partly, unread]) == 1
